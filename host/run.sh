#!/usr/bin/env bash
# Puts the gatesworn binary on the runner and becomes it. A released binary is used
# only if its SHA-256 is the one committed in host/SHA256SUMS beside this script;
# where there is none for this machine, this commit is built with the runner's Go.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${RUNNER_TEMP:?}/gatesworn-host
mkdir -p "$folder"

system=$(uname -s | tr '[:upper:]' '[:lower:]')
machine=$(uname -m)
case $system in mingw* | msys* | cygwin*) system=windows ;; esac
case $machine in x86_64) machine=amd64 ;; aarch64) machine=arm64 ;; esac
suffix=
[ "$system" = windows ] && suffix=.exe
binary=$folder/gatesworn$suffix

digest() {
	if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# A line is: SHA-256, two blanks, file name gatesworn_VERSION_SYSTEM_MACHINE.
line=$(grep -E "^[0-9a-f]{64}  gatesworn_[0-9.]+_${system}_${machine}${suffix}\$" "$here/SHA256SUMS" || true)
if [ -n "$line" ]; then
	want=${line%% *}
	name=${line##* }
	version=${name#gatesworn_}
	version=${version%%_*}
	if [ ! -f "$binary" ] || [ "$(digest "$binary")" != "$want" ]; then
		curl -fsSL --retry 3 --max-time 120 -o "$binary.part" \
			"${GITHUB_SERVER_URL:-https://github.com}/gatesworn/gatesworn/releases/download/v$version/$name"
		got=$(digest "$binary.part")
		if [ "$got" != "$want" ]; then
			echo "::error title=gatesworn::$name has SHA-256 $got, not $want as committed; it was not started"
			exit 2
		fi
		chmod 0755 "$binary.part"
		mv "$binary.part" "$binary"
	fi
elif command -v go >/dev/null 2>&1; then
	# In a subshell without the token: a build needs none.
	(unset INPUT_GITHUB_TOKEN && cd "$here/.." && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$binary" ./cmd/gatesworn) || {
		echo "::error title=gatesworn::gatesworn could not be built from source"
		exit 2
	}
else
	echo "::error title=gatesworn::there is no released binary for $system/$machine here and no Go to build it; add actions/setup-go before this step"
	exit 2
fi
exec "$binary" action
