#pragma once
#include <array>
#include <vector>

namespace pergola {

/// Powers of length, mass, time, current, temperature, amount and luminous intensity.
using OpenPmdDimension = std::vector<double>;

inline constexpr std::array<const char*, 3> openpmd_axes{"x", "y", "z"};

}  // namespace pergola
