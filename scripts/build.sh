#!/usr/bin/env bash
# Configures and builds one preset (default: release) with all cores:
#   scripts/build.sh [preset] [--this-machine] [-DVARIABLE=VALUE…] [target…]
# --this-machine: what this machine can use and no more, which is a shorter build: CUDA code only if there is a GPU, and for
# its architecture only; loops for this processor.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
settings=()
targets=()
for argument in "$@"; do
  case $argument in
    --this-machine)
      architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .) || true
      settings+=(-DPERGOLA_CUDA=OFF)
      if [[ "$architecture" =~ ^[0-9]+$ ]]; then
        settings=(-DPERGOLA_CUDA=ON "-DPERGOLA_CUDA_ARCHITECTURES=$architecture-real")
      fi
      settings+=(-DPERGOLA_THIS_PROCESSOR=ON) ;;
    -D*) settings+=("$argument") ;;
    *) targets+=("$argument") ;;
  esac
done
[ ${#targets[@]} -gt 0 ] && targets=(--target "${targets[@]}")

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake --preset "$preset" "${settings[@]}" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
grep 'Pergola:' "$log" || true
cmake --build --preset "$preset" "${targets[@]}" -j "$(nproc)"
