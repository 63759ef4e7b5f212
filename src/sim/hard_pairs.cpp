#include "sim/hard_pairs.hpp"
#include "analysis/orbits.hpp"
#include "base/text.hpp"
#include "gravity/solver_entry.hpp"
#include "physics/kepler.hpp"
#include "time/integrator_entry.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace pergola {

namespace {

constexpr std::int64_t most_particles = 200000;  // more are not looked at: each file of theirs would be read as a whole
constexpr std::size_t most_pairs = 10, few = 16;
/// What is left of a pair's energy at the end is right to this part.
constexpr double tolerance = 0.01;

/// The median of the particles' kinetic energies about the mean velocity; 0 of few, of which any pair is hard.
double soft_energy(const Particles& p) {
  if (p.id.size() <= few) return 0;
  Vec3<double> sum{};
  double mass = 0;
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    sum = sum + p.mass[i] * Vec3<double>{p.vx[i], p.vy[i], p.vz[i]};
    mass += p.mass[i];
  }
  const Vec3<double> mean = mass > 0 ? (1 / mass) * sum : Vec3<double>{};
  std::vector<double> energy(p.id.size());
  for (std::size_t i = 0; i < energy.size(); ++i) {
    const Vec3<double> v = Vec3<double>{p.vx[i], p.vy[i], p.vz[i]} - mean;
    energy[i] = p.mass[i] * dot(v, v) / 2;
  }
  const auto middle = energy.begin() + std::ssize(energy) / 2;
  std::nth_element(energy.begin(), middle, energy.end());
  return *middle;
}

/// A quarter of a typical particle's potential energy in the field of all, as much as its kinetic energy in
/// equilibrium; 0 of few. At a cold start neighbours are bound by less.
double field_energy(const Particles& p, double gravitational_constant) {
  if (p.id.size() <= few) return 0;
  double mass = 0, squares = 0;
  Vec3<double> sum{};
  const auto place = [&](std::size_t i) { return Vec3<double>{p.x[i], p.y[i], p.z[i]}; };
  for (std::size_t i = 0; i < p.id.size(); ++i) mass += p.mass[i], sum = sum + p.mass[i] * place(i);
  const Vec3<double> middle = mass > 0 ? (1 / mass) * sum : Vec3<double>{};
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    const Vec3<double> away = place(i) - middle;
    squares += p.mass[i] * dot(away, away);
  }
  if (!(squares > 0)) return 0;
  return gravitational_constant * mass * mass / static_cast<double>(p.id.size()) / std::sqrt(squares / mass) / 4;
}

constexpr const char* remark_begins = "close pairs: ";

std::string named(const HardPair& pair) {
  return fmt::format("particles {} and {} (a = {:.3g}, e = {:.3f}, period {:.3g})", pair.first, pair.second,
                     pair.semi_major_axis, pair.eccentricity, pair.period);
}

/// Why the steps do not follow a pair for `periods`, and what helps; empty: they do.
std::string cannot_follow(const RunConfig& config, const HardPair& pair, double periods) {
  const double pericentre = pair.semi_major_axis * (1 - pair.eccentricity);
  const bool single = config.precision() == Precision::single;
  const double places =
      pair.from_origin * (single ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon());
  if (pericentre < 1000 * places)
    return fmt::format("their pericentre is {:.2g} times what {} precision can tell apart at their place{}",
                       pericentre / places, single ? "single" : "double",
                       single ? "; use run.precision = \"double\"" : "; put the origin nearer to them");
  const IntegratorEntry& integrator = integrator_entry(config.time.integrator);
  if (const double step = integrator.step_of(config.time); step > 0) {
    const double passage = pair.period * std::pow(1 - pair.eccentricity, 1.5) / step;
    return passage < 30 ? fmt::format(
                              "their pericentre passes in {:.2g} steps, fewer than 30; use time.integrator = "
                              "\"hermite\", or a time.step of {:.2g}",
                              passage, step * passage / 30)
                        : std::string();
  }
  if (!integrator.needs_with(config.time, config.gravity).jerk) return {};
  // Measured for pairs alone, e = 0.1 to 0.99 and η = 0.005 to 0.02, after 50 to 2000 periods.
  const double loss = 3e-7 * std::pow(config.time.eta / 0.02, 2.5) / (1 - pair.eccentricity) * periods;
  if (loss <= tolerance) return {};
  return fmt::format(
      "in {:.2g} periods until the end their semi-major axis is wrong by some {:.2g} of itself; "
      "time.eta = {:.1g} keeps it to {}",
      periods, std::min(1.0, loss), config.time.eta * std::pow(tolerance / loss, 0.4), to_text(tolerance));
}

}  // namespace

