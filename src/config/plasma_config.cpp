// [plasma] in units of computation; its defaults that depend on other keys, and the combinations that are refused.
#include "config/plasma_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "config/keys.hpp"
#include "physics/yee.hpp"
#include "plasma/field.hpp"

namespace pergola {

/// Lengths of computation are cells, times 1/ω_p. In SI both follow from the cell in metres and the first density.
PlasmaUnits PlasmaConfig::units() const {
  PlasmaUnits units;
  units.lengths = lengths;
  units.dimensions = dimensions();
  units.cell = cell_size;
  if (lengths == PlasmaLengths::debye) units.cell_m *= cell_size;
  if (lengths == PlasmaLengths::si) {
    units.cell_m = cell_size;
    units.omega_p_per_s = plasma_frequency_per_s(species.front().density);
  }
  return units;
}

/// `file` is the factor from computation to the file's units; here numbers go the other way.
PlasmaOptions PlasmaConfig::options() const {
  const PlasmaUnits in = units();
  PlasmaOptions options;
  options.dimensions = dimensions();
  for (std::size_t a = 0; a < cells.size(); ++a) options.cells[a] = cells[a];
  options.velocities = velocities;
  options.field = field;
  options.light_speed = light_speed / in.velocity().file;
  options.pusher = pusher;
  std::copy_n(edges.begin(), std::min(edges.size(), options.edges.size()), options.edges.begin());
  options.absorbing_cells = absorbing_cells;
  for (PlasmaLaser laser : lasers) {
    for (double* const length : {&laser.wavelength, &laser.waist, &laser.focus, &laser.x, &laser.y, &laser.z})
      *length /= in.length().file;
    for (double* const time : {&laser.duration, &laser.delay}) *time /= in.time().file;
    options.lasers.push_back(laser);
  }
  options.shape = shape;
  options.smoothing = smoothing / in.length().file;
  options.magnetic_field = (1 / in.magnetic_field().file) * magnetic_field;
  options.background = background;
  for (const auto& one : species)
    options.species.push_back({one.name, one.charge, one.mass, loaded_weight(options, load(one))});
  return options;
}

bool PlasmaConfig::has_light() const {
  PlasmaOptions options;
  options.field = field;
  return plasma_field_entry(options).deposits == PlasmaDeposit::charge_and_current;
}

PlasmaLoad PlasmaConfig::load(const PlasmaSpeciesConfig& one) const {
  using Scale = PlasmaSpeciesConfig::Scale;
  const PlasmaUnits in = units();
  const double length = 1 / in.length().file, velocity = 1 / in.velocity().file;
  // (k_B T/m_e) in the file's velocity squared, for a temperature of 1 as the file gives it.
  const double per_unit = one.temperature_scale == Scale::own             ? 1
                          : one.temperature_scale == Scale::electron_volt ? elementary_charge_c / electron_mass_kg
                                                                          : boltzmann_j_per_k / electron_mass_kg;
  const auto thermal = [&](double t) { return one.cold ? 0 : std::sqrt(t * per_unit / one.mass) * velocity; };
  PlasmaLoad load;
  load.density = one.density / (in.si() ? species.front().density : 1);
  load.particles_per_cell = one.particles_per_cell;
  load.thermal = {thermal(one.temperature.x), thermal(one.temperature.y), thermal(one.temperature.z)};
  load.drift = velocity * one.drift;
  load.quiet = one.start == "quiet";
  load.profile = one.profile;
  load.profile.centre *= length;
  load.profile.width *= length;
  load.perturbation = one.perturbation;
  if (one.perturbation.kind == PlasmaPerturbation::Kind::velocity) load.perturbation.amplitude *= velocity;
  return load;
}

const std::vector<std::string>& plasma_measure_names() {
  static const std::vector<std::string> names{"frequency", "growth_rate", "damping_rate", "field_energy"};
  return names;
}

namespace {

constexpr double light_m_per_s = 299792458;

/// Sets defaults of [plasma] that depend on other keys, and refuses combinations that make no sense.
struct Completion {
  RunConfig& config;
  const FindValue& find;
  PlasmaConfig& plasma = config.plasma;

  [[noreturn]] void refuse_key(const std::string& key, const std::string& why) const {
    const ConfigValue* value = find(key);
    throw Error(ErrorKind::input, fmt::format("{}: {}: {}", value ? value->where() : config.source, key, why));
  }
  [[noreturn]] void refuse_species(std::size_t k, const std::string& key, const std::string& why) const {
    throw Error(ErrorKind::input, fmt::format("{}: plasma.species[{}].{}: {}", plasma.species[k].where, k, key, why));
  }
  bool si() const { return config.units.system == "si"; }

