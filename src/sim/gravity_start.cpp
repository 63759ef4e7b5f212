// The start of a run under gravity: see the header. Each part stands by itself.
#include "sim/gravity_start.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "analysis/shown_potential.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "base/vec.hpp"
#include "config/file_units.hpp"
#include "domain/share_source.hpp"
#include "gravity/solver_entry.hpp"
#include "particles/particle_source.hpp"
#include "physics/cosmology.hpp"

namespace pergola {

// In open space an expanding universe needs the mean density taken off: its pull is that of a homogeneous sphere.
ExternalPotential homogeneous_background(const RunConfig& config) {
  ExternalPotential background;
  background.kind = physics::ExternalKind::homogeneous;
  background.density = -physics::mean_density(*config.background(), config.gravitational_constant());
  return background;
}

namespace {

/// Relative difference of the mean density that a box may have from omega_matter.
constexpr double same_matter = 5e-3;

/// Files of GADGET's binary formats, and many others, state no units: those in which the masses would fit.
std::string units_that_fit(const RunConfig& config, double density) {
  if (config.unit_system().name != nbody_units().name) return {};
  for (const char* name : {"cosmology", "gadget"}) {
    RunConfig other = config;
    other.units.system = name;
    if (std::abs(density / physics::mean_density(*other.background(), other.gravitational_constant()) - 1) <=
        same_matter)
      return fmt::format("; no units are stated, with units.system = \"{}\" they fit", name);
  }
  return {};
}

}  // namespace

// Refuses (1) a start at scale factor 0 or a redshift before it, (2) a periodic file in an open solver, (3) a mean
// density that is not that of omega_matter.
void check_universe(const RunConfig& config, const SolverOptions& gravity, ParticleSource& particles,
                    double scale_factor, double stated_side) {
  if (!(scale_factor > 0))
    throw Error(ErrorKind::input,
                fmt::format("{}: [cosmology]: expected particles at a scale factor > 0, the Time of their file or that "
                            "of the model cosmology, found {} at time {}",
                            config.source, particles.name(), to_text(scale_factor)));
  for (const double redshift : config.output.redshifts)
    if ((1 + redshift) * scale_factor > 1 + 1e-9)
      throw Error(ErrorKind::input,
                  fmt::format("{}: output.redshifts: expected at most that of {}, {:.6g}, found {}", config.source,
                              particles.name(), 1 / scale_factor - 1, to_text(redshift)));
  const Box box = box_of(gravity);
  if (!box.periodic()) {
    if (stated_side > 0)
      throw Error(
          ErrorKind::input,
          fmt::format("{}: gravity.solver: expected a periodic box (tree, treepm or mesh) for [cosmology] and {}, "
                      "which states one of side {}, found {} in open space",
                      config.source, particles.name(), to_text(stated_side), gravity.solver));
    return;
  }
  const auto background = *config.background();
  const double expected = physics::mean_density(background, gravity.gravitational_constant);
  const double found = total_mass(particles) / (box.side.x * box.side.y * box.side.z);
  if (std::abs(found / expected - 1) > same_matter)
    throw Error(ErrorKind::input,
                fmt::format("{}: cosmology.omega_matter: expected {:.5g}, that of the masses of {} in a box of {} with "
                            "these units, found {}{}",
                            config.source, background.omega_matter * found / expected, particles.name(),
                            to_text(box.side.x), to_text(background.omega_matter), units_that_fit(config, found)));
}

// A shared step that is less than the last bit of the time would never advance it.
void check_shared_step(const RunConfig& config, double start, const char* key, double step) {
  const auto inner = [&](double at) { return std::abs(config.cosmology ? std::log(at) : at); };
  const double largest =
      std::max({inner(start), inner(config.run.end_time), config.length_between(start, config.run.end_time)});
  // Times are doubles, of 53 bits; steps are counted with as many.
  const double least = std::ldexp(largest, -53);
  if (!(step > 0) || step > least) return;
  throw Error(ErrorKind::input,
              fmt::format("{}: {}: expected more than {:.3g}, for shorter steps do not change the time of a run to {}, "
                          "found {}",
                          config.source, key, least, to_text(config.run.end_time), to_text(step)));
}

namespace {

/// All of a few thousand particles, else so many in ranges from all parts of the input.
struct SomeParticles {
  Particles particles;
  std::int64_t of = 0, range = 0;  // all particles; those of a range

