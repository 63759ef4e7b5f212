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
#include "particles/box.hpp"
#include "particles/particles.hpp"
#include "particles/shown_particles.hpp"
#include "physics/cosmology.hpp"

namespace pergola {

/// What tables hold where a value does not exist or cannot be known.
inline constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

/// The units of a file in words, "kpc", "1e10 Msun", "km/s"; empty where it states none. Comoving lengths are "cMpc/h".
struct AnalysisUnits {
  std::string length, mass, velocity, time;

  /// "1e10 Msun/kpc^3"; empty where a part of it is.
  std::string density() const { return per_length("^3"); }
  std::string surface_density() const { return per_length("^2"); }

 private:
  std::string per_length(const char* power) const {
    if (mass.empty()) return "";
    return length.find('/') == std::string::npos ? mass + "/" + length + power : mass + "/(" + length + ")" + power;
  }
};

/// The universe that a box is a part of.
struct AnalysisUniverse {
  physics::Cosmology cosmology;
  bool knows_waves = false;  // sigma8, n_s and omega_baryon are those of the box
  double scale_factor = 1;
  double length_mpc_h = 1;  // the unit of length in comoving Mpc/h
  double hubble = 1;        // today's H₀ in the file's velocity over its length
};

/// Particles at a moment. In an expanding universe places are comoving and velocities peculiar, a dx/dt.
struct AnalysisSnapshot {
  std::string name;  // of the file, for messages
  double time = 0;
  std::string moment;  // the same with its unit, for legends: "t = 1.24 Gyr", "z = 0.5"
  Box box;
  double gravitational_constant = 1;
  std::optional<double> matter_part;  // density of matter over the critical one, where the file knows a cosmology
  std::optional<AnalysisUniverse> universe;  // where the file knows it, and its unit of length
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

/// A plasma at a moment. Units in words, empty where the file states none.
struct AnalysisPlasma {
  std::string name;  // of the file, for messages
  double time = 0;
  std::string moment;  // the same for legends
  std::string time_unit, velocity_unit, temperature_unit;
  std::vector<AnalysisSpecies> species;
};

/// The potential of a plasma in its periodic box at a moment, at the points of a grid, x fastest.
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

/// Files that are analysed, each read when it is asked for.
struct AnalysisFiles {
  std::vector<std::string> names;
  std::function<AnalysisSnapshot(std::size_t number)> snapshot;
  std::function<AnalysisPlasma(std::size_t number)> plasma;
  std::function<AnalysisField(std::size_t number)> potential;  // of a plasma
  /// Of a run that goes on: the snapshot without its particles, and these where they live. Null: there is none.
  std::function<AnalysisSnapshot(std::size_t number)> frame{};
  std::function<std::unique_ptr<ShownParticles>(std::size_t number)> shown{};
  /// Several, for an entry that says `by_ranks`: each is given a part of the particles, and all calls are made by all.
  std::shared_ptr<Communicator> ranks = serial_communicator();
};

/// What an analysis may be told; each entry names the keys that it looks at.
struct AnalysisOptions {
  std::string center = "density";   // density | potential | mass | X,Y,Z
  std::string species = "all";      // names with commas between
  std::int64_t bins = 0;            // 0: the analysis' own number
  double low = 0, high = 0;         // of the range; both 0: found from the data
  double softening = 0;             // of potentials that a file does not hold
  std::int64_t cells = 0;           // of a mesh, per side; 0: found from the number of particles
  std::int64_t folds = 3;           // of the box, for higher wave numbers
  std::string shot_noise = "keep";  // keep | subtract, of a power spectrum
  double linking = 0.2;             // length of friends of friends in mean spacings
  double linking_length = 0;        // the same in the unit of the file; 0: from `linking`
  std::int64_t least = 20;          // particles of a group
  std::int64_t groups = 0;          // how many of the largest; 0: not asked for
  std::int64_t group = 0;           // the number of one, from 1; 0: not asked for
  std::string nfw = "auto";         // auto | yes | no: fit of a halo to a profile; auto: to those of groups
  std::string axis = "x";           // of a component: x | y | z
  double sigma8 = 0;                // of the universe of a box; 0: as the run beside the file says
  // As the run beside the file, or the file itself, says where they are not given.
  std::optional<double> n_s, omega_baryon;
};

/// Numbers, or words, below one name.
struct TableColumn {
  std::string name, unit;
  Variant<std::vector<double>, std::vector<std::string>> values;

  std::size_t rows() const {
    return std::visit([](const auto& list) { return list.size(); }, values);
  }
};

/// What an analysis found: columns of equal length.
struct Table {
  std::vector<TableColumn> columns;

  std::size_t rows() const { return columns.empty() ? 0 : columns.front().rows(); }
  /// Adds a number to the column of this name, which is made where it is not there.
  void add(const std::string& name, const std::string& unit, double value);
  void add_word(const std::string& name, const std::string& word);
  /// The numbers of a column that is there.
  const std::vector<double>& numbers(const std::string& name) const;
};

/// A line of names, with units in brackets where they are known (r50[kpc]), and the rows.
PERGOLA_API std::string to_csv(const Table& table);

/// A line or points of a figure.
struct FigureLine {
  std::string name;  // empty: not in the legend
  std::vector<double> x, y;
  bool points = false;  // marks without a line
  bool dashed = false;  // without a name: beside the line before it, in its colour
};

/// A plot, described: whoever draws it decides how it looks.
struct Figure {
  std::string title;
  std::string x_label, x_unit, y_label, y_unit;
  bool x_log = false, y_log = false;
  std::vector<FigureLine> lines;
};

/// One number or word beside the table.
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
/// Of the directory of a run it takes all snapshots, or the last one.
enum class AnalysisSpan { through_time, last_moment };

/// An analysis describes itself; `pergola analyze` and its help read the entry.
struct AnalysisEntry {
  std::string name;
  std::string also{};   // another name; may be empty
  std::string help;     // one line
  std::string details;  // what the columns mean
  std::string example;  // what follows `pergola analyze NAME`
  AnalysisNeeds needs = AnalysisNeeds::particles;
  AnalysisSpan span = AnalysisSpan::last_moment;
  bool periodic_only = false;  // without options that only a user knows it is one of periodic boxes
  bool by_ranks = false;       // on CPUs by ranks that each have a part of the particles; all get the same result
  std::vector<Key<AnalysisOptions>> keys{};
  /// Throws Error(input) where the files hold nothing that it could be done with.
  std::function<AnalysisResult(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device)>
      analyze{};
};

/// All analyses in the order in which they are listed.
PERGOLA_API const std::vector<AnalysisEntry>& analysis_entries();
/// Adds one of one's own, by one thread, before the command line is read.
PERGOLA_API void register_analysis(AnalysisEntry entry);

// Each in analysis/NAME_entry.cpp.
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

/// Keys that several analyses have.
Key<AnalysisOptions> center_key();
Key<AnalysisOptions> species_key();
Key<AnalysisOptions> bins_key(std::int64_t otherwise);
Key<AnalysisOptions> low_key(const std::string& help);
Key<AnalysisOptions> high_key(const std::string& help);
Key<AnalysisOptions> softening_key();

}  // namespace pergola
