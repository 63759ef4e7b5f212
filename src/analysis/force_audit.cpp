#include "analysis/force_audit.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/ewald_sum.hpp"
#include "gravity/direct.hpp"
#include "gravity/solver_entry.hpp"

// The reference sum reads particles in pieces, so that a file larger than memory can be audited. A target that is not
// in the present piece joins it with mass 0: it feels the piece and does not act on it.
namespace pergola {

namespace {

/// Up to this number of particles the warm-up on a CPU evaluates all; above it a sample, to save time.
constexpr std::int64_t cpu_warm_up_all = 16384, cpu_warm_up_some = 1024;
/// Short evaluations are repeated; the fastest counts.
constexpr double enough_seconds = 0.2;
constexpr int most_repeats = 5;

double length(double x, double y, double z) { return std::sqrt(x * x + y * y + z * z); }

/// The forces of a sample among those of all.
ForceResult at_places(const ForceResult& all, const std::vector<std::int64_t>& places) {
  ForceResult some;
  for (std::int64_t place : places) {
    const auto i = static_cast<std::size_t>(place);
    some.ax.push_back(all.ax[i]);
    some.ay.push_back(all.ay[i]);
    some.az.push_back(all.az[i]);
  }
  return some;
}

/// The direct sum reads its sources in pieces of this size and adds them in order.
constexpr std::int64_t audit_piece = std::int64_t{1} << 20;

/// The sum over all pairs at some places. A target that is not in a piece joins it with mass 0.
ForceResult direct_sum(const SolverOptions& options, const Device& device, ParticleSource& particles,
                       const std::vector<std::int64_t>& places) {
  auto exact = options;
  exact.solver = direct_info().name;
  exact.precision = Precision::double_;
  auto solver = make_solver(exact, device);
  Particles some, target;
  Particles targets = read_at(particles, places);
  std::fill(targets.mass.begin(), targets.mass.end(), 0.0);
  ForceResult sum;
  for (auto* axis : {&sum.ax, &sum.ay, &sum.az}) axis->resize(places.size());
  for (std::int64_t first = 0; first < particles.count(); first += audit_piece) {
    const std::int64_t count = std::min(audit_piece, particles.count() - first);
    particles.read(first, count, some);
    std::vector<std::int64_t> here;
    for (std::size_t k = 0; k < places.size(); ++k) {
      const std::int64_t own = places[k] - first;
      if (own >= 0 && own < count) {
        here.push_back(own);
        continue;
      }
      here.push_back(some.size());
      HostParticles(targets).read(static_cast<std::int64_t>(k), 1, target);
      some.append(target);
    }
    if (first == audit_piece) {  // fields from outside act once
      exact.external.clear();
      solver = make_solver(exact, device);
    }
    const ForceResult part = evaluate_forces(*solver, device, some, want_acceleration, here);
    for (std::size_t k = 0; k < places.size(); ++k)
      sum.ax[k] += part.ax[k], sum.ay[k] += part.ay[k], sum.az[k] += part.az[k];
  }
  return sum;
}

/// Ewald's sum in a periodic box, else the sum over all pairs.
ForceResult reference_forces(const SolverOptions& options, const Device& device, ParticleSource& particles,
                             const std::vector<std::int64_t>& places) {
  if (const Box box = box_of(options); box.periodic())
    return ewald_sum(particles, places, box, options.softening, options.gravitational_constant, device);
  return direct_sum(options, device, particles, places);
}

}  // namespace

// Places at equal distances in the input, so that samples need no random numbers and are the same on all ranks.
std::vector<std::int64_t> sample_places(std::int64_t n, std::int64_t count) {
  count = std::min(n, count);
  std::vector<std::int64_t> places;
  const std::int64_t step = count > 0 ? n / count : 0, rest = count > 0 ? n % count : 0;
  for (std::int64_t k = 0; k < count; ++k) places.push_back(k * step + k * rest / count);
  return places;
}

// Relative errors |found - reference| / |reference|; where the reference is 0, relative to the largest one.
ForceErrors force_errors(const ForceResult& found, const ForceResult& reference) {
  const std::size_t n = reference.ax.size();
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i)
    largest = std::max(largest, length(reference.ax[i], reference.ay[i], reference.az[i]));
  std::vector<double> errors;
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double size = length(reference.ax[i], reference.ay[i], reference.az[i]);
    const double difference =
        length(found.ax[i] - reference.ax[i], found.ay[i] - reference.ay[i], found.az[i] - reference.az[i]);
    errors.push_back(difference == 0 ? 0 : difference / (size > 0 ? size : largest));
    squares += errors.back() * errors.back();
  }
  if (n == 0) return {};
  std::sort(errors.begin(), errors.end());
  // The median of an even number is the mean of the middle two. 99 % of the values do not exceed p99.
  const std::size_t above = (99 * n + 99) / 100 - 1;
  return {(errors[(n - 1) / 2] + errors[n / 2]) / 2, std::sqrt(squares / static_cast<double>(n)), errors[above],
          errors.back(), static_cast<std::int64_t>(n)};
}

ForceErrors force_errors_at(const SolverOptions& options, const Device& device, const Particles& particles,
                            const std::vector<std::int64_t>& places, const ForceResult& found) {
  HostParticles source(particles);
  return force_errors_at(options, device, source, places, found);
}

ForceErrors force_errors_at(const SolverOptions& options, const Device& device, ParticleSource& particles,
                            const std::vector<std::int64_t>& places, const ForceResult& found) {
  return force_errors(found, reference_forces(options, device, particles, places));
}

// First a warm-up, then timed evaluations; the fastest one counts. The errors are those of a sample.
ForceAudit audit_forces(const SolverOptions& options, const Device& device, const Particles& particles,
                        std::int64_t sample) {
  const auto solver = make_solver(options, device);
  const auto evaluate = [&](const std::vector<std::int64_t>& targets) {
    return evaluate_forces(*solver, device, particles, want_acceleration, targets);
  };
  const bool warm_up_all = device.is_cuda() || particles.size() <= cpu_warm_up_all;
  evaluate(warm_up_all ? std::vector<std::int64_t>{} : sample_places(particles.size(), cpu_warm_up_some));

  ForceAudit audit;
  double spent = 0;
  for (int repeat = 0; repeat < most_repeats && spent < enough_seconds; ++repeat) {
    auto forces = evaluate({});
    const double seconds = forces.prepare_seconds + forces.evaluate_seconds;
    if (repeat == 0 || seconds < audit.forces.prepare_seconds + audit.forces.evaluate_seconds)
      audit.forces = std::move(forces);
    spent += seconds;
  }
  audit.choices = solver->choices();
  audit.remark = solver->remark();

  const auto places = sample_places(particles.size(), sample);
  audit.errors = force_errors_at(options, device, particles, places, at_places(audit.forces, places));
  return audit;
}

}  // namespace pergola
