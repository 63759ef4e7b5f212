// A checkpoint file, all numbers in the byte order of the machine that wrote it:
//   magic "PERGOLAC", u32 byte-order mark, u32 format version, u32 number of blocks, u64 bytes of the table
//   table: per block u32 name length, name, u64 bytes, u64 XXH3 of the bytes; the first block is the description
//   u64 XXH3 of everything before
//   the blocks, one after the other, up to the end of the file
#include "io/checkpoint.hpp"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "io/input_file.hpp"

namespace pergola {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view magic = "PERGOLAC";
constexpr std::uint32_t byte_order_mark = 0x01020304;
constexpr std::uint32_t format_version = 1;
constexpr std::size_t fixed_bytes = 8 + 4 + 4 + 4 + 8;
constexpr std::uint64_t most_table_bytes = std::uint64_t{1} << 26;

struct Entry {
  std::string name;
  std::uint64_t bytes = 0, checksum = 0;
  std::int64_t offset = 0;
};

struct Table {
  std::uint32_t version = 0;
  std::vector<Entry> entries;
};

template <class T>
void put(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Takes values off the front of a piece of a file.
class Taker {
 public:
  Taker(std::string_view text, const fs::path& path) : text_(text), path_(path) {}
  std::string_view take(std::uint64_t bytes) {
    if (bytes > text_.size())
      throw Error(ErrorKind::input, fmt::format("{}: damaged checkpoint: its table ends too early", path_.string()));
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
  bool empty() const { return text_.empty(); }

 private:
  std::string_view text_;
  const fs::path& path_;
};

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw Error(ErrorKind::input, fmt::format("{}: damaged checkpoint: {}", path.string(), what));
}

/// Reads and checks everything before the blocks, and that the file ends where they do.
Table read_table(const InputFile& file) {
  const auto& path = file.path();
  const auto size = static_cast<std::uint64_t>(file.size());
  if (size < fixed_bytes + 8) fail(path, fmt::format("{} bytes, expected {} or more", size, fixed_bytes + 8));
  std::string text(fixed_bytes, '\0');
  file.read(0, text.data(), text.size());
  Taker fixed(text, path);
  if (fixed.take(magic.size()) != magic) fail(path, "it does not start with PERGOLAC");
  if (fixed.value<std::uint32_t>() != byte_order_mark) fail(path, "it has another byte order than this machine");
  Table table;
  table.version = fixed.value<std::uint32_t>();
  const auto count = fixed.value<std::uint32_t>();
  const auto table_bytes = fixed.value<std::uint64_t>();
  if (table_bytes > most_table_bytes || table_bytes > size - fixed_bytes - 8)
    fail(path, fmt::format("table of {} bytes in a file of {}", table_bytes, size));
  text.resize(fixed_bytes + table_bytes);
  file.read(fixed_bytes, text.data() + fixed_bytes, table_bytes);
  std::uint64_t checksum = 0;
  file.read(static_cast<std::int64_t>(text.size()), &checksum, sizeof checksum);
  if (checksum != XXH3_64bits(text.data(), text.size())) fail(path, "the checksum of its table does not match");
  if (table.version != format_version)
    throw Error(ErrorKind::input, fmt::format("{}: checkpoint of format version {}, expected {}", path.string(),
                                              table.version, format_version));

  Taker taker(std::string_view(text).substr(fixed_bytes), path);
  std::uint64_t offset = text.size() + sizeof checksum;
  for (std::uint32_t b = 0; b < count; ++b) {
    Entry entry;
    entry.name = taker.take(taker.value<std::uint32_t>());
    entry.bytes = taker.value<std::uint64_t>();
    entry.checksum = taker.value<std::uint64_t>();
    entry.offset = static_cast<std::int64_t>(offset);
    if (entry.bytes > size - offset)
      fail(path, fmt::format("block {} has {} bytes, but the file ends {} bytes after its start", entry.name,
                             entry.bytes, size - offset));
    offset += entry.bytes;
    table.entries.push_back(std::move(entry));
  }
  if (!taker.empty() || table.entries.empty()) fail(path, "its table does not match its number of blocks");
  if (offset != size) fail(path, fmt::format("{} bytes, expected {}", size, offset));
  return table;
}

template <class Bytes>
void read_block(const InputFile& file, const Entry& entry, Bytes& bytes) {
  bytes.resize(entry.bytes);
  file.read(entry.offset, bytes.data(), bytes.size());
  if (XXH3_64bits(bytes.data(), bytes.size()) != entry.checksum)
    fail(file.path(), fmt::format("the checksum of block {} does not match", entry.name));
}

/// The number in checkpoint_000012.pgc.
std::optional<std::uint64_t> checkpoint_number(const fs::path& path) {
  const std::string name = path.filename().string();
  constexpr std::string_view prefix = "checkpoint_", suffix = ".pgc";
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
    return std::nullopt;
  const auto digits = std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return parse_unsigned(digits);
}

struct Numbered {
  std::uint64_t number;
  fs::path path;
};

/// The checkpoints of a directory, newest first.
std::vector<Numbered> list_checkpoints(const fs::path& directory) {
  std::vector<Numbered> found;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (const auto number = checkpoint_number(it->path())) found.push_back({*number, it->path()});
  if (error && error != std::errc::no_such_file_or_directory)
    throw Error(ErrorKind::system, fmt::format("{}: cannot be read: {}", directory.string(), error.message()));
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.number > b.number; });
  return found;
}

