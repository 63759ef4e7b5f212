#!/usr/bin/env bash
# Builds the Python module with all cores and leaves an importable build/python/pergola:  scripts/python.sh [preset] [-DVARIABLE=VALUE…]
#   PYTHONPATH=build/python /usr/bin/python3 -c 'import pergola; print(pergola.__version__)'
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
scripts/build.sh "$preset" -DPERGOLA_PYTHON=ON "$@" pergola_python
if [ ! -e "build/$preset/python/pergola/__init__.py" ]; then
  echo "python.sh: pybind11 or Python's headers were not found; scripts/deps.sh installs them" >&2
  exit 1
fi
mkdir -p build/python
ln -sfn "../$preset/python/pergola" build/python/pergola
