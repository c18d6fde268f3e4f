#!/bin/sh
# Runs the demo in a scratch repository with scratch approvals: nothing of yours
# is touched, and demo/GATES.md stays as it is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
mkdir "$scratch/repository" "$scratch/state"
cp "$here/GATES.md" "$scratch/repository/"
cd "$scratch/repository"
git init -q .
export XDG_STATE_HOME="$scratch/state"
unset GATESWORN_APPROVAL_DIR UNLAZY_SCOPE GATESWORN_SHELL UNLAZY_SHELL || true
echo '$ gatesworn check --approve GATES:G1 GATES:G2 GATES:G5 >/dev/null   # read them first, in real life'
"$bin" check --approve GATES:G1 GATES:G2 GATES:G5 >/dev/null 2>&1 || true
echo '$ gatesworn check --reverify'
code=0
"$bin" check --reverify || code=$?
echo
echo "exit status $code: G1 is met; G2 failed, G3 is not approved, G4 waits for a person, G5 is blocked by G2, G6 was given up"
test "$code" -eq 1
