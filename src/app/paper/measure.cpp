#include "app/paper/session.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/energy.hpp"
#include "base/stopwatch.hpp"
#include "models/model.hpp"
#include "physics/pair.hpp"
#include "physics/separation.hpp"

namespace pergola::app {

namespace {

/// Calls `evaluate`, which returns its seconds, until 0.3 s are spent, at least once and at most 20 times after a
/// warm-up.
template <class Evaluate>
double median_seconds(const Evaluate& evaluate) {
  double first = evaluate(), spent = 0;
  if (first > 0.3) return first;
  std::vector<double> seconds;
  while (seconds.empty() || (spent < 0.3 && seconds.size() < 20)) {
    seconds.push_back(evaluate());
    spent += seconds.back();
  }
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

struct SerialBodies {
  std::vector<float> x, y, z, mass;
  std::vector<physics::PairSum<float>> sum;
};

void add_interaction(SerialBodies& b, std::size_t i, std::size_t j, float epsilon_squared, bool both) {
  const Vec3<float> d = physics::separation<float>({b.x[i], b.y[i], b.z[i]}, {b.x[j], b.y[j], b.z[j]}), w{};
  const float inverse_r = physics::rsqrt(physics::softened_square(d, epsilon_squared));
  physics::add_pair<false, false>(d, w, b.mass[j], inverse_r, b.sum[i]);
  if (both) physics::add_pair<false, false>(Vec3<float>{-d.x, -d.y, -d.z}, w, b.mass[i], inverse_r, b.sum[j]);
}

}  // namespace

Particles plummer(std::int64_t n, std::uint64_t seed, int threads) {
  ModelOptions options;
  options.n = n;
  options.seed = seed;
  return make_model("plummer", options, threads);
}

double measure_forces(const Device& device, const Particles& particles, unsigned want, Precision precision,
                      double softening) {
  SolverOptions options;
  options.softening = Softening::same(softening);
  options.precision = precision;
  const auto solver = make_solver(options, device);
  return median_seconds([&] {
    const auto result = evaluate_forces(*solver, device, particles, want);
    return result.prepare_seconds + result.evaluate_seconds;
  });
}

double relative_energy_error(const Device& device, const Particles& start, const Particles& end,
                             const SolverOptions& gravity) {
  const double before = measure_energies(start, device, gravity).total();
  return (measure_energies(end, device, gravity).total() - before) / std::abs(before);
}

double median_size(std::vector<double> values) {
  for (auto& value : values) value = std::abs(value);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double measure_serial(const Particles& particles, double softening, bool symmetric) {
  SerialBodies b{{particles.x.begin(), particles.x.end()},
                 {particles.y.begin(), particles.y.end()},
                 {particles.z.begin(), particles.z.end()},
                 {particles.mass.begin(), particles.mass.end()},
                 std::vector<physics::PairSum<float>>(particles.id.size())};
  const auto epsilon_squared = static_cast<float>(softening * softening);
  const std::size_t n = particles.id.size();
  return median_seconds([&] {
    const auto begin = Clock::now();
    std::fill(b.sum.begin(), b.sum.end(), physics::PairSum<float>{});
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = symmetric ? i + 1 : 0; j < n; ++j) add_interaction(b, i, j, epsilon_squared, symmetric);
    return seconds_since(begin);
  });
}

}  // namespace pergola::app
