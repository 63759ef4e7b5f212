#!/usr/bin/env bash
# tests/web/run.sh PERGOLA: the page as it stands in web/page.html is what web/src gives, and works in a browser.
# Exit code 77 (skipped) where there is no browser or the packages of web/ are missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
web=$here/../../web
skip() { echo "skipped: $1"; exit 77; }
command -v node >/dev/null || skip "node is not installed"
[ -d "$web/node_modules/playwright-core" ] || skip "the packages of web/ are not installed: scripts/web.sh fetches them"
browser=$(command -v chromium || command -v chromium-browser || true)
[ -n "$browser" ] || skip "Chromium is not installed (Debian: chromium)"
node "$web/build.mjs" --check
PERGOLA_NODE_MODULES=$web/node_modules node "$here/view_test.mjs" "$1" "$browser"
