#include "models/model_entry.hpp"
#include "models/sampling.hpp"

namespace pergola {

namespace {

/// Masses in [1, 10], places in [−5, 5]³, velocities in [−1, 1]³, all uniform: Bertinelli, "N-body simulator -
/// Parallelized with CUDA", section 4.
Particles make_six_body(const ModelInput& input) {
  Particles p;
  p.resize(6);
  for (std::size_t i = 0; i < 6; ++i) {
    Philox random(input.seed(), 0, i);
    p.mass[i] = 1 + 9 * random.uniform();
    for (auto* values : {&p.x, &p.y, &p.z}) (*values)[i] = 10 * random.uniform() - 5;
    for (auto* values : {&p.vx, &p.vy, &p.vz}) (*values)[i] = 2 * random.uniform() - 1;
  }
  return p;
}

}  // namespace

ModelEntry six_body_model() {
  return {{"six-body", "six random bodies in a cube, masses from 1 to 10", 6, false, {}},
          make_six_body,
          [](const ModelInput&) { return std::vector<Expectation>{}; }};
}

}  // namespace pergola
