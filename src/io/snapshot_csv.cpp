// Text snapshots: a line of column names, then one line per particle.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "device/parallel.hpp"
#include "io/input_file.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola {

namespace {

const std::vector<std::string> real_columns{"mass", "x", "y", "z", "vx", "vy", "vz"};

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Cells between commas, without blanks around them.
std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0;;) {
    const std::size_t comma = line.find(',', begin);
    cells.push_back(trimmed(line.substr(begin, comma - begin)));
    if (comma == std::string_view::npos) return cells;
    begin = comma + 1;
  }
}

/// Reads a text file line by line. Columns may stand in any order; empty lines and lines that begin with # are skipped.
class CsvReader {
 public:
  explicit CsvReader(const std::filesystem::path& path) : path_(path), stream_(path, std::ios::binary) {
    if (!stream_) throw Error(ErrorKind::system, fmt::format("{}: cannot be read", path.string()));
    if (!next_line()) fail("has no line of column names");
    for (const auto cell : split(line_)) {
      const auto bracket = cell.find('[');
      columns_.emplace_back(trimmed(cell.substr(0, bracket)));
      units_.emplace_back(bracket == std::string_view::npos ? std::string_view() : cell.substr(bracket));
    }
    check_columns();
  }

  const std::vector<std::string>& columns() const { return columns_; }

  /// What the columns say: x[AU], mass[Msun], vx[km/s]. All of them or none.
  std::optional<FileUnits> units() const {
    if (std::all_of(units_.begin(), units_.end(), [](const std::string& unit) { return unit.empty(); }))
      return std::nullopt;
    FileUnits units;
    units.length_cm = unit_of({"x", "y", "z"}, length_unit_cm, "a length such as [AU]");
    units.mass_g = unit_of({"mass"}, mass_unit_g, "a mass such as [Msun]");
    units.velocity_cm_per_s = unit_of({"vx", "vy", "vz"}, velocity_unit_cm_per_s, "a velocity such as [km/s]");
    return units;
  }

  Particles read() {
    Particles p;
    std::vector<std::vector<double>*> reals;
    for (const auto& name : columns_) reals.push_back(real_column(p, name));
    while (next_line()) {
      const auto cells = split(line_);
      if (cells.size() != columns_.size())
        fail(fmt::format("line {} has {} columns, expected {}", line_number_, cells.size(), columns_.size()));
      p.species.push_back(species_halo);
      for (std::size_t c = 0; c < cells.size(); ++c) {
        if (reals[c])
          reals[c]->push_back(value(parse_real(cells[c]), cells[c], columns_[c], "a number"));
        else if (columns_[c] == "id")
          p.id.push_back(value(parse_unsigned(cells[c]), cells[c], columns_[c], "an integer from 0 on"));
        else
          p.species.back() = species(cells[c]);
      }
    }
    if (!stream_.eof()) throw Error(ErrorKind::system, fmt::format("{}: cannot be read", path_.string()));
    return p;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::input, fmt::format("{}: {}", path_.string(), what));
  }

  /// The next line that is neither empty nor a comment.
  bool next_line() {
    while (std::getline(stream_, line_)) {
      if (++line_number_ == 1 && line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);
      if (const auto text = trimmed(line_); !text.empty() && text.front() != '#') return true;
    }
    return false;
  }

  /// All columns but the id and the species must be there, each once.
  void check_columns() const {
    const std::vector<std::string>& required = real_columns;
    std::vector<std::string> known = required;
    known.insert(known.end(), {"id", "species"});
    for (const auto& name : columns_) {
      if (std::find(known.begin(), known.end(), name) == known.end())
        fail(
            fmt::format("line {} has a column \"{:.40}\", expected the column names mass,x,y,z,vx,vy,vz and "
                        "perhaps id and species",
                        line_number_, name));
      if (std::count(columns_.begin(), columns_.end(), name) > 1)
        fail(fmt::format("line {} names column {} twice", line_number_, name));
    }
    for (const auto& name : required)
      if (std::find(columns_.begin(), columns_.end(), name) == columns_.end())
        fail(fmt::format("line {} has no column {}, expected mass,x,y,z,vx,vy,vz", line_number_, name));
  }

  /// The unit that these columns share, in cgs.
  double unit_of(const std::vector<std::string>& names, std::optional<double> (*cgs)(std::string_view),
                 const char* expected) const {
    std::optional<std::string> shared;
    for (const auto& name : names) {
      const auto column = std::find(columns_.begin(), columns_.end(), name) - columns_.begin();
      const std::string& unit = units_[static_cast<std::size_t>(column)];
      if (shared && unit != *shared)
        fail(fmt::format("the columns {} and {} have the units {} and {}, expected the same", names[0], name, *shared,
                         unit.empty() ? "none" : unit));
      shared = unit;
    }
    const bool closed = shared->size() > 2 && shared->back() == ']';
    const auto value = closed ? cgs(std::string_view(*shared).substr(1, shared->size() - 2)) : std::nullopt;
    if (!value)
      fail(fmt::format("column {} has the unit {:.40}, expected {}", names[0], shared->empty() ? "none" : *shared,
                       expected));
    return *value;
  }

  /// Null for the columns that are no real numbers: id and species.
  static std::vector<double>* real_column(Particles& p, const std::string& name) {
    std::vector<double>* const columns[] = {&p.mass, &p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz};
    for (std::size_t c = 0; c < real_columns.size(); ++c)
      if (real_columns[c] == name) return columns[c];
    return nullptr;
  }

  template <class T>
  T value(const std::optional<T>& parsed, std::string_view cell, const std::string& column, const char* expected) {
    if (!parsed) fail(fmt::format("line {}: {} is \"{:.40}\", expected {}", line_number_, column, cell, expected));
    return *parsed;
  }

  /// By number or by name.
  std::uint8_t species(std::string_view cell) {
    const auto number = parse_unsigned(cell);
    for (std::uint8_t s = 0; s < species_count; ++s)
      if (cell == species_names[s] || number == std::uint64_t{s}) return s;
    fail(fmt::format("line {}: species is \"{:.40}\", expected 0 to {}", line_number_, cell, species_count - 1));
  }

  std::filesystem::path path_;
  std::ifstream stream_;
  std::string line_;
  std::int64_t line_number_ = 0;
  std::vector<std::string> columns_, units_;  // units: "[AU]", empty: none
};