  bool all() const { return particles.size() == of; }
  double share() const { return static_cast<double>(of) / static_cast<double>(particles.size()); }
};

/// The ranges lie in the middles of the parts: a reader that checks particles when it reads the first of them is left
/// alone.
SomeParticles some_of(ParticleSource& particles, std::int64_t most = 4096) {
  constexpr std::int64_t ranges = 64;
  const std::int64_t n = particles.count(), parts = n > most ? ranges : 1, each = std::min(n, most) / parts;
  SomeParticles some{{}, n, each};
  Particles piece;
  for (std::int64_t k = 0; k < parts; ++k) {
    particles.read(n / parts * k + (n / parts - each) / 2, each, piece);
    some.particles.append(piece);
  }
  return some;
}

/// The value that half of the weight is below.
double median(const std::vector<double>& values, const std::vector<double>& weights) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  double below = 0;
  for (const std::size_t k : order)
    if ((below += weights[k]) >= 0.5 * all) return values[k];
  return values.empty() ? 0 : values[order.back()];
}

/// About the medians of the coordinates, which no single particle moves.
double radius_about_medians(const Particles& particles) {
  const std::array<const std::vector<double>*, 3> places{&particles.x, &particles.y, &particles.z};
  std::vector<double> square(particles.x.size(), 0);
  for (const auto* values : places) {
    const double middle = median(*values, particles.mass);
    for (std::size_t k = 0; k < square.size(); ++k) square[k] += ((*values)[k] - middle) * ((*values)[k] - middle);
  }
  return std::sqrt(median(square, particles.mass));
}

}  // namespace

DeviceNeed device_need(Integrator& integrator, const SolverOptions& gravity, const Device& device, std::int64_t n) {
  DeviceNeed need{integrator.device_bytes(n), 0};
  if (device.is_cuda())
    need.energies = shown_energy_bytes(*integrator.show(integrator.time()), gravity, n) + integrator.idle_bytes(n);
  return need;
}

// Compares the half-mass radius about the medians with a cell of the mesh.
std::string crowded_mesh_remark(const SolverOptions& gravity, ParticleSource& particles) {
  constexpr std::int64_t fewest = 16;  // fewer have no half-mass radius to speak of
  if (!solver_entry(gravity.solver).can.smooths || box_of(gravity).periodic() || particles.count() < fewest) return {};
  const Vec3<double>& side = gravity.mesh.box.side;
  const auto& cells = gravity.mesh.cells;
  const double cell = std::max({side.x / cells[0], side.y / cells[1], side.z / cells[2]});
  const double radius = radius_about_medians(some_of(particles).particles);
  // Pulls of a mesh are too weak within about two cells: then half of the mass hardly pulls itself.
  if (radius >= cell) return {};
  return fmt::format(
      "gravity.mesh.cells: half of the mass lies within {:.3g}, less than a cell of {:.3g}: the mesh does not resolve "
      "it; use more cells, or leave out what is far away and makes the box {:.3g} wide, or gravity.solver = \"tree\"",
      radius, cell, std::max({side.x, side.y, side.z}));
}

namespace {

/// 2T, about the mean velocity.
double twice_kinetic(const Particles& p) {
  double mass = 0, square = 0;
  Vec3<double> momentum{0, 0, 0};
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    const Vec3<double> v{p.vx[i], p.vy[i], p.vz[i]};
    mass += p.mass[i], momentum = momentum + p.mass[i] * v, square += p.mass[i] * dot(v, v);
  }
  const double about_mean = mass > 0 ? square - dot(momentum, momentum) / mass : 0;
  return about_mean > 1e-12 * square ? about_mean : 0;  // else of rounding
}

