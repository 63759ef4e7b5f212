#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/host_device.hpp"
#include "base/key.hpp"
#include "base/variant.hpp"
#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "gravity/external.hpp"
#include "particles/box.hpp"
#include "particles/particles.hpp"
#include "particles/shown_particles.hpp"
#include "physics/cosmology.hpp"
#include "physics/power_spectrum.hpp"

// What an analysis is. An entry (`AnalysisEntry`) describes itself: name, help, keys, the kind of files it needs, and
// one function from files and options to a result. A result is a table, single findings, and figures as data; nothing
// here draws or writes files.
// `pergola analyze` reads entries and gives them the snapshots of a file or a run. A run gives them its particles at
// the moment of each snapshot (outputs/analysis_output.cpp). Files are read when the entry asks for them, one at a
// time.
// What always holds: a table does not depend on the order of particles in a file, on the number of threads, or on the
// number of ranks. An entry with `by_ranks` is called by all ranks together, and all get the same result.
namespace pergola {

/// What tables hold where a value does not exist or cannot be known.
inline constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

/// Units of a file in words: "kpc", "1e10 Msun", "km/s". Empty if the file states none. Comoving lengths are "cMpc/h".
struct AnalysisUnits {
  std::string length, mass, velocity, time;

  /// "1e10 Msun/kpc^3"; empty if one of the two units is not known.
  std::string density() const { return per_length("^3"); }
  std::string surface_density() const { return per_length("^2"); }

 private:
  std::string per_length(const char* power) const {
    if (mass.empty()) return "";
    return length.find('/') == std::string::npos ? mass + "/" + length + power : mass + "/(" + length + ")" + power;
  }
};

/// The universe that a periodic box is a part of.
struct AnalysisUniverse {
  physics::Cosmology cosmology;
  std::optional<physics::LinearPower> waves{};  // today's linear power that the box began with, where it is known
  std::string waves_from{};                     // what that is, or why it is not known
  double scale_factor = 1;
  double length_mpc_h = 1;  // the unit of length in comoving Mpc/h
  double hubble = 1;        // today's H₀ in the file's velocity over its length
};

/// Particles at a moment. In an expanding universe positions are comoving, and velocities are peculiar: a dx/dt.
struct AnalysisSnapshot {
  std::string name;  // of the file, for messages
  double time = 0;
  std::string moment;  // the same with its unit, for legends: "t = 1.24 Gyr", "z = 0.5"
  Box box;
  double gravitational_constant = 1;
  std::optional<double> matter_part;         // Ω_m at this time, if the file states a cosmology
  std::optional<AnalysisUniverse> universe;  // if the file states it and its unit of length
  std::vector<ExternalPotential> field{};    // static ones of the run that wrote it, which its potentials hold
  AnalysisUnits units;
  Particles particles;
};

/// A species of a plasma: the velocities of its macro-particles along x, y and z.
struct AnalysisSpecies {
  std::string name;
  double mass = 0;  // of a particle, in the unit in which mass times velocity squared is a temperature
  std::array<std::vector<double>, 3> velocity;
  std::vector<double> weight;  // how many particles each stands for
};

/// A plasma at a moment. Units are words, empty if the file states none.
struct AnalysisPlasma {
  std::string name;  // of the file, for messages
  double time = 0;
  std::string moment;  // the same for legends
  std::string time_unit, velocity_unit, temperature_unit;
  std::vector<AnalysisSpecies> species;
};

/// The potential of a plasma in its periodic box at a moment, on the points of a grid, x fastest.
struct AnalysisField {
  std::string name;  // of the file, for messages
  double time = 0;
  std::string moment;  // the same for legends
  std::string time_unit, length_unit, unit;
  int dimensions = 2;
  std::array<int, 3> cells{1, 1, 1};
  std::array<double, 3> spacing{1, 1, 1};
  std::vector<double> values;
};

/// The files of one analysis. Each is read when it is asked for.
struct AnalysisFiles {
  std::vector<std::string> names;
  std::function<AnalysisSnapshot(std::size_t number)> snapshot;
  std::function<AnalysisPlasma(std::size_t number)> plasma;
  std::function<AnalysisField(std::size_t number)> potential;  // of a plasma
  /// Of a running simulation: the snapshot without particles, and an output view of the particles on their device. Null
  /// for files on disk.
  std::function<AnalysisSnapshot(std::size_t number)> frame{};
  std::function<std::unique_ptr<ShownParticles>(std::size_t number)> shown{};
  /// More than one rank only for an entry with `by_ranks`: each rank gets a part of the particles, and all ranks make
  /// all calls together.
  std::shared_ptr<Communicator> ranks = serial_communicator();
};

/// Values of all keys of all analyses. Each entry names the keys that it reads.
struct AnalysisOptions {
  std::string center = "density";   // density | potential | mass | X,Y,Z
  std::string species = "all";      // names with commas between
  std::int64_t bins = 0;            // 0: the analysis' own number
  double low = 0, high = 0;         // of the range; both 0: found from the data
  double softening = 0;             // for potentials that are not in the file
  std::int64_t cells = 0;           // of a mesh, per side; 0: found from the number of particles
  std::int64_t folds = 3;           // of the box, for higher wave numbers
  std::string shot_noise = "keep";  // keep | subtract, of a power spectrum
  double linking = 0.2;             // length of friends of friends in mean spacings
  double linking_length = 0;        // the same in the unit of the file; 0: from `linking`
  std::int64_t least = 20;          // particles of a group
  std::int64_t groups = 0;          // number of the largest groups; 0: none
  std::int64_t group = 0;           // number of one group, from 1; 0: none
  std::string nfw = "auto";         // auto | yes | no: fit of a halo; auto: to groups only
  std::string axis = "x";           // of a component: x | y | z
  double sigma8 = 0;                // of the universe of a box; 0: as the run beside the file says
  // If not given: from the run beside the file, or from the file itself.
  std::optional<double> n_s, omega_baryon;
};

/// Numbers or words under one name.
struct TableColumn {
  std::string name, unit;
  Variant<std::vector<double>, std::vector<std::string>> values;

