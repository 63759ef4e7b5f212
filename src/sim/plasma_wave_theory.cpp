#include "sim/plasma_wave_theory.hpp"

#include <cmath>
#include <limits>

#include "physics/green.hpp"
#include "physics/plasma_dispersion.hpp"

namespace pergola {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::complex<double> wave_theory(const PlasmaOptions& options, const std::vector<PlasmaKind>& kinds,
                                 const std::array<int, 3>& mode) {
  const std::complex<double> none{not_a_number, not_a_number};
  if (kinds.empty() || dot(options.magnetic_field, options.magnetic_field) > 0) return none;
  std::array<double, 3> k{};
  double squared = 0, shape = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(options.dimensions); ++axis) {
    k[axis] = physics::wave_number(mode[axis], options.cells[axis]);
    squared += k[axis] * k[axis];
    shape *= grid_shape_squared(k[axis], options.smoothing, static_cast<int>(options.shape));
  }
  if (squared == 0) return none;
  const double length = std::sqrt(squared);
  std::vector<WaveSpecies> species;
  bool streams = false;
  for (const PlasmaKind& kind : kinds) {
    const auto &u = kind.drift, &v = kind.thermal_speed;
    const double drift = (k[0] * u.x + k[1] * u.y + k[2] * u.z) / length;
    species.push_back({kind.plasma_frequency_squared, std::hypot(k[0] * v.x, k[1] * v.y, k[2] * v.z) / length, drift});
    streams = streams || drift != species[0].drift;
  }
  if (streams) {
    const std::complex<double> cold = cold_beam_root(length, species, shape);
    if (!(cold.imag() > 1e-6)) return none;
    const std::complex<double> warm = dielectric_root(cold, length, species, shape);
    return warm.imag() > 0 ? warm : none;
  }
  if (species.size() > 1 || species[0].drift != 0) return none;
  const double plasma = std::sqrt(species[0].plasma_frequency_squared);
  if (species[0].thermal_speed == 0) return {plasma * std::sqrt(shape), 0};
  return plasma * langmuir_root(length * species[0].thermal_speed / plasma, shape);
}

}  // namespace pergola
