// A star cluster as people state it: half-mass radius, masses of stars at birth, primordial binaries, mass segregation,
// and a place and a velocity on its orbit.
//
// Steps: (1) masses of all systems, single stars or binaries, (2) their places and velocities: a Plummer or King sphere
// in equilibrium, drawn for each system, or for systems in the order of their masses from orbits in the order of their
// energies, (3) the centre of mass to rest, (4) the two stars of each binary about its centre, (5) all onto the orbit.
// Binaries stand first, their stars side by side.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <numeric>

#include "base/error.hpp"
#include "base/text.hpp"
#include "models/isotropic_sphere.hpp"
#include "models/mass_function.hpp"
#include "models/model_entry.hpp"
#include "models/sampling.hpp"
#include "physics/kepler.hpp"
#include "physics/stellar.hpp"

namespace pergola {

namespace {

/// Streams of random numbers beside that of places and velocities, which is 0.
constexpr std::uint32_t mass_stream = 1, binary_stream = 2, order_stream = 3, orbit_stream = 4;

/// A sphere in equilibrium with G = 1, in any units of its own.
struct ClusterProfile {
  double mass, half_mass_radius;
  std::function<PhaseSpacePoint(Philox&)> draw;
  std::function<double(double radius)> depth;  // of the potential, but for a constant
};

ClusterProfile plummer_profile() {
  constexpr double cutoff = 22.8;  // scale radii, as the model plummer has
  const double within = physics::plummer_mass_within(cutoff);
  return {1, physics::plummer_radius(0.5 * within), [=](Philox& random) { return draw_plummer_star(random, within); },
          [](double r) { return 1 / std::sqrt(1 + r * r); }};
}

/// The value at x between knots of rising x, along straight lines; beyond them that of the last knot.
double at_knots(const std::vector<double>& x_of, const std::vector<double>& value_of, double x) {
  const auto after = std::upper_bound(x_of.begin(), x_of.end(), x);
  if (after == x_of.begin()) return value_of.front();
  if (after == x_of.end()) return value_of.back();
  const auto k = static_cast<std::size_t>(after - x_of.begin());
  const double t = (x - x_of[k - 1]) / (x_of[k] - x_of[k - 1]);
  return value_of[k - 1] + t * (value_of[k] - value_of[k - 1]);
}

ClusterProfile king_profile(double w0) {
  const auto knots = std::make_shared<const SphereKnots>(king_sphere(w0));
  const auto sphere = std::make_shared<const IsotropicSphere>(*knots);
  return {sphere->mass(), sphere->radius_of(0.5 * sphere->mass()), [=](Philox& random) { return sphere->draw(random); },
          [=](double r) { return at_knots(knots->radius, knots->potential, r); }};
}

/// A single star, or a binary whose heavier star comes first.
struct StarSystem {
  double primary, secondary = 0;
  double mass() const { return primary + secondary; }
};

/// The unit of mass of the options in solar masses; without units 1.
double mass_unit_in_suns(const ModelInput& input) {
  return input.units().name == nbody_units().name ? 1 : input.units().mass_g / (solar_mass_kg * 1e3);
}

/// Limits that are not given are usual ones.
MassFunction mass_function(const ModelInput& input) {
  const auto limit = [&](const char* option, double usual) {
    const double given = input.number(option);
    return given > 0 ? given * mass_unit_in_suns(input) : usual;
  };
  const double low = limit("mass_low", 0.08), high = limit("mass_high", 100);
  const std::string& name = input.word("imf");
  if (name == "equal") return {name, 1, 1};
  if (!(low < high))
    throw Error(ErrorKind::input, fmt::format("{}: mass_high: expected more than mass_low, {} solar masses, found {}",
                                              input.model(), to_text(low), to_text(high)));
  return {name, low, high};
}

std::int64_t system_count(const ModelInput& input) {
  return std::llround(static_cast<double>(input.n()) / (1 + input.number("binary_fraction")));
}

/// The first of them are binaries. Masses are in the units of the input.
std::vector<StarSystem> make_systems(const ModelInput& input) {
  const MassFunction function = mass_function(input);
  const bool random_pairs = input.word("binary_masses") == "random";
  const std::int64_t count = system_count(input), binaries = input.n() - count;
  std::vector<StarSystem> systems(static_cast<std::size_t>(count));
  double total = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Philox random(input.seed(), mass_stream, static_cast<std::uint64_t>(i));
    StarSystem& one = systems[static_cast<std::size_t>(i)];
    one.primary = function.draw(random);
    if (i < binaries) {
      const double even = function.low() + random.uniform() * (one.primary - function.low());
      one.secondary = random_pairs ? function.draw(random) : even;
      if (one.secondary > one.primary) std::swap(one.primary, one.secondary);
    }
    total += one.mass();
  }
  const bool has_units = input.units().name != nbody_units().name;
  const double given = input.number("mass");
  const double factor = given > 0 ? given / total : !has_units ? 1 / total : solar_mass_kg * 1e3 / input.units().mass_g;
  for (StarSystem& one : systems) one.primary *= factor, one.secondary *= factor;
  return systems;
}

/// Numbers of which any may be taken out; finds the k-th of those left. Fenwick 1994.
class NumbersLeft {
 public:
  explicit NumbersLeft(std::size_t count) : sums_(count + 1), step_(1) {
    for (std::size_t i = 1; i <= count; ++i) sums_[i] = i & (~i + 1);
    while (2 * step_ <= count) step_ *= 2;
  }
  std::size_t take(std::size_t k) {
    std::size_t place = 0;
    for (std::size_t step = step_; step > 0; step /= 2)
      if (place + step < sums_.size() && sums_[place + step] <= k) k -= sums_[place += step];
    for (std::size_t i = place + 1; i < sums_.size(); i += i & (~i + 1)) --sums_[i];
    return place;
  }

