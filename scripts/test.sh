#!/usr/bin/env bash
# All checks of Pergola, from a fresh clone: installs what is missing, builds, checks formatting and include order, runs
# every test, and says which were skipped and why.  scripts/test.sh [--asan]
#   --asan   then also builds with the address and undefined-behaviour sanitizers and runs the unit tests
set -euo pipefail
cd "$(dirname "$0")/.."
asan=no
for argument in "$@"; do
  case $argument in
    --asan) asan=yes ;;
    *) echo "usage: scripts/test.sh [--asan]" >&2; exit 2 ;;
  esac
done
began=$SECONDS
stage() { printf '\n== %s (%d:%02d)\n' "$1" $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60)); }

# Tests of several ranks run as root and on fewer cores than ranks where that is all there is.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

run_tests() { # build folder, then arguments of ctest
  local folder=$1 status=0
  shift
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$(nproc)" --output-junit results.xml "$@" || status=$?
  /usr/bin/python3 -B scripts/skipped_tests.py "$folder/results.xml" || true
  return $status
}

stage "dependencies"
scripts/deps.sh

stage "formatting and include order"
scripts/format.sh --check
/usr/bin/python3 -B scripts/check_includes.py

stage "build: release"
scripts/build.sh release

stage "tests: release"
status=0
run_tests build/release || status=$?

if [ $asan = yes ] && [ $status -eq 0 ]; then
  stage "build: address and undefined-behaviour sanitizers"
  scripts/build.sh asan unit_tests
  stage "unit tests: address and undefined-behaviour sanitizers"
  # OpenMPI and the HDF5 library keep memory until the process ends.
  ASAN_OPTIONS=detect_leaks=0 run_tests build/asan -L unit -LE 'slow|gpu' || status=$?
fi

stage "$([ $status -eq 0 ] && echo 'all passed' || echo 'FAILED: see the summary above')"
exit $status
