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

/// Leaves `newest` and the `kept` − 1 newest of the others that look complete (else simply the newest), and removes
/// what a killed process left.
void remove_old_checkpoints(const std::filesystem::path& directory, const std::filesystem::path& newest, int kept);

}  // namespace pergola
