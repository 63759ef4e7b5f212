#!/usr/bin/env bash
# Builds everything and makes a Debian package of it, build/pergola_VERSION_ARCHITECTURE.deb:  scripts/package.sh [preset] [-DVARIABLE=VALUE…]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
scripts/build.sh "$preset" -DPERGOLA_TESTS=OFF "$@"
cpack --config "build/$preset/CPackConfig.cmake" -B build | grep -v '^CPack: -' || true
rm -rf build/_CPack_Packages
ls build/*.deb
