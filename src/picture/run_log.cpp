#include "picture/run_log.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola {

namespace {

std::string read_text(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error(ErrorKind::input, fmt::format("{}: is a directory, expected a CSV file", path.string()));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error(errno == EACCES ? ErrorKind::system : ErrorKind::input,
                fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> split_fields(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string> fields;
  for (;;) {
    const auto comma = line.find(',');
    auto field = line.substr(0, comma);
    while (field.starts_with(' ')) field.remove_prefix(1);
    while (field.ends_with(' ')) field.remove_suffix(1);
    fields.emplace_back(field);
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

RunLog RunLog::read(const std::filesystem::path& path) {
  RunLog log;
  log.path_ = path;
  const std::string content = read_text(path);
  std::string_view rest = content;
  std::size_t line_number = 0;
  for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    auto fields = split_fields(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    ++line_number;
    if (log.names_.empty()) {
      log.names_ = std::move(fields);
      log.columns_.resize(log.names_.size());
      continue;
    }
    if (fields.size() != log.names_.size())
      throw Error(ErrorKind::input, fmt::format("{}: line {} has {} fields, expected {} (as in line 1)", path.string(),
                                                line_number, fields.size(), log.names_.size()));
    for (std::size_t c = 0; c < fields.size(); ++c) log.columns_[c].push_back(std::move(fields[c]));
    ++log.rows_;
  }
  if (log.rows_ == 0)
    throw Error(ErrorKind::input,
                fmt::format("{}: expected a line of column names and at least one line of values", path.string()));
  return log;
}

const std::vector<std::string>& RunLog::text(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end())
    throw Error(ErrorKind::input,
                fmt::format("{}: has no column \"{}\", found {}", path_.string(), name, fmt::join(names_, ",")));
  return columns_[static_cast<std::size_t>(found - names_.begin())];
}

std::vector<double> RunLog::numbers(std::string_view name) const {
  const auto& column = text(name);
  std::vector<double> values;
  for (std::size_t i = 0; i < column.size(); ++i) {
    const auto value = parse_real(column[i]);
    if (!value)
      throw Error(ErrorKind::input, fmt::format("{}: line {}, column {}: expected a number, found \"{}\"",
                                                path_.string(), i + 2, name, column[i]));
    values.push_back(*value);
  }
  return values;
}

}  // namespace pergola
