#include "app/paper/session.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/stopwatch.hpp"

namespace pergola::app {

namespace {

std::string short_duration(double seconds) {
  return seconds < 120 ? fmt::format("{:.2g} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace

PaperSession::PaperSession(const Context& context, const PaperOptions& options)
    : context_(context), options_(options), device_(context.open_device()) {
  if (options_.output.empty() || !context_.speaks()) return;
  std::error_code refused;
  std::filesystem::create_directories(options_.output, refused);
  if (refused || !std::filesystem::is_directory(options_.output))
    throw Error(ErrorKind::system,
                fmt::format("{}: cannot make the folder: {}", options_.output,
                            refused ? refused.message() : std::string("there is a file of that name")));
}

std::optional<std::filesystem::path> PaperSession::file(const std::string& name) const {
  if (options_.output.empty() || !context_.speaks()) return std::nullopt;
  return std::filesystem::path(options_.output) / name;
}

void PaperSession::write_text(const std::string& name, const std::string& text) const {
  if (const auto path = file(name)) {
    AtomicFile target(*path);
    target.write(text);
    target.commit();
  }
}

void PaperSession::write_csv(const PaperTable& table) const {
  write_text(table.file_name(".csv"), table_csv(table, device_));
}

void PaperSession::run_sizes(PaperTable& table, const Growth& growth, const Measure& measure) const {
  if (const auto path = file(table.file_name(".csv")); path && options_.resume && std::filesystem::exists(*path))
    if (const auto rows = adopt_rows(table, read_text(*path), device_); rows > 0)
      context_.remark(fmt::format("{}: {} rows taken from {}", table.id(), rows, path->string()));

  double estimate = growth.fixed_seconds, spent = 0;
  std::int64_t last = 0;
  for (const auto& [n, published] : table.published_rows) {
    if (interrupted || (options_.max_n > 0 && n > options_.max_n)) break;
    if (last > 0) {
      const double ratio = std::pow(static_cast<double>(n) / static_cast<double>(last), growth.exponent);
      estimate = growth.fixed_seconds + std::max(0.0, table.row_seconds[last] - growth.fixed_seconds) * ratio;
    }
    last = n;
    if (table.our_rows.count(n) > 0) continue;
    if (!options_.full && spent + estimate > options_.budget_seconds) {
      table.notes.push_back(
          fmt::format("Not run: N = {} and more, estimated at {} of a budget of {}; see --budget and --full.", n,
                      short_duration(estimate), short_duration(options_.budget_seconds)));
      break;
    }
    context_.remark(fmt::format("{}: N = {}, about {}", table.id(), n, short_duration(estimate)));
    const auto begin = Clock::now();
    const auto row = measure(n);
    if (!row) break;
    const double seconds = seconds_since(begin);
    spent += seconds;
    table.our_rows[n] = *row;
    table.row_seconds[n] = seconds;
    write_csv(table);
  }
  if (interrupted) table.notes.push_back("Interrupted: the rows measured so far are kept.");
  write_csv(table);
}

}  // namespace pergola::app