 private:
  std::vector<std::size_t> sums_;
  std::size_t step_;
};

/// The order in which systems get orbits of rising energy. Of the n that are left, heaviest first, the next is number
/// n (1 − X^(1 − S)) with X uniform: for S = 1 the heaviest, for S = 0 any. Küpper et al. 2011, MNRAS 417, 2300.
std::vector<std::size_t> segregated_order(const std::vector<StarSystem>& systems, double segregation,
                                          std::uint64_t seed) {
  std::vector<std::size_t> heaviest(systems.size()), order;
  std::iota(heaviest.begin(), heaviest.end(), std::size_t{0});
  std::stable_sort(heaviest.begin(), heaviest.end(),
                   [&](std::size_t a, std::size_t b) { return systems[a].mass() > systems[b].mass(); });
  NumbersLeft left(systems.size());
  for (std::size_t n = systems.size(); n > 0; --n) {
    const double x = Philox(seed, order_stream, n).uniform();
    const auto k = static_cast<std::size_t>(static_cast<double>(n) * (1 - std::pow(x, 1 - segregation)));
    order.push_back(heaviest[left.take(std::min(k, n - 1))]);
  }
  return order;
}

/// Which orbit each system is on, so that the density of mass is that of the profile whatever the order. Of many orbits
/// in the order of their energies a system takes one among those that its part of the mass covers. Baumgardt, De Marchi
/// & Kroupa 2008, ApJ 685, 247, section 2.2.
std::vector<std::uint64_t> segregated_orbits(const ModelInput& input, const std::vector<StarSystem>& systems,
                                             const ClusterProfile& profile) {
  double total = 0, least = systems[0].mass();
  for (const StarSystem& one : systems) total += one.mass(), least = std::min(least, one.mass());
  const auto count = static_cast<std::size_t>(std::ceil(total / least)) + 1;
  check_memory(static_cast<std::int64_t>(count));
  std::vector<double> energy(count);
  parallel_chunks(input.threads(), static_cast<std::int64_t>(count), sum_chunk,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) {
                      Philox random(input.seed(), 0, static_cast<std::uint64_t>(i));
                      const PhaseSpacePoint p = profile.draw(random);
                      energy[static_cast<std::size_t>(i)] = dot(p.v, p.v) / 2 - profile.depth(std::sqrt(dot(p.x, p.x)));
                    }
                  });
  std::vector<std::uint64_t> by_energy(count), orbits(systems.size());
  std::iota(by_energy.begin(), by_energy.end(), std::uint64_t{0});
  std::stable_sort(by_energy.begin(), by_energy.end(),
                   [&](std::uint64_t a, std::uint64_t b) { return energy[a] < energy[b]; });
  double below = 0;
  std::size_t next = 0;  // the first orbit beyond those of the systems before
  const std::vector<std::size_t> order = segregated_order(systems, input.number("segregation"), input.seed());
  for (std::size_t k = 0; k < order.size(); ++k) {
    below += systems[order[k]].mass();
    const auto covered = static_cast<std::size_t>(std::ceil(below / total * static_cast<double>(count)));
    // Each later system needs an orbit too.
    const std::size_t end = std::clamp(covered, next + 1, count - (order.size() - 1 - k));
    const double x = Philox(input.seed(), orbit_stream, k).uniform();
    orbits[order[k]] = by_energy[next + static_cast<std::size_t>(x * static_cast<double>(end - next))];
    next = end;
  }
  return orbits;
}

