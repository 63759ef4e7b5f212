# What scripts/test.sh and scripts/test-all.sh share. They source it in the root of the sources.

# Tests of several ranks run as root and on fewer cores than ranks if that is all there is.
# PMIX_MCA_gds: see docs/cluster.md.
export PMIX_MCA_gds=hash OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

began=$SECONDS
status=0
results=()
stage() { # a stage's name, with the time since the start
  printf '\n== %s (%d:%02d)\n' "$1" $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60))
}

no_gpu() { ! nvidia-smi >/dev/null 2>&1; }

# Labels that scripts/test.sh leaves to scripts/test-all.sh.
not_quick='slow|fuzz|install|web|soak|site'

run_tests() { # build folder, labels that a test must have, labels that it must not have; both as A|B
  local folder=$1 without=${3:-none}
  no_gpu && without+='|gpu'
  results+=("$folder/results-${#results[@]}.xml")
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$(nproc)" \
    --output-junit "${results[-1]##*/}" -L "^($2)\$" -LE "^($without)\$" || status=1
}

finish() { # which tests were skipped and why, and how many passed
  echo
  local left_out=()
  if no_gpu && [ $# -gt 0 ]; then
    left_out=(--no-gpu "$(ctest --test-dir "$1" -N -L '^gpu$' -LE "^($not_quick)\$" 2>/dev/null | sed -n 's/^Total Tests: //p')")
  fi
  /usr/bin/python3 -B scripts/test_summary.py "${left_out[@]}" "${results[@]}" || status=1
  exit $status
}
