#pragma once
#include <array>
#include <complex>
#include <vector>

#include "plasma/options.hpp"
#include "sim/plasma_kind.hpp"

namespace pergola {

/// ω + iγ of the wave with so many wavelengths in the box, in units of computation: of streams the fastest growing one,
/// of a plasma at rest the Langmuir wave with its damping. NaN where the theory is not this one: a magnetic field, or
/// streams that do not grow.
PERGOLA_API std::complex<double> wave_theory(const PlasmaOptions& options, const std::vector<PlasmaKind>& kinds,
                                             const std::array<int, 3>& mode);

}  // namespace pergola
