#include "outputs/output.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "io/snapshot.hpp"
#include "outputs/checkpoint_output.hpp"

// The list of outputs, limits of the write queue, and files with numbers in their names.
namespace pergola {

namespace {

std::vector<OutputEntry>& entries() {
  static std::vector<OutputEntry> all{energy_output(),   radii_output(),    audit_output(),     spectrum_output(),
                                      snapshot_output(), analysis_output(), checkpoint_output()};
  return all;
}

}  // namespace

const std::vector<OutputEntry>& output_entries() { return entries(); }

std::int64_t most_bytes_waiting(int ranks) {
  constexpr std::int64_t gib = std::int64_t{1} << 30, least = std::int64_t{1} << 26;
  const auto free = static_cast<std::int64_t>(Device::open("cpu", 1).memory().free_bytes());
  return std::max(least, std::clamp(free / 8, gib, 16 * gib) / ranks);
}

std::function<void()> begin_file(OutputContext& context) {
  constexpr int most_files_waiting = 4;
  if (context.files_waiting >= most_files_waiting) context.queue->drain();
  ++context.files_waiting;
  return [&context, begin = Clock::now()] {
    --context.files_waiting;
    context.longest_write_seconds = std::max(context.longest_write_seconds.load(), seconds_since(begin));
  };
}

void register_output(OutputEntry entry, std::vector<NumberKey> keys) {
  entries().push_back(std::move(entry));
  for (auto& key : keys) register_number_key(std::move(key));
}

namespace fs = std::filesystem;

fs::path OutputContext::table(const std::string& name) const {
  const fs::path path = directory / name;
  std::error_code error;
  make_directories(path.parent_path(), error);
  if (error) throw_write_error(path.parent_path(), error.value());
  return path;
}

namespace {

/// The files that match a pattern, with their numbers. A folder before the name need not be there.
std::vector<std::pair<std::int64_t, fs::path>> find_files(const fs::path& directory, const std::string& pattern) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  const fs::path folder = directory / fs::path(pattern).parent_path();
  const std::string name = fs::path(pattern).filename().string();
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (const auto number = number_in_name(at->path().filename().string(), name))
      found.emplace_back(*number, at->path());
  if (error == std::errc::no_such_file_or_directory && fs::path(pattern).has_parent_path()) return {};
  if (error) throw Error(ErrorKind::system, fmt::format("{}: cannot be read: {}", directory.string(), error.message()));
  return found;
}

std::optional<std::int64_t> number_of_one(const std::string& name, const std::string& pattern) {
  const auto mark = pattern.find('#');
  if (mark == std::string::npos) return name == pattern ? std::optional<std::int64_t>(0) : std::nullopt;
  const std::string start = pattern.substr(0, mark), end = pattern.substr(mark + 1);
  if (!name.starts_with(start) || !name.ends_with(end) || name.size() <= start.size() + end.size()) return std::nullopt;
  return parse_integer(name.substr(start.size(), name.size() - start.size() - end.size()));
}

}  // namespace

std::optional<std::int64_t> number_in_name(const std::string& name, const std::string& pattern) {
  if (const auto number = number_of_one(name, pattern)) return number;
  const auto part = part_name(name);
  return part ? number_of_one(part->whole.string(), pattern) : std::nullopt;
}

std::map<std::int64_t, fs::path> numbered_files(const fs::path& directory, const std::string& pattern) {
  std::map<std::int64_t, fs::path> first;
  for (const auto& [number, path] : find_files(directory, pattern)) {
    const auto part = part_name(path.filename());
    if (!part || part->number == 0) first[number] = path;
  }
  return first;
}

void remove_numbered_files(const fs::path& directory, const std::string& pattern, std::int64_t number) {
  for (const auto& [k, path] : find_files(directory, pattern))
    if (std::error_code error; k >= number && !fs::remove(path, error) && error)
      throw Error(ErrorKind::system, fmt::format("{}: cannot be removed: {}", path.string(), error.message()));
}

}  // namespace pergola
