#pragma once
#include <array>
#include <optional>

#include "mesh/options.hpp"
#include "particles/box.hpp"

namespace pergola {

/// The particle-mesh solver: [gravity.mesh] of the configuration.
struct MeshOptions {
  std::array<int, 3> cells{128, 128, 128};
  Assignment assignment = Assignment::cic;
  Poisson poisson = Poisson::fft;
  Gradient gradient = Gradient::two_point;
  Laplacian laplacian = Laplacian::discrete;  // periodic FFT
  bool deconvolve = false;                    // periodic FFT: divide by the assignment's window
  DensityRoute density = DensityRoute::automatic;
  MultigridOptions multigrid;
  Box box{{0, 0, 0}, {0, 0, 0}, Boundary::periodic};  // no side: not known yet
  std::optional<Vec3<double>> box_corner{};           // none: 0 for a periodic box, −side/2 for an isolated one
};

}  // namespace pergola
