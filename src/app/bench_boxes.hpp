#pragma once
#include <cstdint>
#include <string>

#include "particles/box.hpp"
#include "particles/particles.hpp"

namespace pergola::app {

inline constexpr Box bench_cube{{0, 0, 0}, {1, 1, 1}, Boundary::periodic};

/// Particles in the cube, of mass 1 together. `cancels`: forces are small differences, and what counts is the rms of
/// their errors over that of the forces.
struct BoxCase {
  std::string name;
  Particles particles;
  bool cancels = false;
};

/// A box like a late universe: a quarter of the particles anywhere, the others in clumps of 800 on average, with masses
/// over three decades, ρ ∝ 1/(r (r + a)³), 200 times denser than the mean within 10 a.
BoxCase clustered_box(std::int64_t n, int threads);
/// The start of a cosmological run: a box of 50 Mpc/h at z = 63.
BoxCase early_box(std::int64_t n, int threads);
/// A snapshot of a cube with periodic sides.
BoxCase box_of_file(const std::string& file);
/// The box `tiles` times along each axis, as a cube of side and mass 1; the first copy comes first.
Particles tiled(const Particles& from, int tiles);

}  // namespace pergola::app
