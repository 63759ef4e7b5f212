#!/usr/bin/env bash
# Installs what Pergola needs on Debian 12 and is not there yet. Says nothing when all is there. The CUDA toolkit is not
# among it: where nvcc is found, the build uses it; without it everything but the GPU works.
#   --browser   also what the browser's test of the view needs
set -euo pipefail

packages=(
  # build
  git g++ cmake ninja-build pkg-config clang-format
  # libraries, in the order of cmake/PergolaDependencies.cmake
  libfmt-dev libhwy-dev libtomlplusplus-dev nlohmann-json3-dev libcli11-dev libpng-dev libcairo2-dev fonts-dejavu-core
  libhdf5-dev libxxhash-dev libfftw3-dev libboost-dev
  libopenmpi-dev openmpi-bin
  # tests
  libgtest-dev python3 python3-numpy python3-h5py gfortran
  # the Python module
  pybind11-dev python3-dev python3-setuptools python3-matplotlib
  # the documentation's site
  mkdocs
)

if [ "${1:-}" = --browser ]; then
  packages+=(chromium)
  command -v npm >/dev/null || packages+=(nodejs npm)  # Debian's conflict with those of other sources
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "deps.sh: this system has no apt-get; please install what corresponds to: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "deps.sh: neither root nor sudo; please have these packages installed: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "installing: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}
# The lists of a fresh machine are empty or old: try what is there first, then fetch new ones.
if ! install >"$log" 2>&1 && ! { "${as_root[@]}" apt-get update && install; } >"$log" 2>&1; then
  tail -20 "$log" >&2
  echo "deps.sh: apt-get could not install the packages; see above" >&2
  exit 1
fi
