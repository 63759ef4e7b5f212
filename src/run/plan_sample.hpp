#pragma once
#include <cstdint>

#include "config/config.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// What a configuration names, known without its particles.
struct Count {
  std::int64_t n = 0;
  double start_time = 0;
  double box_side = 0;  // as the file or the model states it; 0: none
};
Count count_particles(const RunConfig& config);

/// Makes the models that a configuration names smaller, about n particles in all; false, and nothing is changed, where
/// there is a file.
bool thin_models(RunConfig& config, std::int64_t n);

/// About n of the particles that a configuration names, with all of their mass. Models are made smaller, in `config`
/// too; of a file every so many are taken.
struct Sample {
  Particles particles;
  double time = 0;
};
Sample thinned(RunConfig& config, std::int64_t n, int threads);

}  // namespace pergola
