#include <fmt/core.h>

#include <system_error>

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/snapshot.hpp"
#include "outputs/output.hpp"

namespace pergola {

namespace fs = std::filesystem;

namespace {

/// Files of the directory that the pattern describes, each with its number.
std::vector<std::pair<std::int64_t, fs::path>> find_files(const fs::path& directory, const std::string& pattern) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (const auto number = number_in_name(at->path().filename().string(), pattern))
      found.emplace_back(*number, at->path());
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
