#!/usr/bin/env bash
# What scripts/test.sh leaves out, stage by stage:  scripts/test-all.sh [STAGE…]   (default: all, in this order)
#   slow     tests that take long
#   cuda     CUDA code and all else, compiled with warnings as errors; without a GPU it is not made fast
#   asan     unit tests under the address and undefined-behaviour sanitizers
#   tsan     tests marked `threads` under the thread sanitizer
#   fuzz     damaged inputs for every reader, under the address sanitizer
#   install  the install tree as outside projects use it
#   browser  the page of the view in a browser
#   docs     every command of every page
#   site     the documentation's site: links, menu, pages
#   soak     runs that are killed and resumed at random for two minutes
#   clang    a build with clang, and its unit tests
# Each stage says its time. The last line counts the tests of all stages.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/test_stages.sh
all_stages=(slow cuda asan tsan fuzz install browser docs site soak clang)
stages=("$@")
[ $# -gt 0 ] || stages=("${all_stages[@]}")
for name in "${stages[@]}"; do
  if [[ ! " ${all_stages[*]} " =~ \ $name\  ]]; then
    echo "test-all.sh: there is no stage $name; stages are ${all_stages[*]}" >&2
    exit 2
  fi
done

release_built=no
build_release() { # what the tests of the release build need, once
  [ $release_built = yes ] || scripts/build.sh release --this-machine
  release_built=yes
}
of_release() { build_release && run_tests build/release "$@"; }
of_asan() {  # HDF5 keeps memory until the process ends
  scripts/build.sh asan -DPERGOLA_TEST_ROOMS= pergola_tests toys pergola_fuzz && ASAN_OPTIONS=detect_leaks=0 run_tests build/asan "$@"
}

# Each function is one stage.
slow() { of_release slow docs; }
cuda() {
  if ! command -v nvcc >/dev/null && [ ! -x /usr/local/cuda/bin/nvcc ]; then
    echo "skipped: no nvcc"
  elif no_gpu; then
    scripts/build.sh ci pergola_program pergola_tests
  else
    scripts/build.sh dev pergola_program pergola_tests
  fi
}
asan() { of_asan unit 'slow|heavy'; }
tsan() { scripts/build.sh tsan pergola_tests && TSAN_OPTIONS=halt_on_error=1 run_tests build/tsan threads 'slow|heavy'; }
fuzz() { of_asan fuzz; }
install() { of_release install; }
browser() {
  if { scripts/deps.sh --browser && timeout 240 scripts/web.sh --fetch-only; }; then
    of_release web
  else
    echo "skipped: no browser or no packages for it, see above"
  fi
}
docs() { of_release docs; }
site() { of_release site; }
soak() { of_release soak; }
clang() {
  local compiler
  for compiler in clang++ clang++-{22..16}; do
    if command -v "$compiler" >/dev/null && [ "$("$compiler" -dumpversion | cut -d. -f1)" -ge 16 ]; then
      scripts/build.sh clang -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_C_COMPILER="${compiler/++/}" \
        pergola_program pergola_tests toys && run_tests build/clang unit slow
      return
    fi
  done
  echo "skipped: no clang++ of version 16 or newer"
}

scripts/deps.sh
for name in "${stages[@]}"; do
  stage "$name"
  from=$SECONDS
  before=$status
  $name || status=1
  printf -- '-- %s: %s, %d:%02d\n' "$name" "$([ $status -eq $before ] && echo done || echo FAILED)" $(((SECONDS - from) / 60)) $(((SECONDS - from) % 60))
done
stage "end"
finish
