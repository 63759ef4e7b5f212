#pragma once
// The table [plasma] as it is read, in the units of the file, and as it is computed.
// Numbers stay as in the file; options() and load() convert them to units of computation (plasma/units.hpp).
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "plasma/loading.hpp"
#include "plasma/options.hpp"
#include "plasma/units.hpp"

namespace pergola {

/// One [[plasma.species]], in the units of the file.
struct PlasmaSpeciesConfig {
  enum class Scale { own, electron_volt, kelvin };

  std::string name;
  double charge = 0, mass = 0;  // e and m_e
  double density = 0;           // n₀ (1 where none is given), or m⁻³ in SI
  std::int64_t particles_per_cell = 0;
  bool cold = false;  // no thermal motion, and no temperature
  Vec3<double> temperature{0, 0, 0};
  Scale temperature_scale = Scale::own;
  Vec3<double> drift{0, 0, 0};
  std::string start = "quiet";  // random
  PlasmaProfile profile;
  PlasmaPerturbation perturbation;
  std::string where;  // file and line, for messages
};

/// [plasma.wave]: the wave whose frequency and growth are fitted, if one is asked for: by this table, or by [expect].
struct PlasmaWave {
  std::array<int, 3> mode{0, 0, 0};  // wavelengths in the box, by axis; all 0: no wave is asked for
  double from = 0, until = 0;        // the time that is fitted, in the unit of the file; until 0: to the end

  bool asked_for() const { return mode != std::array<int, 3>{0, 0, 0}; }
};

/// The table [plasma], in the units of the file. With it a run is one of a plasma.
struct PlasmaConfig {
  PlasmaLengths lengths = PlasmaLengths::cells;
  std::vector<int> cells;  // two: 2D, three: 3D
  double cell_size = 1;
  int velocities = 0;  // 0 until the whole file is read
  std::string field = PlasmaOptions().field;
  double light_speed = 0;  // without light 0
  PlasmaPusher pusher = PlasmaPusher::boris;
  std::vector<PlasmaEdge> edges;  // of the axes; none: all periodic
  int absorbing_cells = PlasmaOptions().absorbing_cells;
  std::vector<PlasmaLaser> lasers;
  PlasmaShape shape = PlasmaShape::linear;
  double smoothing = 0;
  Vec3<double> magnetic_field{0, 0, 0};
  bool background = false;
  std::uint64_t seed = 1;
  std::vector<PlasmaSpeciesConfig> species;
  PlasmaWave wave;

  int dimensions() const { return static_cast<int>(cells.size()); }
  /// Whether the field solver knows light.
  PERGOLA_API bool has_light() const;
  /// In SI the reference density is that of the first species, else the density 1.
  PERGOLA_API PlasmaUnits units() const;
  /// As it is computed, with weights.
  PERGOLA_API PlasmaOptions options() const;
  /// How a species is loaded, as it is computed.
  PERGOLA_API PlasmaLoad load(const PlasmaSpeciesConfig& species) const;
};

/// What [expect] may name of a plasma: measured during the run (sim/plasma_diagnostics.hpp).
PERGOLA_API const std::vector<std::string>& plasma_measure_names();

}  // namespace pergola
