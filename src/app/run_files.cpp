// The files of a run as commands read them: see run_files.hpp.
//
// Names have the form PREFIX NUMBER ENDING. Of a snapshot in several files the first file stands for all.
#include "app/run_files.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "comm/shares.hpp"
#include "domain/spread_ids.hpp"
#include "io/snapshot.hpp"
#include "particles/particle_check.hpp"

#include <fmt/core.h>

#include <fstream>
#include <map>
#include <optional>

namespace pergola::app {

namespace fs = std::filesystem;

namespace {

/// "snap_012.hdf5" is prefix "snap_", number 12 and ending ".hdf5", and so is "snap_012.0.hdf5", the first of several
/// files of one snapshot.
struct NumberedName {
  std::string prefix, ending;
  std::int64_t number = 0;
  bool first = true;  // or the only file
};

/// None for names that do not end in a number before the ending.
std::optional<NumberedName> numbered(const fs::path& file) {
  const auto part = part_name(file);
  const std::string stem = (part ? part->whole : file).stem().string();
  const auto digits = stem.find_last_not_of("0123456789") + 1;  // npos + 1 = 0
  const auto number = parse_integer(stem.substr(digits));
  if (!number) return std::nullopt;
  return NumberedName{stem.substr(0, digits), file.extension().string(), *number, !part || part->number == 0};
}

}  // namespace

/// A file of a snapshot in several files stands for its series only if it is the first.
std::vector<fs::path> series_of(const fs::path& file) {
  const auto own = numbered(file);
  if (!own) return {file};
  const fs::path folder = file.parent_path().empty() ? "." : file.parent_path();
  std::map<std::int64_t, fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const auto name = numbered(entry.path());
    if (name && name->first && name->prefix == own->prefix && name->ending == own->ending)
      found.emplace(name->number, entry.path());
  }
  if (own->first) found.insert_or_assign(own->number, file);
  std::vector<fs::path> files;
  for (const auto& [number, path] : found) files.push_back(path);
  return files;
}

std::vector<fs::path> snapshots_in(const fs::path& directory) {
  if (!fs::is_directory(directory))
    throw Error(ErrorKind::input, fmt::format("{}: expected the directory of a run, found {}", directory.string(),
                                              fs::exists(directory) ? "something else" : "nothing"));
  std::error_code ignored;
  for (const char* const prefix : {"snap_", "plasma_"})
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      const auto name = numbered(entry.path());
      if (name && name->prefix == prefix && entry.is_regular_file(ignored)) return series_of(entry.path());
    }
  throw Error(ErrorKind::input,
              fmt::format("{}: expected the snapshots of a run (snap_000.hdf5, … or plasma_000000.h5, "
                          "…), found none",
                          directory.string()));
}

std::vector<std::string> spread_over(const std::vector<std::string>& files) {
  constexpr std::size_t most = 16;
  if (files.size() <= most) return files;
  std::vector<std::string> some;
  for (std::size_t k = 0; k < most; ++k) some.push_back(files[k * (files.size() - 1) / (most - 1)]);
  return some;
}

std::vector<std::string> text_of(const std::vector<fs::path>& files) {
  std::vector<std::string> names;
  for (const auto& file : files) names.push_back(file.string());
  return names;
}

nlohmann::json run_json(const std::filesystem::path& directory) {
  std::ifstream stream(directory / "run.json");
  auto record = nlohmann::json::parse(stream, nullptr, false);
  return record.is_object() ? record : nlohmann::json::object();
}

/// Every rank opens the file and reads its own range. Ids are then compared over all ranks.
Snapshot read_stretch(const std::string& file, Communicator& ranks) {
  Snapshot snapshot;
  on_all(ranks, [&] {
    SnapshotSource source(file);
    const Shares shares{source.count(), ranks.size()};
    source.read(shares.first(ranks.rank()), shares.count(ranks.rank()), snapshot.particles);
    ParticleCheck check(file, snapshot.particles.size(), source.threads());
    check.add(snapshot.particles);
    check.finish();
    snapshot.header = source.summary().header;
  });
  if (ranks.size() > 1) check_distributed_ids(ranks, file, snapshot.particles.id);
  return snapshot;
}

}  // namespace pergola::app