/// |W|/G of all particles. Neighbours in the input may be neighbours in space, so pairs of a sample are of two ranges;
/// their mean of 1/r stands for that of all.
double pair_sum(const SomeParticles& some) {
  const Particles& p = some.particles;
  const std::size_t n = p.x.size(), range = some.all() ? 1 : static_cast<std::size_t>(some.range);
  double pairs = 0, masses = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = (i / range + 1) * range; j < n; ++j) {
      const double x = p.x[j] - p.x[i], y = p.y[j] - p.y[i], z = p.z[j] - p.z[i], product = p.mass[i] * p.mass[j];
      const double distance = std::sqrt(x * x + y * y + z * z);
      masses += product;
      if (distance > 0) pairs += product / distance;
    }
  if (some.all() || !(masses > 0)) return pairs;
  const double mass = some.share() * std::accumulate(p.mass.begin(), p.mass.end(), 0.0);
  return pairs / masses * mass * mass / 2;
}

/// A sample says nothing of a system with a few heavy particles.
bool stands_for_all(const SomeParticles& some, ParticleSource& particles) {
  if (some.all()) return true;
  const auto& mass = some.particles.mass;
  const double expected = total_mass(particles), found = some.share() * std::accumulate(mass.begin(), mass.end(), 0.0);
  return std::abs(found / expected - 1) < 0.2;
}

/// With fewer than 16 particles there is no half of the mass to speak of.
void find_crossing(const SomeParticles& some, const SolverOptions& gravity, StartLook& look) {
  const Particles& p = some.particles;
  const double mass = some.share() * std::accumulate(p.mass.begin(), p.mass.end(), 0.0);
  if (p.size() < 16 || !(mass > 0)) return;
  look.radius = radius_about_medians(p);
  if (!(look.radius > 0)) return;
  const double rms = std::sqrt(some.share() * twice_kinetic(p) / mass);
  const double circular = std::sqrt(gravity.gravitational_constant * mass / 2 / look.radius);
  look.crossing_time = 2 * look.radius / std::max(rms, circular);
  look.softening = gravity.softening.epsilon[p.species[0]];
  for (const std::uint8_t species : p.species)
    look.softening = std::min(look.softening, gravity.softening.epsilon[species]);
}

bool is_outside(double virial_ratio) {
  return virial_ratio > 0 && (virial_ratio < least_virial_ratio || virial_ratio > most_virial_ratio);
}

/// The system of units in which 2T/|W| is nearest to 1. `with_one`: its value for G = 1.
UnitSystem nearest_units(double with_one) {
  const auto far = [with_one](const UnitSystem& units) {
    return std::abs(std::log(with_one / units.gravitational_constant));
  };
  UnitSystem nearest = gadget_units();
  for (const UnitSystem& units : unit_systems())
    if (units.name != nbody_units().name && far(units) < far(nearest)) nearest = units;
  return is_outside(with_one / nearest.gravitational_constant) ? gadget_units() : nearest;
}

}  // namespace

StartLook look_at_start(const RunConfig& config, const SolverOptions& gravity, ParticleSource& particles) {
  StartLook look;
  if (config.cosmology || box_of(gravity).periodic() || !gravity.external.empty() || !gravity.user_forces.empty() ||
      particles.device_source())
    return look;
  constexpr std::int64_t most = 2048;  // of whose pairs the sum takes some ten milliseconds
  const SomeParticles some = some_of(particles, most);
  if (!solver_entry(gravity.solver).can.smooths) find_crossing(some, gravity, look);
  const double kinetic = some.share() * twice_kinetic(some.particles);
  const double potential = gravity.gravitational_constant * pair_sum(some);
  if (!(kinetic > 0) || !(potential > 0) || !std::isfinite(kinetic / potential)) return look;
  look.virial_ratio = kinetic / potential;
  if (!is_outside(look.virial_ratio)) return look;
  if (!stands_for_all(some, particles)) {
    look.virial_ratio = 0;
    return look;
  }
  const std::vector<std::string> files = files_without_units(config);
  if (files.empty()) return look;
  const UnitSystem nearest = nearest_units(look.virial_ratio);
  throw Error(
      ErrorKind::input,
      fmt::format("{}: particles.file: expected 2T/|W| from {} to {} with G = 1, for {} states no units, found "
                  "{:.3g}; state them: [units] system = \"{}\" ({}) makes it {:.3g}, \"nbody\" is G = 1",
                  config.source, to_text(least_virial_ratio), to_text(most_virial_ratio), files[0], look.virial_ratio,
                  nearest.name, unit_system_help(nearest.name), look.virial_ratio / nearest.gravitational_constant));
}

