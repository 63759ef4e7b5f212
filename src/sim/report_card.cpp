// The report card: measured against expected at the end of a run.
#include "sim/report_card.hpp"
#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "physics/separation.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace pergola {

namespace {

double length(const Vec3<double>& v) { return std::sqrt(dot(v, v)); }

double measure(const std::string& name, const RunEnds& ends) {
  if (name == "energy_error") return ends.energy_error.value_or(relative_energy_error(ends.end, ends.start));
  if (name == "energy") return ends.end.total();
  if (name == "virial_ratio") return ends.end.virial_ratio();
  if (name == "momentum") return length(ends.end.momentum - ends.start.momentum);
  if (name == "angular_momentum") return length(ends.end.angular_momentum - ends.start.angular_momentum);
  return ends.watched ? ends.watched(name) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::vector<Check> report_card(const std::vector<Expectation>& expectations, const RunEnds& ends) {
  std::vector<Check> checks;
  for (const auto& expectation : expectations) {
    Check check{expectation.name, measure(expectation.name, ends), expectation.expected, expectation.tolerance, false};
    check.passed = std::abs(check.measured - check.expected) <= check.tolerance;
    checks.push_back(check);
  }
  return checks;
}

StartingPlaces starting_places(Particles particles) {
  return {std::move(particles.id), std::move(particles.x), std::move(particles.y), std::move(particles.z)};
}

double return_distance(const StartingPlaces& before, const Particles& after, Communicator& ranks) {
  on_all(ranks, [&] {
    if (before.id != after.id)
      throw Error(ErrorKind::input, "return_distance: expected the particles of the start, found others");
  });
  struct Sums {
    double squares = 0, count = 0;
  };
  const Sums sums = add_in_turn(ranks, Sums(), [&](Sums& to) {
    for (std::size_t i = 0; i < after.id.size(); ++i) {
      const auto d =
          physics::separation<double>({before.x[i], before.y[i], before.z[i]}, {after.x[i], after.y[i], after.z[i]});
      to.squares += dot(d, d);
    }
    to.count += static_cast<double>(after.id.size());
  });
  return std::sqrt(sums.squares / sums.count);
}

}  // namespace pergola
