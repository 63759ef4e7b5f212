#!/usr/bin/env bash
# What to run before a commit: dependencies, format and include order, one optimised build of what this machine can use, and
# all tests but the slow ones.  scripts/test.sh [--preset NAME] [ROOM…]
#   --preset NAME  another build than build/release: dev (warnings are errors), ci
#   ROOM           a folder of src/: builds what includes it, and runs its tests only
# scripts/test-all.sh has the rest: slow tests, sanitizers, fuzzing, install, browser, docs.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/test_stages.sh
preset=release
rooms=()
while [ $# -gt 0 ]; do
  case $1 in
    --preset) preset=${2:?--preset needs a name}; shift ;;
    *)
      if [ ! -d "src/$1" ]; then
        echo "usage: scripts/test.sh [--preset NAME] [ROOM…]; rooms are the folders of src/, and $1 is none" >&2
        exit 2
      fi
      rooms+=("${1%/}") ;;
  esac
  shift
done
here=()
[ "$preset" = ci ] || here=(--this-machine)

stage "dependencies"
scripts/deps.sh

stage "format and include order"
scripts/format.sh --check
/usr/bin/python3 -B scripts/check_includes.py
/usr/bin/python3 -B scripts/check_house.py

if [ ${#rooms[@]} -gt 0 ]; then
  targets=(pergola_tests)
  [[ " ${rooms[*]} " =~ \ (app|python|g6)\  ]] && targets=(all)
  stage "build: $preset"
  scripts/build.sh "$preset" "${here[@]}" "${targets[@]}"
  stage "tests of ${rooms[*]}"
  run_tests "build/$preset" "$(IFS='|'; echo "${rooms[*]/#/room_}")" "$not_quick"
  finish
fi

stage "build: $preset"
scripts/build.sh "$preset" "${here[@]}"
stage "tests"
run_tests "build/$preset" '.*' "$not_quick"
stage "end"
finish "build/$preset"
