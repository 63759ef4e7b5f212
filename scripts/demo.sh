#!/usr/bin/env bash
# Builds Pergola and runs its first example, a star cluster, into ./demo-output. About a minute after the build.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/deps.sh
echo "building (the first time takes six to seven minutes on two cores, less on more)"
scripts/build.sh release --this-machine pergola_program

pergola=build/release/pergola
output=demo-output
echo
echo "running examples/plummer.toml: a Plummer cluster under its own gravity, fourth-order Hermite integrator"
$pergola run examples/plummer.toml -o $output --overwrite

last=$(ls $output/snap_*.hdf5 | tail -n 1)
$pergola picture "$last" -o $output/cluster.png
$pergola plot $output

error=$(sed -n 's/^ *"energy_error": *\([^,]*\),\{0,1\}$/\1/p' $output/run.json | head -n 1)
error=$(LC_ALL=C printf '%.1e' "$error")
echo
echo "Done. The total energy changed by a relative $error from start to end."
echo
echo "  $output/run.json       the configuration as used, totals and the report card"
echo "  $output/energy.csv     energy, momentum and angular momentum against time"
echo "  $output/snap_*.hdf5    the cluster through time (GADGET HDF5; yt opens it)"
echo "  $output/cluster.png    a picture of the last snapshot"
echo "  $output/energy.png     the energy error against time; beside it momentum.png and profile.png"
echo
echo "Next, look closer at the last snapshot:"
echo "  $pergola force $last --solver direct"