  /// Lengths and cells must say in which unit they are.
  void units() const {
    if (!find("units.system")) config.units.system = "plasma";
    const std::string& system = config.units.system;
    if (system != "plasma" && system != "si")
      refuse_key("units.system", fmt::format("expected plasma or si for a run with [plasma], found \"{}\"", system));
    if (!find("plasma.lengths")) plasma.lengths = si() ? PlasmaLengths::si : PlasmaLengths::cells;
    if (si() && plasma.lengths != PlasmaLengths::si)
      refuse_key("plasma.lengths", "with units.system = \"si\" lengths are in metres; leave this key out");
    if (!si() && plasma.lengths == PlasmaLengths::si) refuse_key("plasma.lengths", "si needs units.system = \"si\"");
    if (plasma.lengths == PlasmaLengths::cells && plasma.cell_size != 1)
      refuse_key("plasma.cell_size",
                 fmt::format("expected 1 with lengths in cells, found {}; for lengths in Debye lengths set "
                             "plasma.lengths = \"debye\"",
                             to_text(plasma.cell_size)));
    if (plasma.lengths != PlasmaLengths::cells && !find("plasma.cell_size"))
      refuse_key("plasma.cell_size", si() ? "expected the side of a cell in metres, found none"
                                          : "expected the side of a cell in Debye lengths, found none");
  }

  /// Light has a speed, and moves less than the grid can follow in a step.
  void light() const {
    const bool light = plasma.has_light();
    const std::pair<const char*, bool> of_light[] = {{"plasma.light_speed", plasma.light_speed != 0},
                                                     {"plasma.pusher", plasma.pusher != PlasmaPusher::boris},
                                                     {"plasma.edges", !plasma.edges.empty()},
                                                     {"plasma.lasers", !plasma.lasers.empty()}};
    for (const auto& [key, asked_for] : of_light)
      if (!light && asked_for)
        refuse_key(key, fmt::format("the {} field knows no light; leave this key out", plasma.field));
    if (!light) return;
    if (si() && !find("plasma.light_speed")) plasma.light_speed = light_m_per_s;
    if (plasma.light_speed == 0) refuse_key("plasma.light_speed", "expected the speed of light, found none");
    if (plasma.velocities != 3) refuse_key("plasma.velocities", "expected 3 with light, found 2");
    if (!plasma.edges.empty() && plasma.edges.size() != plasma.cells.size())
      refuse_key("plasma.edges", fmt::format("expected one word for each of the {} axes, found {}", plasma.cells.size(),
                                             plasma.edges.size()));
    if (config.output.spectrum_every > 0)
      refuse_key("output.spectrum_every", fmt::format("the {} field has no potential", plasma.field));
    const PlasmaUnits in = plasma.units();
    const double longest =
        1 / physics::courant_number(plasma.dimensions(), plasma.light_speed / in.velocity().file, 1) * in.time().file;
    if (!(config.time.step < longest))
      refuse_key("time.step",
                 fmt::format("expected less than {:.6g}, in which light crosses a cell's diagonal, found {}", longest,
                             to_text(config.time.step)));
  }

  /// Velocities default to the dimensions, with light to three. Two velocities allow a magnetic field along z only.
  void grid() const {
    if (plasma.cells.empty())
      refuse_key("plasma.cells", "expected two or three even numbers such as [64, 64], found none");
    if (!find("plasma.velocities")) plasma.velocities = plasma.has_light() ? 3 : plasma.dimensions();
    if (plasma.dimensions() == 3 && plasma.velocities != 3)
      refuse_key("plasma.velocities", "expected 3 in three dimensions, found 2");
    const auto& b = plasma.magnetic_field;
    if (plasma.velocities == 2 && (b.x != 0 || b.y != 0))
      refuse_key("plasma.magnetic_field",
                 "with two velocities the field may have a z component only; set plasma.velocities = 3");
  }

  /// Times have a natural scale in 1/ω_p, and none in seconds.
  void times() const {
    if (!find("time.step") || config.time.step == 0) {
      if (si()) refuse_key("time.step", "expected the step in seconds, found none");
      config.time.step = 0.05;
    }
    if (si() && !find("run.end_time")) refuse_key("run.end_time", "expected the end in seconds, found none");
    if (!find("output.energy_every")) config.output.energy_every = 5 * config.time.step;
    if (!find("output.snapshots_every")) config.output.snapshots_every = 0;
  }

