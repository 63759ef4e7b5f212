#pragma once
// What snapshot.cpp shares with the files that know one format each.
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/snapshot.hpp"
#include "io/snapshot_writer.hpp"

namespace pergola {

/// Of a snapshot.
inline constexpr int most_files = 65536;

using SpeciesCounts = std::array<std::int64_t, species_count>;

/// What one file of a snapshot holds.
struct SnapshotPiece {
  SnapshotHeader header;  // header.files as the file states it
  SpeciesCounts counts{};
  std::optional<SpeciesCounts> totals;  // over all files, where the file states them
  std::array<double, species_count> mass_table{};
  std::vector<std::string> fields;
  std::vector<std::string> not_carried;        // what is in the file and not in Particles
  std::int64_t with_id = 0;                    // particles that have one
  bool potential = false;                      // all particles have one
  std::vector<std::filesystem::path> paths{};  // of all files, where they are taken together

  std::int64_t count() const;
};

/// One file of a snapshot. Its head has been read and its shapes checked.
class SnapshotFile {
 public:
  virtual ~SnapshotFile() = default;
  const SnapshotPiece& piece() const { return piece_; }
  /// Particles first … first + n − 1 of this file to the places from `at` on of `to`, which has room for them. Ids and
  /// potentials only where `to` has room for those too.
  virtual void read(std::int64_t first, std::int64_t n, Particles& to, std::int64_t at, int threads) = 0;

 protected:
  SnapshotPiece piece_;
};

std::unique_ptr<SnapshotFile> open_hdf5_file(const std::filesystem::path& path);
std::unique_ptr<SnapshotFile> open_gadget_file(const std::filesystem::path& path);
std::unique_ptr<SnapshotFile> open_csv_file(const std::filesystem::path& path);

/// Calls body(type, first, n, at) for the part of each species in particles first … first + n − 1 of a file that has
/// one species after the other; `first` then counts within the species and `at` from the first particle asked for.
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

std::unique_ptr<SnapshotWriter> make_hdf5_writer(const std::filesystem::path& path, const SnapshotHeader& header,
                                                 const SnapshotContents& contents, WriteOptions options);
std::unique_ptr<SnapshotWriter> make_gadget_writer(const std::filesystem::path& path, const SnapshotHeader& header,
                                                   const SnapshotContents& contents, WriteOptions options);
std::unique_ptr<SnapshotWriter> make_csv_writer(const std::filesystem::path& path, const SnapshotHeader& header,
                                                const SnapshotContents& contents, WriteOptions options);

/// What one file of a set holds: of each species, whose particles stand in the files one after the other, its share.
SnapshotContents contents_in_set(const SnapshotContents& all, int files, int file);
/// Error(input) where options.files > 1 cannot be.
void check_set(const std::filesystem::path& path, const WriteOptions& options);
/// What the writers rely on: arrays of equal length, and of `n` particles from `first` on species that are known. Else
/// Error(input).
void check_to_write(const Particles& particles, std::int64_t first, std::int64_t n, const std::filesystem::path& path);

std::unique_ptr<SnapshotWriter> make_set_writer(const std::filesystem::path& path, const SnapshotHeader& header,
                                                const SnapshotContents& contents, WriteOptions options);

/// `value` in single precision; Error(input) when it is too large for that.
float to_single(double value, const std::filesystem::path& path);

}  // namespace pergola
