#pragma once
// The folder that a run's checkpoints are kept in.
#include <cstdint>
#include <filesystem>
#include <vector>

namespace pergola {

struct NumberedCheckpoint {
  std::uint64_t number;
  std::filesystem::path path;
};

/// checkpoint_000012.pgc and others of the kind, newest first. Nothing where there is no such directory.
std::vector<NumberedCheckpoint> list_checkpoints(const std::filesystem::path& directory);

/// What the next checkpoint of a directory is called. Makes the directory.
std::filesystem::path next_checkpoint(const std::filesystem::path& directory);
/// A part of a set (io/checkpoint_set.hpp): checkpoint_000012.part_00003.pgp of checkpoint_000012.pgc.
std::filesystem::path checkpoint_part(const std::filesystem::path& first, std::int64_t part);
/// The file, and those that are there of its parts.
std::vector<std::filesystem::path> checkpoint_files(const std::filesystem::path& first);

/// Leaves `newest` and the `kept` − 1 newest of the others that look complete (else simply the newest), and removes
/// what a killed process left. Parts go with their set.
void remove_old_checkpoints(const std::filesystem::path& directory, const std::filesystem::path& newest, int kept);

}  // namespace pergola
