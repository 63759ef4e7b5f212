#!/usr/bin/env bash
# Kills, interrupts, resumes and starves runs of every method at random for so many minutes, and compares the bits of each
# with those of the undisturbed run. Prints tries and differences; exit code 1 where anything differs.
#   scripts/soak.sh MINUTES [--seed S] [--device cuda]
# PERGOLA and PERGOLA_FAULTS in the environment: the program and the library of tests/faults (default: build/release).
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
if [ $# -lt 1 ]; then
  echo "usage: scripts/soak.sh MINUTES [--seed S] [--device cuda]" >&2
  exit 2
fi
export PERGOLA=${PERGOLA:-$here/build/release/pergola}
export PERGOLA_FAULTS=${PERGOLA_FAULTS:-$here/build/release/tests/libpergola_faults.so}
# Small disks are mounted in a namespace of our own: they are gone when it ends, however it ends.
namespace=()
for options in "-m" "-rm"; do
  if unshare $options true 2>/dev/null; then
    namespace=(unshare $options)
    break
  fi
done
exec "${namespace[@]}" /usr/bin/env python3 -B "$here/tests/cli/soak.py" "$@"
