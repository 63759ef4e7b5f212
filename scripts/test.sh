#!/usr/bin/env bash
# All checks of Pergola, from a fresh clone: installs what is missing, builds, checks formatting and include order, runs
# every test, then the unit tests under the address and undefined-behaviour sanitizers and under the thread sanitizer, and
# says which were skipped and why.  scripts/test.sh [--no-sanitizers]
# In the environment, PERGOLA_CUDA_ARCHITECTURES: the GPUs that CUDA code is compiled for (default: CMakeLists.txt's);
# PERGOLA_CUDA_QUICK=ON: with little optimisation, for machines without a GPU.
# PERGOLA_TEST_MINUTES: after three quarters of so many minutes the address and undefined-behaviour sanitizers are not begun,
# after four fifths the thread sanitizer, which comes last.
set -euo pipefail
cd "$(dirname "$0")/.."
sanitizers=yes
for argument in "$@"; do
  case $argument in
    --no-sanitizers) sanitizers=no ;;
    *) echo "usage: scripts/test.sh [--no-sanitizers]" >&2; exit 2 ;;
  esac
done
began=$SECONDS
stage() { printf '\n== %s (%d:%02d)\n' "$1" $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60)); }

late() { # part of PERGOLA_TEST_MINUTES in percent, what is not begun then
  [ -n "${PERGOLA_TEST_MINUTES:-}" ] && [ $((100 * (SECONDS - began))) -gt $((60 * $1 * PERGOLA_TEST_MINUTES)) ] || return 1
  stage "skipped: $2: this machine is slow, and $(((SECONDS - began) / 60)) minutes have passed"
}

# Tests of several ranks run as root and on fewer cores than ranks where that is all there is.
# PMIX_MCA_gds: see docs/cluster.md.
export PMIX_MCA_gds=hash OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

run_tests() { # build folder, then arguments of ctest
  local folder=$1 status=0
  shift
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$(nproc)" --output-junit results.xml "$@" || status=$?
  /usr/bin/python3 -B scripts/skipped_tests.py "$folder/results.xml" || true
  return $status
}

stage "dependencies"
scripts/deps.sh
# The browser's test is skipped where these cannot be had.
{ scripts/deps.sh --browser && timeout 240 scripts/web.sh --fetch-only; } || echo "no browser's test: see above"

stage "formatting and include order"
scripts/format.sh --check
/usr/bin/python3 -B scripts/check_includes.py
/usr/bin/python3 -B scripts/check_house.py

stage "build: release"
scripts/build.sh release ${PERGOLA_CUDA_ARCHITECTURES:+"-DPERGOLA_CUDA_ARCHITECTURES=$PERGOLA_CUDA_ARCHITECTURES"} \
  ${PERGOLA_CUDA_QUICK:+"-DPERGOLA_CUDA_QUICK=$PERGOLA_CUDA_QUICK"}

stage "tests: release"
status=0
run_tests build/release -LE fuzz || status=$?  # damaged inputs: below, where a sanitizer watches

sanitize() { # preset, what it is, tests to leave out, then options of the sanitizer as NAME=VALUE
  local preset=$1 name=$2 without=$3
  shift 3
  stage "build: $name"
  scripts/build.sh "$preset" pergola_tests toys || return
  stage "unit tests: $name"
  (export "$@" && run_tests "build/$preset" -L unit -LE 'slow|gpu|cli' ${without:+-E "$without"})
}
if [ $sanitizers = yes ] && [ $status -eq 0 ] && ! late 75 "address and undefined-behaviour sanitizers, damaged inputs"; then
  # HDF5 keeps memory until the process ends. Left out: tests of many particles on several ranks, whose loops others have.
  many='TreeOfManyParticles|OfAGlassHasTheBits|CountsWhatTheRunWillSend|TheSecondTreeIsCut|UniverseWithTreePmLeave'
  many+='|SpreadDirect\.(HasTheSums|ParticlesInOne|WhatTravels)|SpreadDirectSystem\.(HasTheBits|SofteningMayBeZero)'
  many+='|EnergiesOfOneRankOfManyParticles|SpreadTreePm\.(AnyPrecision|HasThe)|IsMeasuredWhereItLies|Devices.SpreadTreePm\.Softening'
  many+='|SpreadTree\.HasTheForces|SpreadMeshForces\.HaveTheBitsOfOneRankWith|DisplacedLattice\.OfRanks|ThatGoThroughAllSlabs'
  # And those that write and read at length what shorter ones do.
  many+='|AReportCardThatIs|RunThroughARunAndItsResume|Snapshot(Pieces|SourceFormats)\..*csv|ShownRun\.(GoesOn|HasTheEnergies)'
  sanitize asan "address and undefined-behaviour sanitizers" "$many" ASAN_OPTIONS=detect_leaks=0 || status=$?
  stage "damaged inputs for every reader: address and undefined-behaviour sanitizers"
  scripts/build.sh asan pergola_fuzz && (export ASAN_OPTIONS=detect_leaks=0 && run_tests build/asan -L fuzz) || status=$?
fi
if [ $sanitizers = yes ] && [ $status -eq 0 ] && ! late 80 "thread sanitizer"; then
  # Left out: damaged files and configurations, which one thread reads, and tests that repeat loops of others at length.
  repeated='Multigrid\.(VCycles|FullMulti|Isolated|Tolerance|ThePapers)|TreeOfManyParticles|InAPeriodicBox|PhaseSpaceIsBright'
  repeated+='|ForceAudit(Measures|GoesOn)|Resumed(Block|Hermite|Leapfrog|Expanding|Run)|EverySession|AReportCardThatIs'
  sanitize tsan "thread sanitizer" "bad_snapshot|config_|$repeated" TSAN_OPTIONS=halt_on_error=1 || status=$?
fi

stage "$([ $status -eq 0 ] && echo 'all passed' || echo 'FAILED: see the summary above')"
exit $status
