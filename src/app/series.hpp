#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pergola::app {

/// "snap_012.hdf5" is prefix "snap_", number 12 and ending ".hdf5", and so is "snap_012.0.hdf5", the first of several
/// files of one snapshot.
struct NumberedName {
  std::string prefix, ending;
  std::int64_t number = 0;
  bool first = true;  // or the only file
};
std::optional<NumberedName> numbered(const std::filesystem::path& file);

/// The files beside this one whose names differ in the number only, and itself, by number. A name without a number is a
/// series of its own.
std::vector<std::filesystem::path> series_of(const std::filesystem::path& file);

/// The snapshots that a run left in its directory: snap_000.hdf5, … or plasma_000.h5, … Throws Error(input) where there
/// are none.
std::vector<std::filesystem::path> snapshots_in(const std::filesystem::path& directory);

/// Up to 16 of them, spread evenly from the first to the last.
std::vector<std::string> spread_over(const std::vector<std::string>& files);

/// Their names as text.
std::vector<std::string> text_of(const std::vector<std::filesystem::path>& files);

}  // namespace pergola::app
