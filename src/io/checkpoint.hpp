#pragma once
// Checkpoints: the whole state of a run in a file, and the folder of a run's checkpoints.
//
// A checkpoint is a text (JSON) that describes it and named blocks of bytes. checkpoint_table.hpp has the layout,
// checkpoint_writer.hpp and checkpoint_reader.hpp write and read one in pieces. With several ranks a checkpoint is a
// set: each rank writes a part, and rank 0, last, the file that names the parts. What always holds: every byte is under
// a checksum; a file has its name only when it is complete; a reader takes the newest whole checkpoint and reports the
// damaged ones; a set can be read with any number of ranks.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/state_source.hpp"

namespace pergola {

/// A checkpoint that is in memory as a whole.
struct Checkpoint {
  std::string description;  // JSON text: version, configuration, time, output schedule
  StateBlocks blocks;
};

/// A checkpoint that is whole as far as one can see, but of a format that this program does not read.
class OtherVersion : public Error {
 public:
  OtherVersion(const std::string& message, std::uint32_t version) : Error(ErrorKind::input, message), found(version) {}
  std::uint32_t found;  // 0: another byte order
};

/// Writes the next checkpoint of `directory` (magic, format version, checksums, atomic rename) and keeps the `kept`
/// newest. Makes the directory if there is none. CheckpointWriter writes one in pieces.
PERGOLA_API std::filesystem::path write_checkpoint(const std::filesystem::path& directory, const Checkpoint& checkpoint,
                                                   int threads = 1, int kept = 2);

/// What is found where checkpoints are kept, newest first, up to the first that can be used.
struct CheckpointSearch {
  enum class State { never_written, usable, none_usable };
  enum class Fault { none, other_version, damaged };
  struct Found {
    std::filesystem::path path;
    Fault fault = Fault::none;
    std::string reason;  // one sentence with the file and what is wrong with it; empty: usable
  };
  State state = State::never_written;
  std::vector<Found> found;  // if state is `usable` the last one is that

  const std::filesystem::path& usable() const { return found.back().path; }
};
/// Reads and checks every byte of the checkpoints of a directory until one is whole. Error(system) if the operating
/// system refuses.
CheckpointSearch search_checkpoints(const std::filesystem::path& directory, int threads = 1);

/// The newest complete checkpoint. A damaged one is reported through `warn` and the one before is taken; nothing when
/// there is none.
PERGOLA_API std::optional<Checkpoint> read_newest_checkpoint(const std::filesystem::path& directory,
                                                             const std::function<void(const std::string&)>& warn);

/// Reads one checkpoint file. Throws Error(input) on any damage: every byte is covered by a checksum. CheckpointReader
/// reads one in pieces.
Checkpoint read_checkpoint(const std::filesystem::path& path, int threads = 1);

/// One part of a checkpoint in several files (a set). Each part has the values of a range of the particles. One more
/// file names the parts and holds everything else; it is written last. CheckpointReader reads a set like one file, so a
/// run may resume with another number of ranks. The layout is in io/checkpoint_table.hpp.
struct CheckpointPart {
  std::int64_t count = 0;          // particles
  std::uint64_t end_checksum = 0;  // at the end of its table
};

/// Whether the file starts like a checkpoint.
bool is_checkpoint(const std::filesystem::path& path);

/// What a checkpoint file holds. All checksums are checked, a piece in memory at a time.
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

namespace pergola {

struct NumberedCheckpoint {
  std::uint64_t number;
  std::filesystem::path path;
};

/// checkpoint_000012.pgc and the like, newest first; empty if there is no such directory.
std::vector<NumberedCheckpoint> list_checkpoints(const std::filesystem::path& directory);

/// What the next checkpoint of a directory is called. Makes the directory.
std::filesystem::path next_checkpoint(const std::filesystem::path& directory);
/// A part of a set: checkpoint_000012.part_00003.pgp of checkpoint_000012.pgc.
std::filesystem::path checkpoint_part(const std::filesystem::path& first, std::int64_t part);
/// The file and the existing files of its parts.
std::vector<std::filesystem::path> checkpoint_files(const std::filesystem::path& first);

/// Keeps `newest` and the `kept` − 1 newest other checkpoints, complete ones first. Removes the rest with their parts,
/// and what a killed process left.
void remove_old_checkpoints(const std::filesystem::path& directory, const std::filesystem::path& newest, int kept);

}  // namespace pergola