/// Text is read as a whole: where a line begins is known only when those before it have been read.
class CsvFile final : public SnapshotFile {
 public:
  explicit CsvFile(const std::filesystem::path& path) {
    const InputFile checked(path);
    CsvReader reader(path);
    piece_.header.format = "csv";
    piece_.fields = reader.columns();
    piece_.header.units = reader.units();
    particles_ = reader.read();
    for (const auto species : particles_.species) ++piece_.counts[species];
    piece_.with_id = static_cast<std::int64_t>(particles_.id.size());
  }

  void read(std::int64_t first, std::int64_t n, Particles& to, std::int64_t at, int) override {
    const auto copy = [&](const auto& from, auto& into) {
      if (!from.empty() && !into.empty()) std::copy_n(from.begin() + first, n, into.begin() + at);
    };
    for_each_array(copy, particles_, to);
  }

 private:
  Particles particles_;
};

// A thread makes the text of this number of lines; the texts are then written in order.
constexpr std::int64_t lines_per_text = 8192;

/// "id,mass[Msun],x[AU],..."; ones, as N-body units have them, are not stated.
std::string column_names(const std::optional<FileUnits>& units) {
  std::string names = "id";
  const bool stated = states_units(units);
  for (const auto& column : real_columns) {
    names += fmt::format(",{}", column);
    if (stated)
      names += fmt::format("[{}]", column == "mass"        ? mass_unit_text(units->mass_g)
                                   : column.front() == 'v' ? velocity_unit_text(units->velocity_cm_per_s)
                                                           : length_unit_text(units->length_cm));
  }
  return names;
}

/// Lines come in the order of the input, not by species; a column for species is written if not all are halo particles.
class CsvWriter final : public SnapshotWriter {
 public:
  CsvWriter(const std::filesystem::path& path, const SnapshotHeader& header, const SnapshotContents& contents,
            WriteOptions options)
      : SnapshotWriter(path, contents),
        options_(std::move(options)),
        with_species_(contents.counts[species_halo] != contents.total()),
        file_(path) {
    file_.write(fmt::format("{}{}\n", column_names(header.units), with_species_ ? ",species" : ""));
  }

 private:
  void take(const Particles& from, std::int64_t first, std::int64_t n, std::int64_t) override {
    std::vector<std::string> texts(static_cast<std::size_t>((n + lines_per_text - 1) / lines_per_text));
    parallel_chunks(options_.threads, n, lines_per_text, [&](std::int64_t begin, std::int64_t end) {
      std::string& text = texts[begin / lines_per_text];
      for (std::int64_t i = first + begin; i < first + end; ++i) add_line(from, i, text);
    });
    for (const std::string& text : texts) file_.write(text);
  }

  /// Numbers with the digits that lead back to the same bits.
  void add_line(const Particles& p, std::int64_t i, std::string& text) const {
    text += std::to_string(p.id[i]);
    for (const auto* values : {&p.mass, &p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz}) {
      text += ',';
      text += options_.single_precision ? to_text(to_single((*values)[i], path_)) : to_text((*values)[i]);
    }
    if (with_species_) text += fmt::format(",{}", p.species[i]);
    text += '\n';
  }

  void give_name() override { file_.commit(); }

  WriteOptions options_;
  bool with_species_;
  AtomicFile file_;
};

/// Whether the first 512 bytes hold no control characters. Asked last of all formats, because any text passes.
bool is_text_file(const InputFile& file) {
  std::string start(static_cast<std::size_t>(std::min<std::int64_t>(file.size(), 512)), '\0');
  file.read(0, start.data(), start.size());
  return std::all_of(start.begin(), start.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
}

}  // namespace

SnapshotFormatEntry csv_snapshot_format() {
  return {.format = SnapshotFormat::csv,
          .name = "csv",
          .title = "CSV",
          .suffixes = {".csv"},
          .can = {.sets = false, .potentials = false, .accelerations = false, .header = false},
          .single_precision = false,  // text holds the very numbers
          .recognizes = is_text_file,
          .open = [](const std::filesystem::path& path) -> std::unique_ptr<SnapshotFile> {
            return std::make_unique<CsvFile>(path);
          },
          .make_writer = [](const std::filesystem::path& path, const SnapshotHeader& header,
                            const SnapshotContents& contents, WriteOptions options) -> std::unique_ptr<SnapshotWriter> {
            return std::make_unique<CsvWriter>(path, header, contents, std::move(options));
          }};
}

}  // namespace pergola
