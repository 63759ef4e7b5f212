#pragma once
#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <vector>

#include "models/wave_cube.hpp"

namespace pergola {

/// A wave of the density contrast: k in waves per box.
using DensityWave = std::function<std::complex<double>(int kx, int ky, int kz)>;

/// The terms of the displacement (physics/lagrangian.hpp): −∇φ1, ∇φ2, −∇φ3a, −∇φ3b, −∇×A3c, each with its own growth.
enum class LagrangianTerm { first, second, third_a, third_b, third_c };

/// Gets the terms up to `order` one after the other, in that order: three components at the places i L/n of a lattice,
/// x fastest, in units of the length L of the box; a rank those of its planes of the cube. Products of waves are taken
/// at those places: what lies beyond the lattice's Nyquist wave number comes back as smaller waves (no dealiasing).
/// `window`: the order of the cloud by which the displacements are taken between the places (physics/green.hpp); waves
/// are divided by it. 0: they are not. All ranks of the cube call it.
using TakeTerm = std::function<void(LagrangianTerm, const std::array<std::vector<double>, 3>&)>;
void lagrangian_displacements(WaveCube& cube, const DensityWave& delta, int order, const TakeTerm& take,
                              int window = 0);

}  // namespace pergola
