#pragma once
// openPMD files of a plasma: written in pieces by one process, read as a whole.
//
// A file has one step, whose number is openPMD's iteration: fields on the grid of the run, a uniform magnetic field and
// particles by species, in SI units by their factors. The writer
// takes fields column by column, then particles piece by piece; beyond `particles_most` it keeps a sample by the hash
// of the ids. The reader takes files of other programs too, as far as they are openPMD 1.x with Cartesian fields.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "plasma/options.hpp"
#include "plasma/particle_in_cell.hpp"
#include "plasma/particles.hpp"
#include "plasma/units.hpp"

namespace pergola {

/// A plasma at one time, in the units in which it is computed; `units` says what they mean outside.
struct PlasmaSnapshot {
  PlasmaOptions options;
  PlasmaUnits units;
  std::int64_t step = 0;
  double time = 0;
  double dt = 0;                           // of the step that led here
  PlasmaFields fields;                     // density of charge, potential, electric field
  std::vector<PlasmaParticles> particles;  // one entry per species, or none: fields only
};

/// How a file is written; none of it changes the fields.
struct OpenPmdOptions {
  std::int64_t particles_most = 0;  // of a species; beyond it a sample, the same ones in every file; 0: all
  bool single_precision = false;    // float32 fields, positions and momenta
};

/// openPMD 1.1.0 with the extension ED-PIC, in HDF5: one file per step, written beside the name and renamed when
/// complete. Arrays are [x][y] or [x][y][z]. A sample stands for all: its weighting is larger by as much as it is
/// smaller. Fields and particles come in pieces, so that only a piece is in memory; the file does not depend
/// on the sizes of the pieces. Calls may come from different threads, one at a time. Without commit() nothing is left
/// behind. Throws Error(system) when the operating system refuses.
class PERGOLA_API OpenPmdWriter {
 public:
  /// Writes all but fields and particles, of which `head` has none. `counts`: how many of each species will come, or
  /// none.
  OpenPmdWriter(const std::filesystem::path& path, PlasmaSnapshot head, std::vector<std::int64_t> counts,
                const OpenPmdOptions& options = {});
  ~OpenPmdWriter();
  /// The next columns of a field, as many planes with all y (and z) as there are values for, x fastest; one field after
  /// the other, in the order of the parts.
  void append(PlasmaFieldPart part, const std::vector<double>& columns);
  /// The next particles of a species, after all fields; one species after the other.
  void append(std::size_t species, const PlasmaParticles& piece);
  /// All particles are there: the file gets its name.
  void commit();

 private:
  class Contents;
  std::unique_ptr<Contents> contents_;
};

/// The same for a plasma with all its particles.
PERGOLA_API void write_openpmd(const std::filesystem::path& path, PlasmaSnapshot snapshot,
                               const OpenPmdOptions& options = {});

/// Whether this is an HDF5 file with openPMD's mark.
PERGOLA_API bool is_openpmd(const std::filesystem::path& path);

/// A record of a mesh as it stands in a file: in the file's unit, x fastest.
struct OpenPmdMesh {
  std::string name;  // rho, phi, E
  std::vector<std::string> components;
  double unit_si = 1;
  std::string unit;  // for people; may be empty
};

/// What an openPMD file holds, without its arrays. Lengths in the file's unit, axes in the order x, y, z.
struct OpenPmdSummary {
  std::string version, software;
  std::int64_t step = 0;
  double time = 0, time_unit_si = 1;
  std::string length_unit, time_unit;  // for people; may be empty
  int dimensions = 0;
  std::vector<std::int64_t> cells;
  std::vector<double> spacing, offset;
  double length_unit_si = 1;
  std::vector<OpenPmdMesh> meshes;
  struct Species {
    std::string name;
    std::int64_t count = 0;
    double charge_c = 0, mass_kg = 0, weighting = 0;  // of the first particle
  };
  std::vector<Species> species;

  std::int64_t particle_count() const;
  std::string velocity_unit() const;  // for people; may be empty
};
/// Throws Error(input) for a file that is damaged, or not openPMD 1.x with Cartesian meshes of two or three dimensions.
PERGOLA_API OpenPmdSummary inspect_openpmd(const std::filesystem::path& path);

/// One component of a mesh, in the file's unit, x fastest. `name` is "rho", "E/x", …
PERGOLA_API std::vector<double> read_openpmd_mesh(const std::filesystem::path& path, const std::string& name);

/// A coordinate of phase space of a species: "x", "y", "z" in the file's unit of length (with positionOffset), or "vx",
/// "vy", "vz": momentum over mass, in units of length over time.
PERGOLA_API std::vector<double> read_openpmd_coordinate(const std::filesystem::path& path, const std::string& species,
                                                        const std::string& coordinate);
/// Whether all particles of a species share the value of a coordinate, which the file then states once: vz of a plane.
PERGOLA_API bool is_constant_openpmd_coordinate(const std::filesystem::path& path, const std::string& species,
                                                const std::string& coordinate);
/// How many particles each macro-particle of a species stands for; 1 if the file does not say.
PERGOLA_API std::vector<double> read_openpmd_weighting(const std::filesystem::path& path, const std::string& species);

}  // namespace pergola
