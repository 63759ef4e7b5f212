#include "io/checkpoint_reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "device/parallel.hpp"
#include "io/checkpoint.hpp"

// Reading a block: `read_entry` takes whole segments straight into the caller's memory, on all threads, and goes
// through the one held segment for the bytes at both ends. A segment is read and checked as a whole, so that no byte
// reaches the caller without its checksum. A block of a set is read from its parts, one after the other; one part is
// open at a time. Numbers in a file are never trusted before they are compared with the file's size.
namespace pergola {

using checkpoint::Entry;

namespace {

/// That a set may have; so that no number of bytes overflows.
constexpr std::int64_t most_particles = std::int64_t{1} << 48;

/// All segments of a block have the same length but the last one.
std::uint64_t bytes_of_segment(const checkpoint::Table& table, const Entry& entry, std::uint64_t segment) {
  return std::min(table.segment_bytes, entry.bytes - segment * table.segment_bytes);
}

std::uint64_t segment_count(const checkpoint::Table& table, const Entry& entry) {
  return entry.bytes == 0 ? 0 : (entry.bytes - 1) / table.segment_bytes + 1;
}

}  // namespace

/// Reads the table and the description; blocks are read when they are asked for.
CheckpointReader::CheckpointReader(const std::filesystem::path& path, int threads)
    : file_(path), threads_(threads), table_(checkpoint::read_table(file_)) {
  const Entry& first = table_.entries.front();
  description_.resize(first.bytes);
  read_entry(first, 0, description_.data(), first.bytes);
  if (table_.version == checkpoint::first_of_set) read_set();
}

/// The two blocks of a set's first file: `parts` is an array of CheckpointPart; `fields` is text, a line "name bytes"
/// for each block that the parts share, with the bytes of one particle.
void CheckpointReader::read_set() {
  const std::string parts(checkpoint::parts_block), fields(checkpoint::fields_block);
  if (!find(parts) || !find(fields)) checkpoint::fail_damaged(path(), "it names no parts");
  set_.parts = get<CheckpointPart>(parts, static_cast<std::int64_t>(bytes(parts) / sizeof(CheckpointPart)));
  for (const CheckpointPart& one : set_.parts) {
    if (one.count < 0 || one.count > most_particles - set_.count)
      checkpoint::fail_damaged(path(), fmt::format("a part with {} particles", one.count));
    set_.count += one.count;
  }
  const auto text = get<char>(fields, static_cast<std::int64_t>(bytes(fields)));
  for (auto begin = text.begin(); begin != text.end();) {
    const auto end = std::find(begin, text.end(), '\n'), space = std::find(begin, end, ' ');
    const auto value = space == end ? std::nullopt : parse_unsigned(std::string(space + 1, end));
    if (end == text.end() || !value || *value == 0 || *value > 4096)
      checkpoint::fail_damaged(path(), "its list of fields is none");
    set_.value_bytes[std::string(begin, space)] = *value;
    begin = end + 1;
  }
}

/// Opens a part: one that was written with this file, not with another one of its name.
CheckpointReader& CheckpointReader::part(std::size_t number) {
  if (part_ && part_number_ == number) return *part_;
  part_.reset();
  const auto file = checkpoint_part(path(), static_cast<std::int64_t>(number));
  std::error_code error;
  if (!std::filesystem::exists(file, error) && !error)
    checkpoint::fail_damaged(path(), fmt::format("its part {} is missing", file.filename().string()));
  auto opened = std::make_unique<CheckpointReader>(file, threads_);
  if (opened->table_.end_checksum != set_.parts[number].end_checksum)
    checkpoint::fail_damaged(path(), fmt::format("its part {} belongs to another one", file.filename().string()));
  part_ = std::move(opened);
  part_number_ = number;
  return *part_;
}

/// Bytes of a field, of which each part has a stretch.
void CheckpointReader::read_parts(const std::string& name, std::uint64_t first, char* to, std::uint64_t count) {
  const std::uint64_t value = set_.value_bytes.at(name);
  std::uint64_t begin = 0;  // of a part's stretch
  for (std::size_t k = 0; k < set_.parts.size() && count > 0; ++k) {
    const std::uint64_t length = static_cast<std::uint64_t>(set_.parts[k].count) * value;
    if (first < begin + length) {
      const std::uint64_t now = std::min(count, begin + length - first);
      part(k).read(name, first - begin, to, now);
      first += now, to += now, count -= now;
    }
    begin += length;
  }
}

/// Without the two blocks that describe a set; with the blocks of its parts.
std::vector<std::string> CheckpointReader::names() const {
  std::vector<std::string> names;
  for (std::size_t b = 1; b < table_.entries.size(); ++b)
    if (const auto& name = table_.entries[b].name;
        table_.version != checkpoint::first_of_set ||
        (name != checkpoint::parts_block && name != checkpoint::fields_block))
      names.push_back(name);
  for (const auto& [name, value_bytes] : set_.value_bytes) names.push_back(name);
  return names;
}

/// The first entry is the description, which has no name for callers.
const Entry* CheckpointReader::find(const std::string& name) const {
  const auto found = std::find_if(table_.entries.begin() + 1, table_.entries.end(),
                                  [&](const Entry& entry) { return entry.name == name; });
  return found == table_.entries.end() ? nullptr : &*found;
}

const Entry& CheckpointReader::need(const std::string& name) const {
  const Entry* entry = find(name);
  if (!entry) throw Error(ErrorKind::input, fmt::format("{}: block {} is missing", path().string(), name));
  return *entry;
}

std::uint64_t CheckpointReader::bytes(const std::string& name) const {
  const auto field = set_.value_bytes.find(name);
  return field == set_.value_bytes.end() ? need(name).bytes : field->second * static_cast<std::uint64_t>(set_.count);
}

void CheckpointReader::read(const std::string& name, std::uint64_t first, void* to, std::uint64_t count) {
  const std::uint64_t found = bytes(name);
  if (first > found || count > found - first)
    throw Error(ErrorKind::input, fmt::format("{}: block {} has {} bytes, expected {} from byte {} on", path().string(),
                                              name, found, count, first));
  if (set_.value_bytes.contains(name)) return read_parts(name, first, static_cast<char*>(to), count);
  read_entry(need(name), first, static_cast<char*>(to), count);
}

void CheckpointReader::read_segment(const Entry& entry, std::uint64_t segment, char* to) const {
  const std::uint64_t count = bytes_of_segment(table_, entry, segment);
  file_.read(entry.offset + static_cast<std::int64_t>(segment * table_.segment_bytes), to, count);
  if (checkpoint::checksum(to, count) != entry.checksums[segment])
    checkpoint::fail_damaged(path(), fmt::format("the checksum of block {} does not match", entry.name));
}

/// The segment that was read last. A failed read leaves none, so that no unchecked byte is taken later.
const std::vector<char>& CheckpointReader::held_segment(const Entry& entry, std::uint64_t segment) {
  if (held_entry_ == &entry && held_number_ == segment) return held_;
  held_entry_ = nullptr;
  held_.resize(bytes_of_segment(table_, entry, segment));
  read_segment(entry, segment, held_.data());
  held_entry_ = &entry;
  held_number_ = segment;
  return held_;
}

void CheckpointReader::read_entry(const Entry& entry, std::uint64_t first, char* to, std::uint64_t count) {
  if (count == 0) return;
  const std::uint64_t segment = table_.segment_bytes, end = first + count;
  // Whole segments go straight to their place, on all threads.
  const std::uint64_t whole_begin = (first + segment - 1) / segment;
  const std::uint64_t whole_end = end == entry.bytes ? segment_count(table_, entry) : end / segment;
  if (whole_begin < whole_end)
    parallel_for(threads_, static_cast<std::int64_t>(whole_end - whole_begin), [&](std::int64_t k) {
      const std::uint64_t s = whole_begin + static_cast<std::uint64_t>(k);
      read_segment(entry, s, to + (s * segment - first));
    });
  const auto copy_part = [&](std::uint64_t from, std::uint64_t until) {
    if (from >= until) return;
    const std::uint64_t s = from / segment;
    std::memcpy(to + (from - first), held_segment(entry, s).data() + (from - s * segment), until - from);
  };
  if (whole_begin >= whole_end) {  // within one segment or across one border
    const std::uint64_t border = std::min(end, whole_begin * segment);
    copy_part(first, border);
    return copy_part(border, end);
  }
  copy_part(first, whole_begin * segment);
  copy_part(std::min(whole_end * segment, end), end);
}

/// Reads every byte of the file and its parts once, a segment per thread in memory.
void CheckpointReader::verify() {
  for (const Entry& entry : table_.entries) {
    const auto count = static_cast<std::int64_t>(segment_count(table_, entry));
    parallel_for(threads_, count, [&](std::int64_t s) {
      std::vector<char> bytes(bytes_of_segment(table_, entry, static_cast<std::uint64_t>(s)));
      read_segment(entry, static_cast<std::uint64_t>(s), bytes.data());
    });
  }
  for (std::size_t k = 0; k < set_.parts.size(); ++k) {
    part(k).verify();
    for (const auto& [name, value_bytes] : set_.value_bytes)
      if (part(k).bytes(name) != value_bytes * static_cast<std::uint64_t>(set_.parts[k].count))
        checkpoint::fail_damaged(path(), fmt::format("its part {} has another number of particles", k));
  }
}

}  // namespace pergola