/// Places and velocities of all systems as particles, about the centre of mass at rest.
Particles place_systems(const ModelInput& input, const std::vector<StarSystem>& systems) {
  const ClusterProfile profile = input.word("profile") == "king" ? king_profile(input.number("w0")) : plummer_profile();
  std::vector<std::uint64_t> orbits;
  if (input.number("segregation") > 0) orbits = segregated_orbits(input, systems, profile);
  Particles particles = equal_masses(static_cast<std::int64_t>(systems.size()), 1);
  double total = 0;
  for (std::size_t i = 0; i < systems.size(); ++i) total += particles.mass[i] = systems[i].mass();
  const double length = input.number("half_mass_radius") / profile.half_mass_radius;
  const double speed = std::sqrt(input.gravitational_constant() * total / (profile.mass * length));
  parallel_chunks(input.threads(), particles.size(), sum_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      Philox random(input.seed(), 0, orbits.empty() ? i : orbits[i]);
      const PhaseSpacePoint p = profile.draw(random);
      particles.x[i] = length * p.x.x, particles.y[i] = length * p.x.y, particles.z[i] = length * p.x.z;
      particles.vx[i] = speed * p.v.x, particles.vy[i] = speed * p.v.y, particles.vz[i] = speed * p.v.z;
    }
  });
  centre(particles, input.threads());
  return particles;
}

/// Draws the orbits of binaries.
class BinaryOrbits {
 public:
  BinaryOrbits(const ModelInput& input, std::int64_t systems)
      : periods_(input.word("binary_periods")),
        eccentricities_(input.word("binary_eccentricities")),
        model_(input.model()),
        low_(input.number("binary_axis_low")),
        high_(input.number("binary_axis_high")),
        g_(input.gravitational_constant()) {
    const UnitSystem& units = input.units();
    if (periods_ != "opik") {
      if (units.name == nbody_units().name)
        refuse("binary_periods", "opik, as no units are stated in which a day has a length", periods_);
      constexpr double day_s = 86400;
      day_ = day_s * units.velocity_cm_per_s / units.length_cm;
    }
    if (high_ == 0) {
      // The mean distance of systems within the half-mass radius.
      const double volume = 4 * std::numbers::pi / 3 * std::pow(input.number("half_mass_radius"), 3);
      high_ = std::cbrt(volume / (0.5 * static_cast<double>(systems)));
    }
    if (periods_ == "opik" && !(low_ > 0)) refuse("binary_axis_low", "a length > 0 with opik", to_text(low_));
    if (!(low_ < high_)) refuse("binary_axis_low", "less than binary_axis_high, " + to_text(high_), to_text(low_));
  }

