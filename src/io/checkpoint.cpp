#include "io/checkpoint.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "io/checkpoint_reader.hpp"
#include "io/checkpoint_table.hpp"
#include "io/checkpoint_writer.hpp"

// The folder of a run's checkpoints. Names are checkpoint_000012.pgc and, for the parts of a set, beside it
// checkpoint_000012.part_00003.pgp. Numbers grow, and are never used again while a checkpoint with a larger one exists.
// A part belongs to the set of its name only if its checksum is the one that the set's first file states.
// Removing starts with what cannot be read, so that `kept` whole checkpoints stay.
namespace pergola {

namespace fs = std::filesystem;

namespace {

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

// A part has another suffix, so that no search for checkpoints finds it.
constexpr std::string_view part_mark = ".part_", part_suffix = ".pgp";

/// The first file of the set that this is a part of, by its name.
std::optional<fs::path> set_of_part(const fs::path& path) {
  const std::string name = path.filename().string();
  const auto mark = name.find(part_mark);
  if (mark == std::string::npos || !name.ends_with(part_suffix)) return std::nullopt;
  return path.parent_path() / (name.substr(0, mark) + ".pgc");
}

/// By the table only: the checksums of the blocks are not formed, which would read the whole file.
bool looks_complete(const fs::path& path) {
  try {
    checkpoint::read_table(InputFile(path));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<NumberedCheckpoint> list_checkpoints(const fs::path& directory) {
  std::vector<NumberedCheckpoint> found;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (const auto number = checkpoint_number(it->path())) found.push_back({*number, it->path()});
  if (error && error != std::errc::no_such_file_or_directory)
    throw Error(ErrorKind::system, fmt::format("{}: cannot be read: {}", directory.string(), error.message()));
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.number > b.number; });
  return found;
}

fs::path next_checkpoint(const fs::path& directory) {
  std::error_code error;
  make_directories(directory, error);
  if (error) throw_write_error(directory, error.value());
  const auto existing = list_checkpoints(directory);
  const std::uint64_t number = existing.empty() ? 1 : existing.front().number + 1;
  return directory / fmt::format("checkpoint_{:06}.pgc", number);
}

fs::path checkpoint_part(const fs::path& first, std::int64_t part) {
  return fs::path(first).replace_extension(fmt::format("{}{:05}{}", part_mark, part, part_suffix));
}

/// The file itself and all parts of its name.
std::vector<fs::path> checkpoint_files(const fs::path& first) {
  std::vector<fs::path> files{first};
  std::error_code ignored;
  for (fs::directory_iterator it(first.parent_path(), ignored), end; !ignored && it != end; it.increment(ignored))
    if (set_of_part(it->path()) == first) files.push_back(it->path());
  return files;
}

void remove_old_checkpoints(const fs::path& directory, const fs::path& newest, int kept) {
  auto others = list_checkpoints(directory);
  std::erase_if(others, [&](const auto& other) { return other.path == newest; });
  // Whole ones first, each kind newest first.
  std::stable_partition(others.begin(), others.end(), [](const auto& other) { return looks_complete(other.path); });
  std::error_code ignored;
  for (std::size_t k = static_cast<std::size_t>(std::max(kept, 1)) - 1; k < others.size(); ++k)
    fs::remove(others[k].path, ignored);
  // Parts without a first file, and half-written files, are left by processes that were killed.
  std::vector<fs::path> stale;
  for (fs::directory_iterator it(directory, ignored), end; !ignored && it != end; it.increment(ignored)) {
    const auto set = set_of_part(it->path());
    std::error_code unknown;
    const bool left_behind = set && !fs::exists(*set, unknown) && !unknown;
    if (left_behind || it->path().filename().string().find(temporary_mark) != std::string::npos)
      stale.push_back(it->path());
  }
  for (const auto& path : stale) fs::remove(path, ignored);
}

fs::path write_checkpoint(const fs::path& directory, const Checkpoint& checkpoint, int threads, int kept) {
  std::vector<CheckpointWriter::Block> blocks;
  for (const auto& [name, bytes] : checkpoint.blocks.blocks()) blocks.push_back({name, bytes.size()});
  CheckpointWriter writer(directory, checkpoint.description, std::move(blocks), threads);
  for (const auto& [name, bytes] : checkpoint.blocks.blocks()) writer.append(bytes.data(), bytes.size());
  return writer.commit(kept);
}

/// All blocks at once, which needs memory for the whole state.
Checkpoint read_checkpoint(const fs::path& path, int threads) {
  CheckpointReader reader(path, threads);
  Checkpoint checkpoint;
  checkpoint.description = reader.description();
  for (const auto& name : reader.names()) {
    auto& bytes = checkpoint.blocks.blocks()[name];
    bytes.resize(reader.bytes(name));
    reader.read(name, 0, bytes.data(), bytes.size());
  }
  return checkpoint;
}

/// Stops at the first one that is whole, because reading every byte of large files takes long.
CheckpointSearch search_checkpoints(const fs::path& directory, int threads) {
  CheckpointSearch search;
  for (const auto& [number, path] : list_checkpoints(directory)) {
    CheckpointSearch::Found found{path, CheckpointSearch::Fault::none, ""};
    try {
      CheckpointReader(path, threads).verify();
    } catch (const OtherVersion& error) {
      found.fault = CheckpointSearch::Fault::other_version;
      found.reason = error.what();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      found.fault = CheckpointSearch::Fault::damaged;
      found.reason = error.what();
    }
    const bool usable = found.fault == CheckpointSearch::Fault::none;
    search.found.push_back(std::move(found));
    search.state = usable ? CheckpointSearch::State::usable : CheckpointSearch::State::none_usable;
    if (usable) break;
  }
  return search;
}

/// Only damage leads to the one before: a refusal of the operating system is thrown.
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

/// By the first eight bytes.
bool is_checkpoint(const fs::path& path) {
  const InputFile file(path);
  if (file.size() < static_cast<std::int64_t>(checkpoint::magic.size())) return false;
  std::string start(checkpoint::magic.size(), '\0');
  file.read(0, start.data(), start.size());
  return start == checkpoint::magic;
}

CheckpointSummary inspect_checkpoint(const fs::path& path) {
  CheckpointReader reader(path);
  reader.verify();
  CheckpointSummary summary{reader.format_version(), reader.description(), {}};
  for (const auto& name : reader.names()) summary.blocks.push_back({name, reader.bytes(name)});
  return summary;
}

}  // namespace pergola
