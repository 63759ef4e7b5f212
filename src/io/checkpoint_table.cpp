#include "io/checkpoint_table.hpp"

#include <fmt/core.h>
#include <xxhash.h>

#include <cstring>

#include "base/error.hpp"
#include "io/checkpoint.hpp"

// Reading and writing the table (checkpoint_table.hpp has its layout). A reader trusts no number before it is checked:
// the fixed part first, then the length of the table against the file, then the checksum of both. Only then are names
// and lengths used. The size of the file follows from the table. So a truncated or longer file is found before any
// block is read. Every damage throws Error(input) that names the file; another version throws OtherVersion.
namespace pergola::checkpoint {

namespace {

constexpr std::uint32_t byte_order_mark = 0x01020304;
// Magic, mark, version, number of blocks, bytes of the table.
constexpr std::size_t fixed_bytes = 8 + 4 + 4 + 4 + 8;
// A damaged length must not make the reader ask for more memory than this.
constexpr std::uint64_t most_table_bytes = std::uint64_t{1} << 28;

template <class T>
void put(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Takes values off the front of a piece of a file.
class Taker {
 public:
  Taker(std::string_view text, const std::filesystem::path& path) : text_(text), path_(path) {}
  std::string_view take(std::uint64_t bytes) {
    if (bytes > text_.size()) fail_damaged(path_, "its table ends too early");
    const auto taken = text_.substr(0, bytes);
    text_.remove_prefix(bytes);
    return taken;
  }
  template <class T>
  T value() {
    T result;
    std::memcpy(&result, take(sizeof result).data(), sizeof result);
    return result;
  }
  std::size_t left() const { return text_.size(); }

 private:
  std::string_view text_;
  const std::filesystem::path& path_;
};

std::uint64_t segment_count(std::uint64_t bytes, std::uint64_t segment) {
  return bytes == 0 ? 0 : (bytes - 1) / segment + 1;
}

/// The checksums of a block in the table.
void take_checksums(Taker& taker, const Table& table, Entry& entry, const std::filesystem::path& path) {
  const std::uint64_t count = segment_count(entry.bytes, table.segment_bytes);
  if (count > taker.left() / sizeof(std::uint64_t)) fail_damaged(path, "its table ends too early");
  for (std::uint64_t s = 0; s < count; ++s) entry.checksums.push_back(taker.value<std::uint64_t>());
}

struct Fixed {
  std::uint32_t version, count;
  std::uint64_t table_bytes;
};

/// Another byte order or version is not damage: it throws OtherVersion, so that the user can use another program.
Fixed take_fixed(const std::string& text, std::uint64_t size, const std::filesystem::path& path) {
  Taker fixed(text, path);
  if (fixed.take(magic.size()) != magic) fail_damaged(path, "it does not start with PERGOLAC");
  const auto mark = fixed.value<std::uint32_t>();
  if (mark == __builtin_bswap32(byte_order_mark))
    throw OtherVersion(fmt::format("{}: checkpoint of a machine with another byte order than this one", path.string()),
                       0);
  if (mark != byte_order_mark) fail_damaged(path, "its mark of the byte order is none");
  const auto version = fixed.value<std::uint32_t>();
  const auto count = fixed.value<std::uint32_t>();
  const auto table_bytes = fixed.value<std::uint64_t>();
  if (version != one_file && version != first_of_set)
    throw OtherVersion(fmt::format("{}: checkpoint of format version {}, expected {} or {}", path.string(), version,
                                   one_file, first_of_set),
                       version);
  if (table_bytes > most_table_bytes || table_bytes > size - fixed_bytes - 8)
    fail_damaged(path, fmt::format("table of {} bytes in a file of {}", table_bytes, size));
  return {version, count, table_bytes};
}

}  // namespace

std::uint64_t checksum(const void* data, std::size_t bytes) { return XXH3_64bits(data, bytes); }

void fail_damaged(const std::filesystem::path& path, const std::string& what) {
  throw Error(ErrorKind::input, fmt::format("{}: damaged checkpoint: {}", path.string(), what));
}

/// The blocks start after the table, whose length is known from names and numbers of checksums alone. Therefore blocks
/// can be written before their checksums are known.
std::int64_t Table::lay_out() {
  std::uint64_t offset = fixed_bytes + sizeof(std::uint64_t) + sizeof(std::uint64_t);
  for (Entry& entry : entries) {
    entry.checksums.resize(segment_count(entry.bytes, segment_bytes));
    offset += 4 + entry.name.size() + 8 + 8 * entry.checksums.size();
  }
  for (Entry& entry : entries) {
    entry.offset = static_cast<std::int64_t>(offset);
    offset += entry.bytes;
  }
  return static_cast<std::int64_t>(offset);
}

std::string Table::head() const {
  std::string table;
  put(table, segment_bytes);
  for (const Entry& entry : entries) {
    put(table, static_cast<std::uint32_t>(entry.name.size()));
    table += entry.name;
    put(table, entry.bytes);
    for (const std::uint64_t one : entry.checksums) put(table, one);
  }
  std::string head{magic};
  put(head, byte_order_mark);
  put(head, version);
  put(head, static_cast<std::uint32_t>(entries.size()));
  put(head, static_cast<std::uint64_t>(table.size()));
  head += table;
  put(head, checksum(head.data(), head.size()));
  return head;
}

Table read_table(const InputFile& file) {
  const auto& path = file.path();
  const auto size = static_cast<std::uint64_t>(file.size());
  if (size < fixed_bytes + 8) fail_damaged(path, fmt::format("{} bytes, expected {} or more", size, fixed_bytes + 8));
  std::string text(fixed_bytes, '\0');
  file.read(0, text.data(), text.size());
  const Fixed fixed = take_fixed(text, size, path);
  text.resize(fixed_bytes + fixed.table_bytes);
  file.read(fixed_bytes, text.data() + fixed_bytes, fixed.table_bytes);
  std::uint64_t expected = 0;
  file.read(static_cast<std::int64_t>(text.size()), &expected, sizeof expected);
  if (expected != checksum(text.data(), text.size())) fail_damaged(path, "the checksum of its table does not match");

  Table table;
  table.version = fixed.version;
  table.end_checksum = expected;
  Taker taker(std::string_view(text).substr(fixed_bytes), path);
  table.segment_bytes = taker.value<std::uint64_t>();
  if (table.segment_bytes == 0) fail_damaged(path, "its segments have no bytes");
  std::uint64_t offset = text.size() + sizeof expected;
  for (std::uint32_t b = 0; b < fixed.count; ++b) {
    Entry entry;
    entry.name = taker.take(taker.value<std::uint32_t>());
    entry.bytes = taker.value<std::uint64_t>();
    entry.offset = static_cast<std::int64_t>(offset);
    if (entry.bytes > size - offset)
      fail_damaged(path, fmt::format("block {} has {} bytes, but the file ends {} bytes after its start", entry.name,
                                     entry.bytes, size - offset));
    take_checksums(taker, table, entry, path);
    offset += entry.bytes;
    table.entries.push_back(std::move(entry));
  }
  if (taker.left() > 0 || table.entries.empty()) fail_damaged(path, "its table does not match its number of blocks");
  if (offset != size) fail_damaged(path, fmt::format("{} bytes, expected {}", size, offset));
  return table;
}

}  // namespace pergola::checkpoint
