#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analysis_input.hpp"
#include "base/key.hpp"
#include "base/variant.hpp"
#include "device/device.hpp"

namespace pergola {

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
