#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/state_blocks.hpp"

namespace pergola {

struct Checkpoint {
  std::string description;  // JSON text: version, configuration, time, output schedule
  StateBlocks blocks;
};

/// Writes the next checkpoint of `directory` (magic, format version, a checksum per block, atomic rename) and keeps the
/// two newest.
std::filesystem::path write_checkpoint(const std::filesystem::path& directory, const Checkpoint& checkpoint);

/// The newest complete checkpoint. A damaged one is reported through `warn` and the one before is taken; nothing when
/// there is none.
std::optional<Checkpoint> read_newest_checkpoint(const std::filesystem::path& directory,
                                                 const std::function<void(const std::string&)>& warn);

}  // namespace pergola
