#include "io/snapshot.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "device/device.hpp"
#include "io/snapshot_formats.hpp"
#include "particles/particle_check.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

// Reading a snapshot: (1) find its files from any of their names, (2) open each one by its format, (3) check that their
// headers agree, (4) read ranges of particles across files. Particles are numbered through all files, in the order of
// the files; within a file species follow each other. Headers are checked when a source is made, and values when they
// are read as a whole or by check().
namespace pergola {

namespace fs = std::filesystem;

namespace {

/// The suffixes that stand after the number of a file in a set; other formats have no suffix after it.
std::vector<std::string> last_suffixes() {
  std::vector<std::string> all;
  for (const auto& entry : snapshot_formats())
    if (entry.number_before_suffix) all.insert(all.end(), entry.suffixes.begin(), entry.suffixes.end());
  return all;
}

/// Such a suffix of this name; else nothing.
std::string last_ending(const fs::path& path) {
  const std::string extension = path.extension().string();
  const auto known = last_suffixes();
  return std::count(known.begin(), known.end(), extension) > 0 ? extension : "";
}

/// The file itself, or the first of several files when only their common name was given.
fs::path first_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) return path;
  std::vector<fs::path> candidates;
  for (const auto& suffix : last_suffixes()) candidates.emplace_back(path.string() + ".0" + suffix);
  candidates.emplace_back(path.string() + ".0");
  if (!last_ending(path).empty()) candidates.push_back(name_in_set(path, 0));
  for (const auto& candidate : candidates)
    if (fs::exists(candidate, ignored)) return candidate;
  return path;
}

std::string counts_text(const SpeciesCounts& counts) {
  std::string text;
  for (const auto count : counts) text += fmt::format("{}{}", text.empty() ? "" : " ", count);
  return text;
}

/// Totals of zero mean that the writing program did not fill them in.
void check_totals(const fs::path& path, const SpeciesCounts& counts, const std::optional<SpeciesCounts>& totals) {
  if (!totals || *totals == SpeciesCounts{} || *totals == counts) return;
  throw Error(ErrorKind::input, fmt::format("{}: holds {} particles by type, expected {} (total in the header)",
                                            path.string(), counts_text(counts), counts_text(*totals)));
}

void add_names(std::vector<std::string>& to, const std::vector<std::string>& names) {
  for (const auto& name : names)
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
}

/// Adds a file to what the whole snapshot holds. Potentials count only if every particle has one.
void add_piece(SnapshotPiece& whole, const SnapshotPiece& piece, const fs::path& path) {
  if (piece.header.files != whole.header.files || piece.totals != whole.totals ||
      piece.header.format != whole.header.format || piece.header.time != whole.header.time)
    throw Error(ErrorKind::input,
                fmt::format("{}: its format, time, number of files or total counts differ from those of the first file",
                            path.string()));
  for (std::size_t t = 0; t < whole.counts.size(); ++t) whole.counts[t] += piece.counts[t];
  add_names(whole.fields, piece.fields);
  add_names(whole.not_carried, piece.not_carried);
  whole.header.single_precision |= piece.header.single_precision;
  whole.with_id += piece.with_id;
  whole.potential = whole.potential && (piece.potential || piece.count() == 0);
}

/// All files of the snapshot that `path` names, and what they hold together.
std::vector<std::unique_ptr<SnapshotFile>> open_all(const fs::path& path, SnapshotPiece& whole) {
  const fs::path first = first_file(path);
  std::vector<std::unique_ptr<SnapshotFile>> all;
  all.push_back(format_of_file(first).open(first));
  whole = all[0]->piece();
  whole.paths = {first};
  const int files = whole.header.files;
  if (files > 1 && whole.totals != whole.counts) {
    const auto names = part_name(first);
    if (!names)
      throw Error(ErrorKind::input, fmt::format("{}: is one of {} files of a snapshot, expected a name that ends in "
                                                ".0 or .0.hdf5",
                                                first.string(), files));
    if (names->number != 0) all[0] = format_of_file(name_in_set(names->whole, 0)).open(name_in_set(names->whole, 0));
    whole = all[0]->piece();
    whole.paths = {name_in_set(names->whole, 0)};
    for (int number = 1; number < files; ++number) {
      const fs::path name = name_in_set(names->whole, number);
      std::error_code ignored;
      if (!fs::exists(name, ignored))
        throw Error(ErrorKind::input,
                    fmt::format("{}: is missing, expected {} files of this snapshot", name.string(), files));
      all.push_back(format_of_file(name).open(name));
      add_piece(whole, all.back()->piece(), name);
      whole.paths.push_back(name);
    }
  }
  check_totals(first, whole.counts, whole.totals);
  return all;
}

