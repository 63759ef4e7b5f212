#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// Length, mass and velocity units of a file in cgs, where it states them.
struct FileUnits {
  double length_cm = 1, mass_g = 1, velocity_cm_per_s = 1;
};

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

struct Snapshot {
  SnapshotHeader header;
  Particles particles;
};

enum class SnapshotFormat { hdf5, gadget1, gadget2, csv };

/// GADGET binary files do not say how wide their numbers are; other programs expect single precision.
inline bool is_binary(SnapshotFormat format) {
  return format == SnapshotFormat::gadget1 || format == SnapshotFormat::gadget2;
}

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
/// is taken. Throws Error(input): file, what was expected, what was found. io/snapshot_source.hpp reads one in pieces.
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
/// Takes such a name apart; nothing where it has no such number.
PERGOLA_API std::optional<PartName> part_name(const std::filesystem::path& path);

/// Writes beside the name and renames when complete. io/snapshot_writer.hpp writes one in pieces. Throws Error(system)
/// when the operating system refuses.
PERGOLA_API void write_snapshot(const std::filesystem::path& path, const Snapshot& snapshot,
                                const WriteOptions& options = {});

/// From the ending: .hdf5 .h5 → hdf5, .csv → csv, .g2 .gadget2 → gadget2; .g1 .gadget1 .gadget .dat, a number or none →
/// gadget1. Throws Error(input) for any other.
PERGOLA_API SnapshotFormat format_from_name(const std::filesystem::path& path);

}  // namespace pergola
