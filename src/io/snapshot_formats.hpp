#pragma once
// The table of snapshot formats, and what the files of the formats share.
//
// A format is one source, io/snapshot_NAME.cpp, that makes its entry: name, suffixes, what the format can hold, how a
// file of it is recognized, opened and written. The table in snapshot_formats.cpp lists the entries. Commands, reader
// and writers ask the entry; only a format's own source compares with its name.
// Every file keeps the particles of a species together, in the order of the input: `find_rows` gives their rows.
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/input_file.hpp"
#include "io/snapshot.hpp"
#include "io/snapshot_writer.hpp"

namespace pergola {

/// Files that one snapshot may consist of.
inline constexpr int most_files = 65536;

/// Particles of each species, by GADGET's numbers of types.
using SpeciesCounts = std::array<std::int64_t, species_count>;

/// What one file of a snapshot holds.
struct SnapshotPiece {
  SnapshotHeader header;  // header.files as the file states it
  SpeciesCounts counts{};
  std::optional<SpeciesCounts> totals;  // over all files, if the file states them
  std::array<double, species_count> mass_table{};
  std::vector<std::string> fields;
  std::vector<std::string> not_carried;        // what is in the file and not in Particles
  std::int64_t with_id = 0;                    // particles that have one
  bool potential = false;                      // all particles have one
  std::vector<std::filesystem::path> paths{};  // of all files, if this describes all of them together

  std::int64_t count() const;
};

/// One open file of a snapshot. Its header is read and the shapes of its arrays are checked.
class SnapshotFile {
 public:
  virtual ~SnapshotFile() = default;
  const SnapshotPiece& piece() const { return piece_; }
  /// Particles first … first + n − 1 of this file to the places from `at` on of `to`, whose arrays are long enough. Ids
  /// and potentials are read only if `to` has arrays for them.
  virtual void read(std::int64_t first, std::int64_t n, Particles& to, std::int64_t at, int threads) = 0;

 protected:
  SnapshotPiece piece_;
};

/// One line of the table of formats.
struct SnapshotFormatEntry {
  SnapshotFormat format;
  std::string name;                   // in commands, and SnapshotHeader::format of a file that was read
  std::string title;                  // in sentences
  std::vector<std::string> suffixes;  // of file names, in lower case; "": none, or a number as in snapshot_005.0
  bool number_before_suffix = false;  // in a set: snap_003.2.hdf5, else cluster.dat.2
  struct Can {
    bool sets = true;           // snapshots in several files
    bool potentials = true;     // a potential per particle
    bool accelerations = true;  // WriteOptions::acceleration
    bool units = true;          // FileUnits
    bool header = true;         // time, box and cosmology
    bool byte_order = false;    // WriteOptions::big_endian
  } can = {};
  /// The precision that is written unless a user asks for one; nothing: that of the input, or double.
  std::optional<bool> single_precision = {};
  bool (*recognizes)(const InputFile& file);
  std::unique_ptr<SnapshotFile> (*open)(const std::filesystem::path& path);
  std::unique_ptr<SnapshotWriter> (*make_writer)(const std::filesystem::path& path, const SnapshotHeader& header,
                                                 const SnapshotContents& contents, WriteOptions options);
};

/// All formats. Files are compared with them in this order.
PERGOLA_API const std::vector<SnapshotFormatEntry>& snapshot_formats();
PERGOLA_API const SnapshotFormatEntry& snapshot_format(SnapshotFormat format);
/// By its name; null if no format has it.
PERGOLA_API const SnapshotFormatEntry* find_snapshot_format(std::string_view name);
/// By the contents of a file. Throws Error(input) for a file that is no snapshot.
const SnapshotFormatEntry& format_of_file(const std::filesystem::path& path);

/// Whether these say what the numbers mean: a file without any, or with ones as N-body units have them, does not.
PERGOLA_API bool states_units(const std::optional<FileUnits>& units);
/// What a file of this format cannot hold of particles with this header: "units", "potentials", "time", "box",
/// "cosmology".
PERGOLA_API std::vector<std::string> not_carried(const SnapshotHeader& header, bool potentials,
                                                 const SnapshotFormatEntry& format);

// Each in the source of its format.
SnapshotFormatEntry hdf5_snapshot_format();
SnapshotFormatEntry gadget1_snapshot_format();
SnapshotFormatEntry gadget2_snapshot_format();
SnapshotFormatEntry csv_snapshot_format();

/// Calls body(type, first, n, at) for the part of each species in particles first … first + n − 1 of a file that has
/// one species after the other. Then `first` counts within the species, and `at` from the first particle asked for.
template <class Body>
void for_types(const SpeciesCounts& counts, std::int64_t first, std::int64_t n, const Body& body) {
  std::int64_t before = 0;
  for (int type = 0; type < species_count; ++type) {
    const std::int64_t begin = first > before ? first : before;
    const std::int64_t all = before + counts[type], end = first + n < all ? first + n : all;
    if (begin < end) body(type, begin - before, end - begin, begin - first);
    before = all;
  }
}

/// Particles `place` … `place` + count − 1 of a piece become the rows from `row` on of their species.
struct RowRun {
  std::int64_t row, place, count;
};
using PieceRows = std::array<std::vector<RowRun>, species_count>;

/// Rows of particles first … first + n − 1 of `particles`; `next_row` of each species rises by the number found.
PieceRows find_rows(const Particles& particles, std::int64_t first, std::int64_t n, SpeciesCounts& next_row);

/// Calls take(row, place, count) for the parts of the runs within rows [begin, end).
template <class Take>
void for_rows(const std::vector<RowRun>& runs, std::int64_t begin, std::int64_t end, const Take& take) {
  std::size_t low = 0, high = runs.size();  // the first run that ends after `begin`
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (runs[middle].row + runs[middle].count <= begin)
      low = middle + 1;
    else
      high = middle;
  }
  for (std::size_t r = low; r < runs.size() && runs[r].row < end; ++r) {
    const std::int64_t from = runs[r].row < begin ? begin : runs[r].row;
    const std::int64_t until = runs[r].row + runs[r].count < end ? runs[r].row + runs[r].count : end;
    take(from, runs[r].place + (from - runs[r].row), until - from);
  }
}

/// What one file of a set holds: its share of each species, whose particles stand in the files one after the other.
SnapshotContents contents_in_set(const SnapshotContents& all, int files, int file);
/// Throws Error(input) if these options do not allow options.files > 1.
void check_set(const std::filesystem::path& path, const WriteOptions& options);
/// What the writers rely on: arrays of equal length, and known species of `n` particles from `first` on. Else throws
/// Error(input).
void check_to_write(const Particles& particles, std::int64_t first, std::int64_t n, const std::filesystem::path& path);

/// `value` in single precision; throws Error(input) if it is too large for that.
float to_single(double value, const std::filesystem::path& path);

}  // namespace pergola
