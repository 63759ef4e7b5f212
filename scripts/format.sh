#!/usr/bin/env bash
# Formats the C, C++ and CUDA sources with clang-format; with --check it changes nothing and names the files that differ.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cpp' '*.hpp' '*.cu' '*.cuh' '*.inl')
existing=()
for file in "${files[@]}"; do [ -f "$file" ] && existing+=("$file"); done
[ ${#existing[@]} -eq 0 ] && exit 0

if [ "${1:-}" != --check ]; then
  clang-format -i "${existing[@]}"
  exit 0
fi
if ! clang-format --dry-run --Werror "${existing[@]}" 2>/dev/null; then
  echo "format.sh: these files are not formatted as .clang-format asks; run scripts/format.sh" >&2
  for file in "${existing[@]}"; do
    clang-format --dry-run --Werror "$file" 2>/dev/null || echo "  $file" >&2
  done
  exit 1
fi
