#!/usr/bin/env bash
# Configures and builds one preset (default: release) with all cores:  scripts/build.sh [preset] [-DVARIABLE=VALUE…] [target…]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
settings=()
targets=()
for argument in "$@"; do
  case $argument in
    -D*) settings+=("$argument") ;;
    *) targets+=("$argument") ;;
  esac
done
[ ${#targets[@]} -gt 0 ] && targets=(--target "${targets[@]}")

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A compiler cache helps who builds again and again; a build from nothing is faster with precompiled headers.
launcher=()
[ -z "${CCACHE_DISABLE:-}${CI:-}" ] && command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
if ! cmake --preset "$preset" "${launcher[@]}" "${settings[@]}" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
grep 'Pergola:' "$log" || true
cmake --build --preset "$preset" "${targets[@]}" -j "$(nproc)"
