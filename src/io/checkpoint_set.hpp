#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "base/state_source.hpp"
#include "io/checkpoint_writer.hpp"

namespace pergola {

/// A checkpoint in several files: parts, each with the values of a stretch of the particles, and the file that names
/// them and holds all else, which is written last. CheckpointReader reads a set as if it were one file: whoever resumes
/// from it may have another number of ranks. The layout is in io/checkpoint_table.hpp.
struct CheckpointPart {
  std::int64_t count = 0;          // particles
  std::uint64_t end_checksum = 0;  // at the end of its table
};

/// Writes the ranges of `own` that have a value per particle. `first`: the name of the set, next_checkpoint().
CheckpointPart write_checkpoint_part(const std::filesystem::path& first, std::int64_t part, const StateSource& own,
                                     const CheckpointOptions& options = {});

/// Ends a set whose parts are all written, and removes all but the `kept` newest checkpoints. Of `state` the ranges are
/// taken that have no value per particle; of the others the names.
void write_checkpoint_set(const std::filesystem::path& first, const std::string& description, const StateSource& state,
                          const std::vector<CheckpointPart>& parts, const CheckpointOptions& options = {});

}  // namespace pergola
