#include "io/snapshot_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "io/checkpoint.hpp"

namespace pergola {

namespace fs = std::filesystem;

namespace {

std::string known_suffixes() {
  std::string text;
  for (const auto& entry : snapshot_formats())
    for (const auto& suffix : entry.suffixes)
      if (!suffix.empty()) text += (text.empty() ? "" : ", ") + suffix;
  return text;
}

std::string known_titles() {
  std::vector<std::string> titles;
  for (const auto& entry : snapshot_formats())
    if (titles.empty() || titles.back() != entry.title) titles.push_back(entry.title);
  return fmt::format("{}", fmt::join(titles, ", "));
}

}  // namespace

/// CSV is last, because its test accepts any text.
const std::vector<SnapshotFormatEntry>& snapshot_formats() {
  static const std::vector<SnapshotFormatEntry> all{hdf5_snapshot_format(), gadget1_snapshot_format(),
                                                    gadget2_snapshot_format(), csv_snapshot_format()};
  return all;
}

const SnapshotFormatEntry& snapshot_format(SnapshotFormat format) {
  const auto& all = snapshot_formats();
  return *std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.format == format; });
}

const SnapshotFormatEntry* find_snapshot_format(std::string_view name) {
  for (const auto& entry : snapshot_formats())
    if (entry.name == name) return &entry;
  return nullptr;
}

bool states_units(const std::optional<FileUnits>& units) {
  return units && !(units->length_cm == 1 && units->mass_g == 1 && units->velocity_cm_per_s == 1);
}

std::vector<std::string> not_carried(const SnapshotHeader& header, bool potentials, const SnapshotFormatEntry& format) {
  std::vector<std::string> names;
  if (potentials && !format.can.potentials) names.emplace_back("potentials");
  if (states_units(header.units) && !format.can.units) names.emplace_back("units");
  if (format.can.header) return names;
  if (header.time != 0) names.emplace_back("time");
  if (header.box_size != 0) names.emplace_back("box");
  if (header.hubble_param) names.emplace_back("cosmology");
  return names;
}

/// The name plays no part: files of other programs have all kinds of suffixes.
const SnapshotFormatEntry& format_of_file(const fs::path& path) {
  const InputFile file(path);
  if (file.size() == 0) throw Error(ErrorKind::input, fmt::format("{}: is empty, expected a snapshot", path.string()));
  if (is_checkpoint(path))
    throw Error(ErrorKind::input, fmt::format("{}: is a checkpoint, expected a snapshot", path.string()));
  for (const auto& entry : snapshot_formats())
    if (entry.recognizes(file)) return entry;
  throw Error(ErrorKind::input,
              fmt::format("{}: is not a snapshot in a known format ({})", path.string(), known_titles()));
}

/// "snapshot_005.0" is the name of a file in a set: its number is no suffix.
SnapshotFormat format_from_name(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool number = ending.find_first_not_of("0123456789", 1) == std::string::npos;  // snapshot_005.0
  const std::string suffix = number ? "" : ending;
  for (const auto& entry : snapshot_formats())
    if (std::count(entry.suffixes.begin(), entry.suffixes.end(), suffix) > 0) return entry.format;
  throw Error(ErrorKind::input, fmt::format("{}: the ending {} is not known, expected {} or none", path.string(),
                                            ending, known_suffixes()));
}

/// Particles of one species that follow each other in the input make one run, so that sorted input gives few runs.
PieceRows find_rows(const Particles& particles, std::int64_t first, std::int64_t n, SpeciesCounts& next_row) {
  PieceRows rows;
  const std::uint8_t* const species = particles.species.data();
  for (std::int64_t i = first; i < first + n;) {
    std::int64_t end = i + 1;
    while (end < first + n && species[end] == species[i]) ++end;
    rows[species[i]].push_back({next_row[species[i]], i, end - i});
    next_row[species[i]] += end - i;
    i = end;
  }
  return rows;
}

float to_single(double value, const fs::path& path) {
  if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max()))
    throw Error(ErrorKind::input, fmt::format("{}: {:g} is too large for single precision, expected at most 3.4e38",
                                              path.string(), value));
  return static_cast<float>(value);
}

}  // namespace pergola