bool looks_complete(const fs::path& path) {
  try {
    read_table(InputFile(path));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Leaves `newest` and the newest of the others that looks complete (else simply the newest), and removes what a killed
/// process left.
void remove_old(const fs::path& directory, const fs::path& newest) {
  auto others = list_checkpoints(directory);
  std::erase_if(others, [&](const Numbered& other) { return other.path == newest; });
  auto kept = std::find_if(others.begin(), others.end(), [](const auto& other) { return looks_complete(other.path); });
  if (kept == others.end()) kept = others.begin();
  std::error_code ignored;
  for (auto it = others.begin(); it != others.end(); ++it)
    if (it != kept) fs::remove(it->path, ignored);
  std::vector<fs::path> stale;
  for (fs::directory_iterator it(directory, ignored), end; !ignored && it != end; it.increment(ignored))
    if (it->path().filename().string().find(temporary_mark) != std::string::npos) stale.push_back(it->path());
  for (const auto& path : stale) fs::remove(path, ignored);
}

}  // namespace

fs::path write_checkpoint(const fs::path& directory, const Checkpoint& checkpoint) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) throw_write_error(directory, error.value());

  std::vector<std::pair<std::string_view, std::string_view>> blocks{{"description", checkpoint.description}};
  for (const auto& [name, bytes] : checkpoint.blocks.blocks())
    blocks.emplace_back(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  std::string table;
  for (const auto& [name, bytes] : blocks) {
    put(table, static_cast<std::uint32_t>(name.size()));
    table += name;
    put(table, static_cast<std::uint64_t>(bytes.size()));
    put(table, static_cast<std::uint64_t>(XXH3_64bits(bytes.data(), bytes.size())));
  }
  std::string head{magic};
  put(head, byte_order_mark);
  put(head, format_version);
  put(head, static_cast<std::uint32_t>(blocks.size()));
  put(head, static_cast<std::uint64_t>(table.size()));
  head += table;
  put(head, static_cast<std::uint64_t>(XXH3_64bits(head.data(), head.size())));

  const auto existing = list_checkpoints(directory);
  const std::uint64_t number = existing.empty() ? 1 : existing.front().number + 1;
  const fs::path path = directory / fmt::format("checkpoint_{:06}.pgc", number);
  AtomicFile file(path);
  file.write(head);
  for (const auto& [name, bytes] : blocks) file.write(bytes);
  file.commit();
  remove_old(directory, path);
  return path;
}

Checkpoint read_checkpoint(const fs::path& path) {
  const InputFile file(path);
  const Table table = read_table(file);
  Checkpoint checkpoint;
  read_block(file, table.entries.front(), checkpoint.description);
  for (std::size_t b = 1; b < table.entries.size(); ++b)
    read_block(file, table.entries[b], checkpoint.blocks.blocks()[table.entries[b].name]);
  return checkpoint;
}

std::optional<Checkpoint> read_newest_checkpoint(const fs::path& directory,
                                                 const std::function<void(const std::string&)>& warn) {
  for (const auto& [number, path] : list_checkpoints(directory)) {
    try {
      return read_checkpoint(path);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      if (warn) warn(error.what());
    }
  }
  return std::nullopt;
}

bool is_checkpoint(const fs::path& path) {
  const InputFile file(path);
  if (file.size() < static_cast<std::int64_t>(magic.size())) return false;
  std::string start(magic.size(), '\0');
  file.read(0, start.data(), start.size());
  return start == magic;
}

CheckpointSummary inspect_checkpoint(const fs::path& path) {
  const InputFile file(path);
  const Table table = read_table(file);
  CheckpointSummary summary;
  summary.format_version = table.version;
  read_block(file, table.entries.front(), summary.description);
  std::vector<char> bytes;
  for (std::size_t b = 1; b < table.entries.size(); ++b) {
    read_block(file, table.entries[b], bytes);
    summary.blocks.push_back({table.entries[b].name, table.entries[b].bytes});
  }
  return summary;
}

}  // namespace pergola