  /// Defaults and limits of species k: density, unit of temperature, and directions that exist.
  void one_species(std::size_t k) const {
    PlasmaSpeciesConfig& species = plasma.species[k];
    if (si() && species.density == 0) refuse_species(k, "density", "expected a number > 0 in m^-3, found none");
    if (species.density == 0) species.density = 1;
    const bool own = species.temperature_scale == PlasmaSpeciesConfig::Scale::own;
    if (!species.cold && si() && own)
      refuse_species(k, "temperature", "in SI the key says the unit: use temperature_ev or temperature_kelvin");
    if (!species.cold && !si() && !own)
      refuse_species(k, "temperature_ev",
                     "electron volts and kelvin need units.system = \"si\"; here temperature is in m_e (L omega_p)^2, "
                     "where L is the unit of length");
    const double speed = std::sqrt(dot(species.drift, species.drift));
    if (si() && !plasma.has_light() && speed >= light_m_per_s)  // with light it is γ v
      refuse_species(k, "drift",
                     fmt::format("expected less than the speed of light, {} m/s, found {}", to_text(light_m_per_s),
                                 to_text(speed)));
    if (plasma.velocities == 2) {
      if (species.drift.z != 0) refuse_species(k, "drift", "expected no z component with plasma.velocities = 2");
      species.temperature.z = species.temperature.y;
    }
    if (plasma.dimensions() == 2 && (species.perturbation.mode[2] != 0 || species.profile.axis == 2))
      refuse_species(k, species.profile.axis == 2 ? "profile" : "perturbation",
                     "expected nothing along z in two dimensions");
  }

  /// A periodic box with a net charge has no potential. Densities are averaged over their profiles.
  void neutrality() const {
    if (plasma.background) return;
    const PlasmaOptions options = plasma.options();
    double net = 0, size = 0;
    for (const auto& species : plasma.species) {
      const double charge = species.charge * species.density * profile_mean(options, plasma.load(species).profile);
      net += charge, size += std::abs(charge);
    }
    if (std::abs(net) > 1e-9 * size)
      refuse_key("plasma.species",
                 fmt::format("the box is not neutral: its net charge is {:.6g} {}; set plasma.background = true for a "
                             "uniform charge that makes it so, or add a species of the opposite charge",
                             net, si() ? "e per cubic metre" : "e n0 per volume"));
  }

  /// Without a mode the longest wave along x is fitted, if [plasma.wave] or [expect] asks for one.
  void wave() const {
    PlasmaWave& wave = plasma.wave;
    const bool asked = wave.from > 0 || wave.until > 0 || find("expect.frequency") || find("expect.growth_rate") ||
                       find("expect.damping_rate");
    if (!find("plasma.wave.mode") && asked) wave.mode = {1, 0, 0};
  }

  /// Refuses what is never measured of a plasma, and waves without the spectrum that they are fitted to.
  void expectations() const {
    for (const char* name : {"virial_ratio", "half_mass_radius", "angular_momentum", "return_distance"})
      if (find(std::string("expect.") + name)) refuse_key(std::string("expect.") + name, "not known for a plasma");
    for (const std::string name : {"frequency", "growth_rate", "damping_rate"})
      if (find("expect." + name) && config.output.spectrum_every == 0)
        refuse_key("expect." + name, "needs the potential every few steps: set output.spectrum_every, in steps");
    if (plasma.wave.until > 0 && plasma.wave.until <= plasma.wave.from)
      refuse_key("plasma.wave.until", fmt::format("expected a time after plasma.wave.from = {}, found {}",
                                                  to_text(plasma.wave.from), to_text(plasma.wave.until)));
    for (std::size_t a = 0; a < static_cast<std::size_t>(plasma.dimensions()); ++a)
      if (2 * std::abs(plasma.wave.mode[a]) > plasma.cells[a])
        refuse_key("plasma.wave.mode", fmt::format("expected at most half of plasma.cells, {} waves, found {}",
                                                   plasma.cells[a] / 2, plasma.wave.mode[a]));
    if (plasma.dimensions() == 2 && plasma.wave.mode[2] != 0)
      refuse_key("plasma.wave.mode", "expected nothing along z in two dimensions");
  }
};

}  // namespace

void complete_plasma(RunConfig& config, const FindValue& find) {
  const Completion completion{config, find};
  if (config.run.precision == "mixed")
    completion.refuse_key("run.precision", "a plasma is computed in single or double precision, found \"mixed\"");
  completion.units();
  completion.grid();
  completion.times();
  if (config.plasma.species.empty())
    completion.refuse_key("plasma.species", "expected at least one table [[plasma.species]], found none");
  for (std::size_t k = 0; k < config.plasma.species.size(); ++k) completion.one_species(k);
  completion.light();
  completion.neutrality();
  completion.wave();
  completion.expectations();
}

}  // namespace pergola
