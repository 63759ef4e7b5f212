#include "config/plasma_config.hpp"

#include <cmath>

namespace pergola {

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

PlasmaOptions PlasmaConfig::options() const {
  const PlasmaUnits in = units();
  PlasmaOptions options;
  options.dimensions = dimensions();
  for (std::size_t a = 0; a < cells.size(); ++a) options.cells[a] = cells[a];
  options.velocities = velocities;
  options.shape = shape;
  options.smoothing = smoothing / in.length().file;
  options.magnetic_field = (1 / in.magnetic_field().file) * magnetic_field;
  options.background = background;
  for (const auto& one : species)
    options.species.push_back({one.name, one.charge, one.mass, loaded_weight(options, load(one))});
  return options;
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

}  // namespace pergola