std::string start_remark(const StartLook& look, double step, double length) {
  // A quarter of a crossing time cannot be one step; a run of a hundredth of it may.
  const bool once = step >= length && length > 0.01 * look.crossing_time;
  std::vector<std::string> odd;
  if (is_outside(look.virial_ratio))
    odd.push_back(fmt::format("2T/|W| is {:.3g}, and about 1 for what holds together", look.virial_ratio));
  if (look.crossing_time > 0 && step > 0 && (once || step > look.crossing_time / 4))
    odd.push_back(fmt::format("the shortest step is {:.3g}{}, and {:.3g} the crossing time", step,
                              once ? ", the whole run" : "", look.crossing_time));
  if (look.radius > 0 && look.softening > look.radius)
    odd.push_back(fmt::format("gravity.softening is {:.3g}, and half of the mass lies within {:.3g}", look.softening,
                              look.radius));
  if (odd.empty()) return {};
  return fmt::format("the start makes little sense: {}; are [units], softening and steps meant so?",
                     fmt::join(odd, "; "));
}

namespace {

constexpr const char* made_on_name = "made_on";

/// Particles that can be made on a device, with a note of whether they were, and how long it took.
class NotedSource final : public DeviceSource {
 public:
  NotedSource(DeviceSource& source, Profile* profile) : source_(source), profile_(profile) {}
  bool was_made() const { return was_made_; }

  std::int64_t count() const override { return source_.count(); }
  std::string name() const override { return source_.name(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override { source_.read(first, n, to); }
  bool put(const Device& device, double factor, const AnyDeviceArrays& to, Portion portion) override {
    Profile::Scope scope(profile_, "initial conditions");
    return was_made_ = source_.put(device, factor, to, portion);
  }
  void let_go() override { source_.let_go(); }
  double box_side() const override { return source_.box_side(); }
  double total_mass() const override { return source_.total_mass(); }

 private:
  DeviceSource& source_;
  Profile* profile_;
  bool was_made_ = false;
};

}  // namespace

bool start_noted(Integrator& integrator, ParticleSource& particles, double at, Profile* profile) {
  DeviceSource* const made = particles.device_source();
  if (!made) {
    integrator.start(particles, at);
    return false;
  }
  NotedSource noted(*made, profile);
  integrator.start(noted, at);
  return noted.was_made();
}

void put_box(StateSource& to, const Box& box) {
  to.put("box.corner", std::vector<double>{box.corner.x, box.corner.y, box.corner.z});
  to.put("box.side", std::vector<double>{box.side.x, box.side.y, box.side.z});
  to.put_value("box.periodic", static_cast<std::uint8_t>(box.periodic()));
}

Box get_box(StateInput& state) {
  const auto corner = state.get<double>("box.corner", 3), side = state.get<double>("box.side", 3);
  return {{corner[0], corner[1], corner[2]},
          {side[0], side[1], side[2]},
          state.get_value<std::uint8_t>("box.periodic") ? Boundary::periodic : Boundary::isolated};
}

void put_made_on(StateSource& to, const std::string& device) {
  if (!device.empty()) to.put(made_on_name, std::vector<char>(device.begin(), device.end()));
}

std::string get_made_on(StateInput& state) {
  if (!state.has(made_on_name)) return {};
  const auto letters = state.get<char>(made_on_name, static_cast<std::int64_t>(state.bytes(made_on_name)));
  return {letters.begin(), letters.end()};
}

}  // namespace pergola
