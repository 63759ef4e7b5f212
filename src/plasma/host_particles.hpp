#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "plasma/options.hpp"
#include "plasma/particles.hpp"

namespace pergola {

/// Throws Error(input) that names the particle when one is outside the box or not a number, when a component is missing
/// or there are 2³² particles or more.
void check_particles(const PlasmaOptions& options, int species, const PlasmaParticles& particles);

/// Host particles in the order of their ids; empty where that is the order in which they are. Throws Error(input) when
/// two have the same id.
std::vector<std::uint32_t> order_by_id(const std::string& species, const std::vector<std::uint64_t>& id);

}  // namespace pergola
