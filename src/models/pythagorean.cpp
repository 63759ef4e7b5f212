#include <cmath>

#include "models/model_entry.hpp"

namespace pergola {

namespace {

/// Masses 3, 4 and 5 at rest, each opposite the side of its length of a 3-4-5 triangle. Burrau 1913, Astron. Nachr.
/// 195, 113; solved by Szebehely & Peters 1967, AJ 72, 876.
Particles make_pythagorean(const ModelInput&) {
  Particles p;
  p.resize(3);
  p.mass = {3, 4, 5};
  p.x = {1, -2, 1};
  p.y = {3, -1, -1};
  return p;
}

std::vector<Expectation> expect_pythagorean(const ModelInput& input) {
  const double energy = -input.gravitational_constant() * (4.0 * 5 / 3 + 3.0 * 5 / 4 + 3.0 * 4 / 5);
  return {{"energy", energy, 1e-3 * std::abs(energy)}};
}

}  // namespace

ModelEntry pythagorean_model() {
  return {{"pythagorean", "Burrau's problem: masses 3, 4 and 5 at rest on a 3-4-5 triangle", 3, false, {}},
          make_pythagorean,
          expect_pythagorean};
}

}  // namespace pergola
