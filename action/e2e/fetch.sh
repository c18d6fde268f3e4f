#!/bin/sh
# Brings what the end-to-end tests read and this repository does not hold, from
# npm: GitHub's OpenAPI description, its example webhook payloads, its stylesheet.
# Usage: sh fetch.sh     (needs npm; writes ./fetched, which git ignores)
set -eu
cd "$(dirname "$0")"
mkdir -p fetched
cd fetched
[ -f package.json ] || printf '{"private": true}\n' >package.json
npm install --no-audit --no-fund --ignore-scripts --save-exact \
	@octokit/openapi@23.0.2 @octokit/webhooks-examples@7.6.1 github-markdown-css@5.9.0
# The package holds every product's description, some of them twice: 390 MB.
find node_modules/@octokit/openapi/generated -name '*.json' ! -name api.github.com.json -delete
