#pragma once
// For those who do not see <hdf5.h>.
#include <filesystem>

namespace pergola {

/// Whether an HDF5 file has the header of a snapshot.
bool has_snapshot_header(const std::filesystem::path& path);

/// Reads all datasets of an HDF5 file, one in memory at a time. Throws Error(input) where a checksum is wrong.
void verify_hdf5(const std::filesystem::path& path);

}  // namespace pergola
