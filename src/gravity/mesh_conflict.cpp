#include <fmt/core.h>

#include "gravity/mesh.hpp"

namespace pergola {

namespace {

constexpr int fewest_cells = 8;

/// Even, and a product of primes that the transforms are fast for.
bool fast_size(int n) {
  if (n % 2 != 0) return false;
  for (const int prime : {2, 3, 5, 7})
    while (n % prime == 0) n /= prime;
  return n == 1;
}

}  // namespace

int nearest_mesh_size(int n) {
  for (int d = 0;; ++d) {
    if (n - d >= fewest_cells && fast_size(n - d)) return n - d;
    if (n + d >= fewest_cells && fast_size(n + d)) return n + d;
  }
}

std::optional<Conflict> mesh_conflict(const MeshOptions& mesh) {
  const auto conflict = [](const char* key, const std::string& why) {
    return Conflict{std::string("gravity.mesh.") + key, why};
  };
  for (const int n : mesh.cells)
    if (n < fewest_cells || !fast_size(n))
      return conflict(
          "cells",
          fmt::format("expected even numbers of at least {} with the prime factors 2, 3, 5 and 7 only, found {}; "
                      "the nearest is {}",
                      fewest_cells, n, nearest_mesh_size(n)));
  if (!mesh.box.periodic() && mesh.assignment == Assignment::pcs)
    return conflict("assignment", "pcs needs boundary = periodic, found isolated; use tsc");
  const bool plain = mesh.poisson == Poisson::multigrid || !mesh.box.periodic();
  const char* where = mesh.poisson == Poisson::multigrid ? "poisson = multigrid" : "boundary = isolated";
  if (plain && mesh.gradient == Gradient::spectral)
    return conflict("gradient",
                    fmt::format("spectral needs poisson = fft and boundary = periodic, found {}; use two-point or "
                                "four-point",
                                where));
  if (plain && mesh.laplacian == Laplacian::spectral)
    return conflict("laplacian",
                    fmt::format("spectral needs poisson = fft and boundary = periodic, found {}; use discrete", where));
  if (plain && mesh.deconvolve)
    return conflict("deconvolve", fmt::format("true needs poisson = fft and boundary = periodic, found {}", where));
  return std::nullopt;
}

void check_mesh_options(const MeshOptions& mesh) {
  if (const auto conflict = mesh_conflict(mesh))
    throw Error(ErrorKind::input, fmt::format("{}: {}", conflict->key, conflict->why));
}

}  // namespace pergola
