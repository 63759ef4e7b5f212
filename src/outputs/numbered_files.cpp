#include <fmt/core.h>

#include <system_error>

#include "base/error.hpp"
#include "base/text.hpp"
#include "outputs/output.hpp"

namespace pergola {

namespace fs = std::filesystem;

std::optional<std::int64_t> number_in_name(const std::string& name, const std::string& pattern) {
  const auto mark = pattern.find('#');
  if (mark == std::string::npos) return name == pattern ? std::optional<std::int64_t>(0) : std::nullopt;
  const std::string start = pattern.substr(0, mark), end = pattern.substr(mark + 1);
  if (!name.starts_with(start) || !name.ends_with(end) || name.size() <= start.size() + end.size()) return std::nullopt;
  return parse_integer(name.substr(start.size(), name.size() - start.size() - end.size()));
}

void remove_numbered_files(const fs::path& directory, const std::string& pattern, std::int64_t number) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (const auto k = number_in_name(at->path().filename().string(), pattern); k && *k >= number)
      found.push_back(at->path());
  if (error) throw Error(ErrorKind::system, fmt::format("{}: cannot be read: {}", directory.string(), error.message()));
  for (const auto& path : found)
    if (!fs::remove(path, error) && error)
      throw Error(ErrorKind::system, fmt::format("{}: cannot be removed: {}", path.string(), error.message()));
}

}  // namespace pergola
