#!/usr/bin/env bash
# Fetches what web/ needs (esbuild, uPlot, and playwright-core for its test) from the npm registry, and makes web/page.html
# anew.  scripts/web.sh [--fetch-only]
# No build of Pergola needs it: the page is part of the repository.
set -euo pipefail
cd "$(dirname "$0")/../web"
command -v npm >/dev/null || { echo "web.sh: npm is not installed" >&2; exit 1; }
[ -d node_modules/playwright-core ] || npm ci --no-audit --no-fund --loglevel=error
[ "${1:-}" = --fetch-only ] || npm run --silent build
