#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace pergola {

/// How far the structure in a box of the universe can be trusted, before it is run; formulas and their sources are in
/// physics/resolution.hpp.
struct UniverseResolution {
  double spacing_mpc_h = 0;        // mean distance of particles
  double length_mpc_h = 0;         // the run's unit of length
  double wave_number = 0;          // h/Mpc: up to here the power spectrum is that of the universe in the box to 1 %
  std::string wave_number_of;      // what ends it
  double halo_particles = 0;       // of the smallest trusted halo, to a per cent or so
  double counted_particles = 0;    // to some ten per cent
  double halo_mass = 0;            // solar masses/h, of the former
  std::string halo_of;             // what sets it
  std::vector<std::string> notes;  // what spoils it whatever k is: sentences
};

/// None where the run is none of an expanding universe, has no box yet or no unit of length.
PERGOLA_API std::optional<UniverseResolution> universe_resolution(const RunConfig& config, std::int64_t n,
                                                                  double start_time);

}  // namespace pergola
