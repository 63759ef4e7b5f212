#pragma once
// Writes checkpoints in pieces.
//
// The sizes of all blocks are known first, so the places in the file are fixed and the disk space is reserved. Then the
// bytes come in order: one thread writes them while others form the checksums of their segments. The table at the front
// is written last, before the file gets its name.
// `queue_checkpoint` copies a state piece by piece for a `WriteQueue`, so that the steps of the run go on.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/host_device.hpp"
#include "base/state_source.hpp"
#include "io/checkpoint.hpp"
#include "io/write_queue.hpp"

namespace pergola {

/// Writes the next checkpoint of a directory in pieces, one of them in memory at a time. Calls may come from different
/// threads, one at a time. Without commit() nothing is left behind.
class CheckpointWriter {
 public:
  using Block = CheckpointSummary::Block;

  /// Reserves the bytes on the disk; throws Error(system) if it is full. `threads` form the checksums while one writes.
  CheckpointWriter(const std::filesystem::path& directory, const std::string& description, std::vector<Block> blocks,
                   int threads = 1);
  /// A file of a set (CheckpointPart), which has its name and format version.
  struct FileOfSet {
    std::filesystem::path path;
    std::uint32_t version;
  };
  CheckpointWriter(const FileOfSet& file, const std::string& description, std::vector<Block> blocks, int threads = 1);
  ~CheckpointWriter();

  /// The next bytes of the blocks, one block after the other in the order given.
  void append(const void* data, std::size_t bytes);
  /// Ends the file once all bytes are there, gives it its name and removes all but the `kept` newest checkpoints.
  std::filesystem::path commit(int kept = 2);
  /// Removes none. Returns the checksum at the end of its table.
  std::uint64_t commit_alone();

 private:
  struct Progress;
  void append_to_block(const char* data, std::uint64_t bytes);

  std::filesystem::path path_;
  int threads_;
  AtomicFile file_;
  std::unique_ptr<Progress> progress_;
};

/// How a checkpoint is written. None of it changes the bytes of the file.
struct CheckpointOptions {
  int threads = 1;                                   // that form checksums
  int kept = 2;                                      // checkpoints, this one among them
  std::int64_t piece_bytes = std::int64_t{1} << 26;  // copied at a time
};

/// Writes the next checkpoint of a directory with one piece in memory at a time.
std::filesystem::path write_checkpoint(const std::filesystem::path& directory, const std::string& description,
                                       const StateSource& state, const CheckpointOptions& options = {});

/// All ranges of a state, a piece in memory at a time.
void append_state(CheckpointWriter& writer, const StateSource& state, std::int64_t piece_bytes);
std::vector<CheckpointWriter::Block> blocks_of(const StateSource& state);

/// Copies the state piece by piece and has the queue write it: when this returns the state may change again. The
/// queue's bound is what may wait. done(path) is called on the queue's thread once the file has its name; a checkpoint
/// counts from then on.
void queue_checkpoint(WriteQueue& queue, const std::filesystem::path& directory, const std::string& description,
                      const StateSource& state, const CheckpointOptions& options = {},
                      std::function<void(const std::filesystem::path&)> done = nullptr);

/// Writes the ranges of `own` that have a value per particle. `first`: the name of the set, next_checkpoint().
CheckpointPart write_checkpoint_part(const std::filesystem::path& first, std::int64_t part, const StateSource& own,
                                     const CheckpointOptions& options = {});

/// Ends a set whose parts are all written, and removes all but the `kept` newest checkpoints. From `state` it takes the
/// ranges without a value per particle, and the names of the other ranges.
void write_checkpoint_set(const std::filesystem::path& first, const std::string& description, const StateSource& state,
                          const std::vector<CheckpointPart>& parts, const CheckpointOptions& options = {});

}  // namespace pergola