  /// The second star as seen from the first, at any phase, in an orbit of any direction.
  PhaseSpacePoint draw(const StarSystem& binary, Philox& random) const {
    const double mu = g_ * binary.mass(), a = draw_axis(mu, random), e = draw_eccentricity(random);
    const double phase = 2 * std::numbers::pi * random.uniform();
    const auto state = physics::kepler_ellipse_state(mu, a, e, physics::kepler_eccentric_anomaly(phase, e));
    const Vec3<double> pole = random_direction(random), other = random_direction(random);
    Vec3<double> x = cross(pole, other);
    x = (1 / std::sqrt(dot(x, x))) * x;
    const Vec3<double> y = cross(pole, x);
    return {state.x.x * x + state.x.y * y, state.v.x * x + state.v.y * y};
  }

 private:
  [[noreturn]] void refuse(const char* option, const std::string& expected, const std::string& found) const {
    throw Error(ErrorKind::input, fmt::format("{}: {}: expected {}, found {}", model_, option, expected, found));
  }

  double draw_log_period(Philox& random) const {
    if (periods_ == "kroupa") return physics::kroupa_log_period(random.uniform());
    const bool raghavan = periods_ == "raghavan";
    return (raghavan ? physics::raghavan_mean : physics::duquennoy_mean) +
           (raghavan ? physics::raghavan_deviation : physics::duquennoy_deviation) * random_normal(random);
  }

  /// Draws until the axis lies between the limits.
  double draw_axis(double mu, Philox& random) const {
    if (periods_ == "opik") return low_ * std::pow(high_ / low_, random.uniform());
    constexpr int most = 100000;
    for (int k = 0; k < most; ++k) {
      const double a = physics::kepler_semi_major_axis(mu, day_ * std::pow(10, draw_log_period(random)));
      if (low_ <= a && a <= high_) return a;
    }
    refuse("binary_axis_high", "limits between which periods of " + periods_ + " lie", to_text(high_));
  }

  double draw_eccentricity(Philox& random) const {
    const double u = random.uniform();
    return eccentricities_ == "thermal" ? std::sqrt(u) : eccentricities_ == "uniform" ? u : 0;
  }

  std::string periods_, eccentricities_, model_;
  double low_, high_, g_, day_ = 0;
};

/// The stars of all systems: two for each binary.
Particles resolved(const ModelInput& input, const std::vector<StarSystem>& systems, const Particles& centres) {
  Particles stars = equal_masses(input.n(), 1);
  const std::size_t binaries = static_cast<std::size_t>(input.n()) - systems.size();
  const auto put = [&](std::size_t star, std::size_t system, double mass, const PhaseSpacePoint& by, double part) {
    stars.mass[star] = mass;
    stars.x[star] = centres.x[system] + part * by.x.x, stars.vx[star] = centres.vx[system] + part * by.v.x;
    stars.y[star] = centres.y[system] + part * by.x.y, stars.vy[star] = centres.vy[system] + part * by.v.y;
    stars.z[star] = centres.z[system] + part * by.x.z, stars.vz[star] = centres.vz[system] + part * by.v.z;
  };
  for (std::size_t i = binaries; i < systems.size(); ++i) put(i + binaries, i, systems[i].primary, {}, 0);
  if (binaries == 0) return stars;
  const BinaryOrbits orbits(input, static_cast<std::int64_t>(systems.size()));
  parallel_chunks(input.threads(), static_cast<std::int64_t>(binaries), sum_chunk,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
                      Philox random(input.seed(), binary_stream, i);
                      const StarSystem& pair = systems[i];
                      const PhaseSpacePoint apart = orbits.draw(pair, random);
                      put(2 * i, i, pair.primary, apart, -pair.secondary / pair.mass());
                      put(2 * i + 1, i, pair.secondary, apart, pair.primary / pair.mass());
                    }
                  });
  return stars;
}