  std::size_t rows() const {
    return std::visit([](const auto& list) { return list.size(); }, values);
  }
};

/// Columns of equal length.
struct Table {
  std::vector<TableColumn> columns;

  std::size_t rows() const { return columns.empty() ? 0 : columns.front().rows(); }
  /// Adds a number to the column of this name. The first call for a name makes the column.
  void add(const std::string& name, const std::string& unit, double value);
  void add_word(const std::string& name, const std::string& word);
  /// The numbers of an existing column.
  const std::vector<double>& numbers(const std::string& name) const;
};

/// A line of column names, with known units in brackets (r50[kpc]), then the rows.
PERGOLA_API std::string to_csv(const Table& table);

/// A line or points in a figure.
struct FigureLine {
  std::string name;  // empty: not in the legend
  std::vector<double> x, y;
  bool points = false;  // marks without a line
  bool dashed = false;  // without a name: in the colour of the line before
};

/// The data of a plot. The program that draws it chooses the style.
struct Figure {
  std::string title;
  std::string x_label, x_unit, y_label, y_unit;
  bool x_log = false, y_log = false;
  std::vector<FigureLine> lines;
};

/// A single number or word beside the table.
struct Finding {
  std::string name, unit;
  Variant<double, std::string> value;
};

struct AnalysisResult {
  std::vector<Finding> findings;
  Table table;
  std::vector<Figure> figures;
};

/// What kind of files an analysis reads.
enum class AnalysisNeeds { particles, plasma };
/// If the user names the directory of a run: analyse all its snapshots, or only the last one.
enum class AnalysisSpan { through_time, last_moment };

/// An analysis describes itself. `pergola analyze`, its help and the configuration read the entry.
struct AnalysisEntry {
  std::string name;
  std::string also{};   // another name; may be empty
  std::string help;     // one line
  std::string details;  // what the columns mean
  std::string example;  // what follows `pergola analyze NAME`
  AnalysisNeeds needs = AnalysisNeeds::particles;
  AnalysisSpan span = AnalysisSpan::last_moment;
  bool periodic_only = false;  // without further options it needs a periodic box
  bool by_ranks = false;       // ranks share the work, each with a part of the particles; on CPUs
  std::vector<Key<AnalysisOptions>> keys{};
  /// Throws Error(input) if the files hold nothing that this analysis can measure.
  std::function<AnalysisResult(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device)>
      analyze{};
};

/// All analyses, in the order in which help lists them.
PERGOLA_API const std::vector<AnalysisEntry>& analysis_entries();
/// Adds an analysis from outside. Call it from one thread, before the command line is read.
PERGOLA_API void register_analysis(AnalysisEntry entry);

// Each is defined in the source of its measurement.
AnalysisEntry radii_entry();
AnalysisEntry profile_entry();
AnalysisEntry rotation_entry();
AnalysisEntry bar_entry();
AnalysisEntry orbits_entry();
AnalysisEntry escapers_entry();
AnalysisEntry power_entry();
AnalysisEntry groups_entry();
AnalysisEntry mass_function_entry();
AnalysisEntry temperatures_entry();
AnalysisEntry distribution_entry();
AnalysisEntry modes_entry();

/// Keys that several analyses share.
Key<AnalysisOptions> center_key();
Key<AnalysisOptions> species_key();
Key<AnalysisOptions> bins_key(std::int64_t otherwise);
Key<AnalysisOptions> low_key(const std::string& help);
Key<AnalysisOptions> high_key(const std::string& help);
Key<AnalysisOptions> softening_key();

}  // namespace pergola
