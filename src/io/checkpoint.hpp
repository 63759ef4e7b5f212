#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/state_blocks.hpp"

namespace pergola {

struct Checkpoint {
  std::string description;  // JSON text: version, configuration, time, output schedule
  StateBlocks blocks;
};

/// Writes the next checkpoint of `directory` (magic, format version, a checksum per block, atomic rename) and keeps the
/// two newest. Makes the directory where there is none.
std::filesystem::path write_checkpoint(const std::filesystem::path& directory, const Checkpoint& checkpoint);

/// The newest complete checkpoint. A damaged one is reported through `warn` and the one before is taken; nothing when
/// there is none.
std::optional<Checkpoint> read_newest_checkpoint(const std::filesystem::path& directory,
                                                 const std::function<void(const std::string&)>& warn);

/// Reads one checkpoint file. Throws Error(input) on any damage: every byte is covered by a checksum.
Checkpoint read_checkpoint(const std::filesystem::path& path);

/// Whether the file starts like a checkpoint.
bool is_checkpoint(const std::filesystem::path& path);

/// What a checkpoint file holds. All checksums are checked, one block in memory at a time.
struct CheckpointSummary {
  struct Block {
    std::string name;
    std::uint64_t bytes = 0;
  };
  std::uint32_t format_version = 0;
  std::string description;
  std::vector<Block> blocks;
};
CheckpointSummary inspect_checkpoint(const std::filesystem::path& path);

}  // namespace pergola
