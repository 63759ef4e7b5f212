#pragma once
// HDF5 files that may crash the library, and the check of all bytes of a file. For parts that do not see <hdf5.h>.
#include <filesystem>

#include "base/host_device.hpp"

namespace pergola {

/// Whether this is an HDF5 file whose metadata carry no checksums (superblock 0 or 1: what HDF5 and h5py write by
/// default). If such a file is damaged, the HDF5 library may crash, loop or ask for any amount of memory. Pergola's own
/// files have checksums. False if there is no such file.
PERGOLA_API bool hdf5_without_checksums(const std::filesystem::path& path);

/// Goes through all that a reader of the file would ask the HDF5 library: groups, attributes, types and sizes, the
/// index of the chunks, and the values of small arrays. What it finds, and what HDF5 refuses, does not matter: it is
/// for a process that may die of it (app/foreign_files.hpp), before another one reads the file.
PERGOLA_API void walk_hdf5(const std::filesystem::path& path);

}  // namespace pergola

namespace pergola {

/// Whether an HDF5 file has the header of a snapshot.
bool has_snapshot_header(const std::filesystem::path& path);

/// Reads all datasets of an HDF5 file, one in memory at a time. Throws Error(input) if a checksum is wrong.
void verify_hdf5(const std::filesystem::path& path);

}  // namespace pergola