Particles make_cluster(const ModelInput& input) {
  const std::vector<StarSystem> systems = make_systems(input);
  Particles stars = resolved(input, systems, place_systems(input, systems));
  shift(stars, {{input.number("x"), input.number("y"), input.number("z")},
                {input.number("vx"), input.number("vy"), input.number("vz")}});
  return stars;
}

/// Nothing where binaries, whose phases are drawn, hold most of the energy. Few heavy stars make noise: with stars of
/// Kroupa's masses the ratio scatters by a third of √(⟨m²⟩/(n ⟨m⟩²)) from seed to seed.
std::vector<Expectation> expect_cluster(const ModelInput& input) {
  if (input.number("binary_fraction") > 0) return {};
  const MassFunction function = mass_function(input);
  const double heavier = function.mean_power(2) / std::pow(function.mean_power(1), 2);
  return {{"virial_ratio", 0.5, std::max(0.05, std::sqrt(heavier / static_cast<double>(input.n())))}};
}

std::vector<ModelOption> cluster_options() {
  const Range above_0 = Range::above(0), at_least_0 = Range::at_least(0);
  std::vector<ModelOption> options{
      {"profile", std::string("plummer"), "of the density of mass", {}, {"plummer", "king"}},
      {"w0",
       6.0,
       "king: central depth of the potential",
       Range::between(0.1, 16),
       {},
       false,
       dimension::none,
       OptionValue{"profile", std::string("king")}},
      {"half_mass_radius", 1.0, "of all mass", above_0, {}, false, dimension::length},
      {"imf",
       std::string("kroupa"),
       "masses of stars at birth: kroupa (2001), salpeter (1955), or equal: 1 solar mass",
       {},
       {"kroupa", "salpeter", "equal"}},
      {"mass_low", 0.0, "of the lightest star; 0: 0.08 solar masses", at_least_0, {}, false, dimension::mass},
      {"mass_high", 0.0, "of the heaviest star; 0: 100 solar masses", at_least_0, {}, false, dimension::mass},
      {"mass",
       0.0,
       "of all stars, whose masses are scaled to it; 0: as they are drawn, 1 without units",
       at_least_0,
       {},
       false,
       dimension::mass},
      {"segregation",
       0.0,
       "of masses at the start: 0 none, 1 the heaviest on the tightest orbits",
       Range::between(0, 1),
       {}},
      {"binary_fraction", 0.0, "binaries in all systems; n counts stars", Range::between(0, 1), {}},
      {"binary_periods",
       std::string("raghavan"),
       "raghavan (2010), duquennoy-mayor (1991), kroupa (1995, at birth), or opik: even in the logarithm of the axis",
       {},
       {"raghavan", "duquennoy-mayor", "kroupa", "opik"}},
      {"binary_masses",
       std::string("uniform"),
       "of the second star: uniform from mass_low to the first's, or random: as the first",
       {},
       {"uniform", "random"}},
      {"binary_eccentricities",
       std::string("thermal"),
       "thermal: f(e) = 2 e (Jeans 1919), uniform or circular",
       {},
       {"thermal", "uniform", "circular"}},
      {"binary_axis_low", 0.0, "smallest semi-major axis", at_least_0, {}, false, dimension::length},
      {"binary_axis_high",
       0.0,
       "largest semi-major axis; 0: the mean distance of systems within the half-mass radius",
       at_least_0,
       {},
       false,
       dimension::length}};
  for (const char* name : {"x", "y", "z"})
    options.push_back({name, 0.0, "of the centre, on its orbit", {}, {}, false, dimension::length});
  for (const char* name : {"vx", "vy", "vz"})
    options.push_back({name, 0.0, "of the centre", {}, {}, false, dimension::velocity});
  return options;
}

}  // namespace

ModelEntry cluster_model() {
  ModelInfo info{"cluster", "a star cluster: masses at birth, primordial binaries, mass segregation, on its orbit",
                 1000, true, cluster_options()};
  info.min_n = 2;
  info.units = "stellar";
  return {.info = info, .make = make_cluster, .expectations = expect_cluster};
}

}  // namespace pergola
