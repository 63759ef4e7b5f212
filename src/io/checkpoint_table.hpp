#pragma once
// What stands at the front of a checkpoint file. All numbers are in the byte order of the machine that wrote it.
//   magic "PERGOLAC", u32 byte-order mark, u32 format version, u32 number of blocks, u64 bytes of the table
//   table: u64 bytes of a segment; per block u32 name length, name, u64 bytes, and u64 XXH3 of each of its segments
//   (the
//     last one is shorter); the first block is the description
//   u64 XXH3 of everything before
//   the blocks, one after the other, up to the end of the file
// Version 5 is version 4 of the first file of a set: what has a value per particle is in its parts, files of version 4
// beside it, one after the other in the order of the input. Two of its blocks say which:
//   "parts": per part i64 particles, u64 XXH3 at the end of its table;  "part_fields": a line "NAME BYTES" per field
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/input_file.hpp"

namespace pergola::checkpoint {

inline constexpr std::string_view magic = "PERGOLAC";
inline constexpr std::uint32_t one_file = 4, first_of_set = 5;  // earlier ones are not read
inline constexpr std::string_view parts_block = "parts", fields_block = "part_fields";

/// A block of the file.
struct Entry {
  std::string name;
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> checksums;  // of its segments
  std::int64_t offset = 0;               // in the file
};

/// What stands before the blocks. The first entry is the description.
struct Table {
  std::uint32_t version = one_file;
  std::uint64_t end_checksum = 0;  // at the end of the table, as it was read
  std::uint64_t segment_bytes = std::uint64_t{1} << 22;
  std::vector<Entry> entries;

  /// Sizes the lists of checksums and finds the offsets. Returns the size of the file.
  std::int64_t lay_out();
  /// Everything before the blocks. Its last 8 bytes are the checksum of the rest.
  std::string head() const;
};

/// Reads and checks everything before the blocks, and that the file ends where they do. Throws OtherVersion or
/// Error(input).
Table read_table(const InputFile& file);

/// The checksum of a segment.
std::uint64_t checksum(const void* data, std::size_t bytes);

[[noreturn]] void fail_damaged(const std::filesystem::path& path, const std::string& what);

}  // namespace pergola::checkpoint