bool looks_at_pairs(const RunConfig& config, std::int64_t count) {
  return !config.cosmology && !solver_entry(config.gravity.solver).can.smooths && count >= 2 && count <= most_particles;
}

std::string softened_pairs_remark(const RunConfig& config, const Particles& particles) {
  const auto& epsilon = config.gravity.softening.epsilon;
  double longest = 0;
  for (const std::uint8_t species : particles.species) longest = std::max(longest, epsilon[species]);
  if (longest == 0) return {};
  constexpr double too_short = 3;  // an axis of three softening lengths: the pull there is 0.85 of Newton's
  const double g = config.gravitational_constant();
  auto pairs = hardest_pairs(particles, g, std::max(soft_energy(particles), field_energy(particles, g)), most_pairs,
                             2 * too_short * longest);  // no pair is farther apart than two axes
  const auto softening = [&](const Pair& pair) {
    const auto of = [&](std::int64_t i) { return epsilon[particles.species[static_cast<std::size_t>(i)]]; };
    return std::max(of(pair.first), of(pair.second));
  };
  std::erase_if(pairs, [&](const Pair& pair) { return pair.orbit.semi_major_axis >= too_short * softening(pair); });
  if (pairs.empty()) return {};
  const Pair& hardest = pairs[0];
  const auto id = [&](std::int64_t i) { return particles.id[static_cast<std::size_t>(i)]; };
  return fmt::format(
      "{}gravity.softening = {:.3g} is too long for the orbit of particles {} and {} (a = {:.3g}, e = {:.3f}){}: such "
      "pairs widen or fall apart at once; gravity.softening = 0 with gravity.solver = \"direct\" follows them",
      remark_begins, softening(hardest), id(hardest.first), id(hardest.second), hardest.orbit.semi_major_axis,
      hardest.orbit.eccentricity,
      pairs.size() == most_pairs ? ", and for many more"
      : pairs.size() > 1         ? fmt::format(", and for {} more", pairs.size() - 1)
                                 : "");
}

bool watches_pairs(const RunConfig& config, std::int64_t count) {
  const auto& epsilon = config.gravity.softening.epsilon;
  return looks_at_pairs(config, count) && solver_entry(config.gravity.solver).cost == StepCost::pairs &&
         std::all_of(epsilon.begin(), epsilon.end(), [](double value) { return value == 0; });
}

std::vector<HardPair> find_hard_pairs(const RunConfig& config, const Particles& particles) {
  std::vector<HardPair> hard;
  for (const Pair& pair :
       hardest_pairs(particles, config.gravitational_constant(), soft_energy(particles), most_pairs)) {
    const auto i = static_cast<std::size_t>(pair.first), j = static_cast<std::size_t>(pair.second);
    hard.push_back({particles.id[i], particles.id[j], pair.binding_energy, pair.orbit.semi_major_axis,
                    pair.orbit.eccentricity, pair.orbit.period,
                    std::max({std::abs(particles.x[i]), std::abs(particles.y[i]), std::abs(particles.z[i])})});
  }
  return hard;
}

std::vector<Remark> hard_pair_remarks(const RunConfig& config, double start, const std::vector<HardPair>& pairs) {
  if (pairs.empty()) return {};
  const double length = config.length_between(start, config.run.end_time);
  std::vector<Remark> remarks{{LogLevel::info, fmt::format("{}the hardest are {}, {:.3g} periods until the end",
                                                           remark_begins, named(pairs[0]), length / pairs[0].period)}};
  for (const HardPair& pair : pairs) {
    const std::string why = cannot_follow(config, pair, length / pair.period);
    if (why.empty()) continue;
    remarks.push_back(
        {LogLevel::warning, fmt::format("{}the steps cannot follow {}: {}", remark_begins, named(pair), why)});
    break;
  }
  return remarks;
}

bool is_pair_remark(const Remark& remark) { return remark.text.starts_with(remark_begins); }

Check pair_energy_check(const RunConfig& config, const std::vector<HardPair>& pairs, const Particles& end,
                        double energy_change) {
  std::unordered_map<std::uint64_t, std::int64_t> place;
  for (std::size_t i = 0; i < end.id.size(); ++i) place[end.id[i]] = static_cast<std::int64_t>(i);
  double worst = 0;
  for (const HardPair& pair : pairs) {
    const auto first = place.find(pair.first), second = place.find(pair.second);
    if (first == place.end() || second == place.end()) continue;
    const Pair now = pair_orbit(end, first->second, second->second, config.gravitational_constant());
    const double change = std::abs(now.binding_energy - pair.binding_energy);
    worst = std::max(worst, std::min(change, std::abs(energy_change)) / pair.binding_energy);
  }
  return {"pair_energy_error", worst, 0, tolerance, worst <= tolerance};
}

}  // namespace pergola
