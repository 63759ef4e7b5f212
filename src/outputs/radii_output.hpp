#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "outputs/output.hpp"

namespace pergola {

/// lagrangian.csv: Lagrangian radii of a system that has a centre.
OutputEntry radii_output();

/// Radii of more particles are those of a fixed sample, so that a line's cost does not grow with them.
inline constexpr std::int64_t most_particles_for_radii = 32768;
/// How often they are asked for; none: never.
std::optional<double> radii_interval(const RunConfig& config);
/// One line, measured now; on rank 0, of a system with a centre.
std::string radii_line(System& system);

}  // namespace pergola
