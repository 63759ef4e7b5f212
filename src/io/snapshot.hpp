#pragma once
// Snapshots: particles at one time in one or several files, read and written as a whole or in pieces.
//
// Reading finds the format from the contents, writing from the name (snapshot_formats.hpp has the table of formats).
// `SnapshotSource` reads any range of particles; `SnapshotWriter` (snapshot_writer.hpp) takes them piece by piece.
// What always holds: the order of particles within a species is that of the input; a file is found under its name only
// when it is complete; every size in a file is checked before memory is taken for it.
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "particles/particle_source.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// Length, mass and velocity units of a file in cgs, if it states them.
struct FileUnits {
  double length_cm = 1, mass_g = 1, velocity_cm_per_s = 1;
};

/// What a file states about its particles, in its own units. In an expanding universe `time` is the scale factor.
struct SnapshotHeader {
  double time = 0;
  double redshift = 0;
  double box_size = 0;  // 0: isolated
  std::optional<double> omega0, omega_lambda, omega_baryon, hubble_param;
  std::optional<FileUnits> units;
  std::string format;  // as read: hdf5 | swift | gadget1 | gadget2 | csv
  int files = 1;       // as read
  bool byte_swapped = false;
  bool single_precision = false;
};

/// A snapshot that is in memory as a whole.
struct Snapshot {
  SnapshotHeader header;
  Particles particles;
};

enum class SnapshotFormat { hdf5, gadget1, gadget2, csv };

/// How a snapshot is written. What a format cannot hold is refused (SnapshotFormatEntry::can).
struct WriteOptions {
  SnapshotFormat format = SnapshotFormat::hdf5;
  bool single_precision = false;                      // float32 coordinates, velocities, masses and potentials
  bool big_endian = false;                            // GADGET binary only
  std::array<std::vector<double>, 3> acceleration{};  // HDF5 only: written as Acceleration unless empty
  int threads = 0;                                    // 0: all cores that this process may use
  int files = 1;                                      // more: a set, name_in_set(); not CSV
};

/// Reads any snapshot that Pergola knows; the format is found from the contents. A name without the ".0" or ".0.hdf5"
/// of a snapshot in several files, or the name of its first file, reads them all. Every size is checked before memory
/// is taken. Throws Error(input): file, what was expected, what was found. SnapshotSource reads one in pieces.
PERGOLA_API Snapshot read_snapshot(const std::filesystem::path& path);

/// The header and the particle counts only.
struct SnapshotSummary {
  SnapshotHeader header;
  std::array<std::int64_t, species_count> counts{};
  std::array<double, species_count> mass_table{};
  std::vector<std::string> fields;
  std::vector<std::string> not_carried;  // what is in the file and not in Particles: PartType0/Density
  std::vector<std::filesystem::path> files;
};
PERGOLA_API SnapshotSummary inspect_snapshot(const std::filesystem::path& path);

/// A snapshot in several files has them numbered from 0 on: "snap_003.2.hdf5" is number 2 of "snap_003.hdf5",
/// "cluster.dat.2" of "cluster.dat".
PERGOLA_API std::filesystem::path name_in_set(const std::filesystem::path& whole, int number);
struct PartName {
  std::filesystem::path whole;
  int number = 0;
};
/// Takes such a name apart; nothing if it has no such number.
PERGOLA_API std::optional<PartName> part_name(const std::filesystem::path& path);

/// Writes beside the name and renames when complete. io/snapshot_writer.hpp writes one in pieces. Throws Error(system)
/// when the operating system refuses.
PERGOLA_API void write_snapshot(const std::filesystem::path& path, const Snapshot& snapshot,
                                const WriteOptions& options = {});

/// From the ending: .hdf5 .h5 → hdf5, .csv → csv, .g2 .gadget2 → gadget2; .g1 .gadget1 .gadget .dat, a number or none →
/// gadget1. Throws Error(input) for any other.
PERGOLA_API SnapshotFormat format_from_name(const std::filesystem::path& path);

/// What a writer must know of all particles before it gets the first.
struct SnapshotContents {
  std::array<std::int64_t, species_count> counts{};
  std::uint64_t largest_id = 0;  // GADGET binary has ids of 4 bytes if they fit
  bool potential = false;        // known for all particles
  // Of a set that the file is one of: how many files it has, and their particles. By itself a file has all.
  int files = 1;
  std::array<std::int64_t, species_count> in_set{};

  std::int64_t total() const;
  const std::array<std::int64_t, species_count>& all() const { return files > 1 ? in_set : counts; }
};

/// The particles of a snapshot in pieces. CSV, whose lines have no known places, is kept in memory as a whole.
/// The constructor checks headers and shapes of all files; check() checks numbers and ids.
class PERGOLA_API SnapshotSource final : public ParticleSource {
 public:
  /// `path` as for read_snapshot(); threads = 0: all cores that this process may use.
  explicit SnapshotSource(const std::filesystem::path& path, int threads = 0);
  ~SnapshotSource() override;

  const SnapshotSummary& summary() const { return summary_; }
  int threads() const { return threads_; }
  std::int64_t count() const override;
  void read(std::int64_t first, std::int64_t n, Particles& to) override;
  std::string name() const override { return name_; }
  /// Reads everything once, a piece at a time, and throws Error(input) for numbers that are not finite, masses below 0
  /// and ids that occur twice. What it saw is what a writer must know.
  SnapshotContents check();

 private:
  struct Files;
  std::string name_;
  int threads_;
  SnapshotSummary summary_;
  std::unique_ptr<Files> files_;
};

}  // namespace pergola
