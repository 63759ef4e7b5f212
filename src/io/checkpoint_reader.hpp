#pragma once
// Reads checkpoints in pieces.
//
// A block is stored in segments of 4 MiB, each with a checksum. A piece that covers whole segments is read into place
// and checked on all threads. The segment that a piece ends in is kept, because the next piece begins there. In a set
// the fields per particle come from the parts, of which one is open at a time.
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/state_source.hpp"
#include "io/checkpoint.hpp"
#include "io/checkpoint_table.hpp"
#include "io/input_file.hpp"

namespace pergola {

/// Reads a checkpoint in pieces: one file, or a set of them (CheckpointPart). Every byte that it gives has been
/// checked. Throws OtherVersion if the format is another one, Error(input) on any damage and where a part of a set
/// is missing or another one's.
class CheckpointReader final : public StateInput {
 public:
  explicit CheckpointReader(const std::filesystem::path& path, int threads = 1);

  const std::filesystem::path& path() const { return file_.path(); }
  std::uint32_t format_version() const { return table_.version; }
  const std::string& description() const { return description_; }
  /// The blocks without the description, in the order of the file.
  std::vector<std::string> names() const override;
  bool has(const std::string& name) const override { return find(name) || set_.value_bytes.contains(name); }
  std::uint64_t bytes(const std::string& name) const override;
  void read(const std::string& name, std::uint64_t first, void* to, std::uint64_t bytes) override;
  /// Checks every byte of the file, or of all files of the set, a few segments in memory at a time.
  void verify();

 private:
  /// What of a set is in its parts.
  struct Set {
    std::map<std::string, std::uint64_t> value_bytes;  // of each field
    std::vector<CheckpointPart> parts;
    std::int64_t count = 0;  // particles in all
  };
  void read_set();
  CheckpointReader& part(std::size_t number);
  void read_parts(const std::string& name, std::uint64_t first, char* to, std::uint64_t bytes);
  const checkpoint::Entry* find(const std::string& name) const;
  const checkpoint::Entry& need(const std::string& name) const;
  void read_entry(const checkpoint::Entry& entry, std::uint64_t first, char* to, std::uint64_t bytes);
  void read_segment(const checkpoint::Entry& entry, std::uint64_t segment, char* to) const;
  const std::vector<char>& held_segment(const checkpoint::Entry& entry, std::uint64_t segment);

  InputFile file_;
  int threads_;
  checkpoint::Table table_;
  std::string description_;
  // The segment that a piece ended in: the next piece begins there.
  const checkpoint::Entry* held_entry_ = nullptr;
  std::uint64_t held_number_ = 0;
  std::vector<char> held_;
  Set set_;
  // One part at a time is open.
  std::unique_ptr<CheckpointReader> part_;
  std::size_t part_number_ = 0;
};

}  // namespace pergola
