#!/usr/bin/env bash
# Configures and builds one preset (default: release) with all cores:  scripts/build.sh [preset] [target…]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
targets=()
[ $# -gt 0 ] && targets=(--target "$@")

log=$(mktemp)
trap 'rm -f "$log"' EXIT
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
if ! cmake --preset "$preset" "${launcher[@]}" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
grep 'Pergola:' "$log" || true
cmake --build --preset "$preset" "${targets[@]}" -j "$(nproc)"
