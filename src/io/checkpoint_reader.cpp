#include "io/checkpoint_reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "device/parallel.hpp"

namespace pergola {

using checkpoint::Entry;

namespace {

std::uint64_t segment_bytes(const checkpoint::Table& table, const Entry& entry, std::uint64_t segment) {
  const std::uint64_t full = table.segment_of(entry);
  return std::min(full, entry.bytes - segment * full);
}

std::uint64_t segment_count(const checkpoint::Table& table, const Entry& entry) {
  return entry.bytes == 0 ? 0 : (entry.bytes - 1) / table.segment_of(entry) + 1;
}

}  // namespace

CheckpointReader::CheckpointReader(const std::filesystem::path& path, int threads)
    : file_(path), threads_(threads), table_(checkpoint::read_table(file_)) {
  const Entry& first = table_.entries.front();
  description_.resize(first.bytes);
  read_entry(first, 0, description_.data(), first.bytes);
}

std::vector<std::string> CheckpointReader::names() const {
  std::vector<std::string> names;
  for (std::size_t b = 1; b < table_.entries.size(); ++b) names.push_back(table_.entries[b].name);
  return names;
}

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

std::uint64_t CheckpointReader::bytes(const std::string& name) const { return need(name).bytes; }

void CheckpointReader::read(const std::string& name, std::uint64_t first, void* to, std::uint64_t count) {
  const Entry& entry = need(name);
  if (first > entry.bytes || count > entry.bytes - first)
    throw Error(ErrorKind::input, fmt::format("{}: block {} has {} bytes, expected {} from byte {} on", path().string(),
                                              name, entry.bytes, count, first));
  read_entry(entry, first, static_cast<char*>(to), count);
}

void CheckpointReader::read_segment(const Entry& entry, std::uint64_t segment, char* to) const {
  const std::uint64_t count = segment_bytes(table_, entry, segment);
  file_.read(entry.offset + static_cast<std::int64_t>(segment * table_.segment_of(entry)), to, count);
  if (checkpoint::checksum(to, count) != entry.checksums[segment])
    checkpoint::fail_damaged(path(), fmt::format("the checksum of block {} does not match", entry.name));
}

const std::vector<char>& CheckpointReader::held_segment(const Entry& entry, std::uint64_t segment) {
  if (held_entry_ == &entry && held_number_ == segment) return held_;
  held_entry_ = nullptr;
  held_.resize(segment_bytes(table_, entry, segment));
  read_segment(entry, segment, held_.data());
  held_entry_ = &entry;
  held_number_ = segment;
  return held_;
}

void CheckpointReader::read_entry(const Entry& entry, std::uint64_t first, char* to, std::uint64_t count) {
  if (count == 0) return;
  const std::uint64_t segment = table_.segment_of(entry), end = first + count;
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

void CheckpointReader::verify() {
  for (const Entry& entry : table_.entries) {
    const auto count = static_cast<std::int64_t>(segment_count(table_, entry));
    parallel_for(threads_, count, [&](std::int64_t s) {
      std::vector<char> bytes(segment_bytes(table_, entry, static_cast<std::uint64_t>(s)));
      read_segment(entry, static_cast<std::uint64_t>(s), bytes.data());
    });
  }
}

}  // namespace pergola