SnapshotSummary summary_of(const SnapshotPiece& whole) {
  return {whole.header, whole.counts, whole.mass_table, whole.fields, whole.not_carried, whole.paths};
}

// In memory at a time during check().
constexpr std::int64_t checked_particles = std::int64_t{1} << 20;

}  // namespace

fs::path name_in_set(const fs::path& whole, int number) {
  const std::string ending = last_ending(whole), text = whole.string();
  return fmt::format("{}.{}{}", text.substr(0, text.size() - ending.size()), number, ending);
}

/// The number stands before .hdf5 and .h5, and at the end of other names.
std::optional<PartName> part_name(const fs::path& path) {
  const std::string ending = last_ending(path), all = path.string(), text = all.substr(0, all.size() - ending.size());
  const auto dot = text.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  const std::string digits = text.substr(dot + 1);
  const auto number = parse_integer(digits);
  if (digits.find_first_not_of("0123456789") != std::string::npos || !number || *number > most_files)
    return std::nullopt;
  return PartName{text.substr(0, dot) + ending, static_cast<int>(*number)};
}

std::int64_t SnapshotPiece::count() const { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }

struct SnapshotSource::Files {
  SnapshotPiece whole;
  std::vector<std::unique_ptr<SnapshotFile>> all;
};

SnapshotSource::SnapshotSource(const fs::path& path, int threads)
    : name_(path.string()), threads_(threads > 0 ? threads : available_cores()), files_(std::make_unique<Files>()) {
  files_->all = open_all(path, files_->whole);
  const SnapshotPiece& whole = files_->whole;
  if (whole.count() == 0)
    throw Error(ErrorKind::input, fmt::format("{}: holds no particles, expected one or more", name_));
  if (whole.with_id != 0 && whole.with_id != whole.count())
    throw Error(ErrorKind::input, fmt::format("{}: has ids for {} particles, expected {} (all) or none", name_,
                                              whole.with_id, whole.count()));
  const SnapshotHeader& header = whole.header;
  if (!std::isfinite(header.time) || !std::isfinite(header.box_size) || header.box_size < 0)
    throw Error(ErrorKind::input, fmt::format("{}: time {} and box size {} in the header, expected finite numbers and "
                                              "a box of 0 or more",
                                              name_, header.time, header.box_size));
  summary_ = summary_of(whole);
}

SnapshotSource::~SnapshotSource() = default;

std::int64_t SnapshotSource::count() const { return files_->whole.count(); }

/// The range may reach over several files; each file fills its places.
void SnapshotSource::read(std::int64_t first, std::int64_t n, Particles& to) {
  const auto room = static_cast<std::size_t>(n);
  to.id.resize(room);
  to.species.resize(room);
  for (auto* values : {&to.mass, &to.x, &to.y, &to.z, &to.vx, &to.vy, &to.vz}) values->resize(room);
  to.potential.resize(files_->whole.potential ? room : 0);
  std::int64_t before = 0;
  for (const auto& file : files_->all) {
    const std::int64_t count = file->piece().count();
    const std::int64_t begin = std::max(first, before), end = std::min(first + n, before + count);
    if (begin < end) file->read(begin - before, end - begin, to, begin - first, threads_);
    before += count;
  }
  // Files without ids get 1 … N.
  if (files_->whole.with_id == 0) std::iota(to.id.begin(), to.id.end(), static_cast<std::uint64_t>(first) + 1);
}

/// Reads every particle once: finite numbers, known species, ids that differ (ParticleCheck).
SnapshotContents SnapshotSource::check() {
  SnapshotContents contents{files_->whole.counts, 0, files_->whole.potential};
  ParticleCheck check(name_, count(), threads_);
  Particles piece;
  for (std::int64_t first = 0; first < count(); first += checked_particles) {
    read(first, std::min(checked_particles, count() - first), piece);
    check.add(piece);
    contents.largest_id = std::max(contents.largest_id, *std::max_element(piece.id.begin(), piece.id.end()));
  }
  check.finish();
  return contents;
}

Snapshot read_snapshot(const fs::path& path) {
  SnapshotSource source(path);
  Snapshot snapshot;
  snapshot.header = source.summary().header;
  source.read(0, source.count(), snapshot.particles);
  ParticleCheck check(path.string(), source.count(), source.threads());
  check.add(snapshot.particles);
  check.finish();
  return snapshot;
}

SnapshotSummary inspect_snapshot(const fs::path& path) {
  SnapshotPiece whole;
  open_all(path, whole);
  return summary_of(whole);
}

}  // namespace pergola
