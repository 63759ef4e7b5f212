#include "io/snapshot.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "io/checkpoint.hpp"
#include "io/gadget_binary.hpp"
#include "io/input_file.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola {

namespace fs = std::filesystem;

namespace {

enum class Contents { hdf5, gadget, csv };

bool is_hdf5(const InputFile& file) {
  constexpr unsigned char signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  // A user block of 512, 1024, … bytes may stand before the signature.
  for (std::int64_t offset = 0; offset + 8 <= file.size(); offset = offset == 0 ? 512 : 2 * offset) {
    unsigned char bytes[8];
    file.read(offset, bytes, sizeof bytes);
    if (std::memcmp(bytes, signature, sizeof bytes) == 0) return true;
  }
  return false;
}

bool is_text(const std::string& start) {
  return std::all_of(start.begin(), start.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
}

Contents detect(const fs::path& path) {
  const InputFile file(path);
  if (file.size() == 0) throw Error(ErrorKind::input, fmt::format("{}: is empty, expected a snapshot", path.string()));
  std::string start(static_cast<std::size_t>(std::min<std::int64_t>(file.size(), 512)), '\0');
  file.read(0, start.data(), start.size());
  if (is_hdf5(file)) return Contents::hdf5;
  if (starts_like_gadget(start)) return Contents::gadget;
  if (is_checkpoint(path))
    throw Error(ErrorKind::input, fmt::format("{}: is a checkpoint, expected a snapshot", path.string()));
  if (is_text(start)) return Contents::csv;
  throw Error(ErrorKind::input,
              fmt::format("{}: is not a snapshot in a known format (HDF5, GADGET binary 1 or 2, CSV)", path.string()));
}

SnapshotPiece read_piece(const fs::path& path, ReadPart part) {
  switch (detect(path)) {
    case Contents::hdf5:
      return read_hdf5_piece(path, part);
    case Contents::gadget:
      return read_gadget_piece(path, part);
    case Contents::csv:
      break;
  }
  return read_csv_piece(path, part);
}

/// The names of a snapshot in several files: PREFIX.0SUFFIX, PREFIX.1SUFFIX, …
struct PieceNames {
  std::string prefix, suffix;
  fs::path name(int number) const { return fmt::format("{}.{}{}", prefix, number, suffix); }
};

/// Takes "snap.3.hdf5" or "snap.3" apart; nothing when the name has no such number.
std::optional<PieceNames> piece_names(const fs::path& path) {
  std::string text = path.string(), suffix;
  const std::string extension = path.extension().string();
  if (extension == ".hdf5" || extension == ".h5") {
    suffix = extension;
    text.resize(text.size() - extension.size());
  }
  const auto dot = text.rfind('.');
  if (dot == std::string::npos || dot + 1 == text.size()) return std::nullopt;
  if (text.find_first_not_of("0123456789", dot + 1) != std::string::npos) return std::nullopt;
  return PieceNames{text.substr(0, dot), suffix};
}

/// The file itself, or the first of several files when only their common name was given.
fs::path first_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) return path;
  const fs::path stem = fs::path(path).replace_extension();
  const std::string extension = path.extension().string();
  std::vector<fs::path> candidates{path.string() + ".0.hdf5", path.string() + ".0.h5", path.string() + ".0"};
  if (extension == ".hdf5" || extension == ".h5") candidates.emplace_back(stem.string() + ".0" + extension);
  for (const auto& candidate : candidates)
    if (fs::exists(candidate, ignored)) return candidate;
  return path;
}

std::string counts_text(const SpeciesCounts& counts) {
  std::string text;
  for (const auto count : counts) text += fmt::format("{}{}", text.empty() ? "" : " ", count);
  return text;
}

void check_totals(const fs::path& path, const SpeciesCounts& counts, const std::optional<SpeciesCounts>& totals) {
  if (!totals || *totals == SpeciesCounts{} || *totals == counts) return;
  throw Error(ErrorKind::input, fmt::format("{}: holds {} particles by type, expected {} (total in the header)",
                                            path.string(), counts_text(counts), counts_text(*totals)));
}

void add_piece(SnapshotPiece& whole, SnapshotPiece&& piece, const fs::path& path) {
  if (piece.header.files != whole.header.files || piece.totals != whole.totals ||
      piece.header.format != whole.header.format || piece.header.time != whole.header.time)
    throw Error(ErrorKind::input,
                fmt::format("{}: its format, time, number of files or total counts differ from those of the first file",
                            path.string()));
  for (std::size_t t = 0; t < whole.counts.size(); ++t) whole.counts[t] += piece.counts[t];
  for (auto& field : piece.fields)
    if (std::find(whole.fields.begin(), whole.fields.end(), field) == whole.fields.end())
      whole.fields.push_back(std::move(field));
  whole.header.single_precision |= piece.header.single_precision;
  join(whole.particles, std::move(piece.particles));
}

/// All files of the snapshot that `path` names.
SnapshotPiece read_all(const fs::path& path, ReadPart part) {
  const fs::path first = first_file(path);
  SnapshotPiece whole = read_piece(first, part);
  const int files = whole.header.files;
  if (files > 1 && whole.totals != whole.counts) {
    const auto names = piece_names(first);
    if (!names)
      throw Error(ErrorKind::input, fmt::format("{}: is one of {} files of a snapshot, expected a name that ends in "
                                                ".0 or .0.hdf5",
                                                first.string(), files));
    if (names->name(0) != first) whole = read_piece(names->name(0), part);
    for (int number = 1; number < files; ++number) {
      const fs::path name = names->name(number);
      std::error_code ignored;
      if (!fs::exists(name, ignored))
        throw Error(ErrorKind::input,
                    fmt::format("{}: is missing, expected {} files of this snapshot", name.string(), files));
      add_piece(whole, read_piece(name, part), name);
    }
  }
  check_totals(first, whole.counts, whole.totals);
  return whole;
}

/// Files without ids get 1 … N; a file that has them for a part of its particles is refused. Potentials count only when
/// all particles have them.
void complete(Particles& particles, const fs::path& path) {
  const std::size_t n = particles.x.size();
  if (particles.id.empty()) {
    particles.id.resize(n);
    std::iota(particles.id.begin(), particles.id.end(), std::uint64_t{1});
  }
  if (particles.id.size() != n)
    throw Error(ErrorKind::input, fmt::format("{}: has ids for {} particles, expected {} (all) or none", path.string(),
                                              particles.id.size(), n));
  if (particles.potential.size() != n) particles.potential.clear();
}

}  // namespace

Snapshot read_snapshot(const fs::path& path) {
  SnapshotPiece whole = read_all(path, ReadPart::all);
  if (whole.particles.x.empty())
    throw Error(ErrorKind::input, fmt::format("{}: holds no particles, expected one or more", path.string()));
  complete(whole.particles, path);
  whole.particles.validate(path.string());
  const auto& header = whole.header;
  if (!std::isfinite(header.time) || !std::isfinite(header.box_size) || header.box_size < 0)
    throw Error(ErrorKind::input, fmt::format("{}: time {} and box size {} in the header, expected finite numbers and "
                                              "a box of 0 or more",
                                              path.string(), header.time, header.box_size));
  return {std::move(whole.header), std::move(whole.particles)};
}

SnapshotSummary inspect_snapshot(const fs::path& path) {
  SnapshotPiece whole = read_all(path, ReadPart::header);
  return {std::move(whole.header), whole.counts, whole.mass_table, std::move(whole.fields)};
}

SnapshotFormat format_from_name(const fs::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".hdf5" || extension == ".h5") return SnapshotFormat::hdf5;
  if (extension == ".csv") return SnapshotFormat::csv;
  if (extension == ".g2" || extension == ".gadget2") return SnapshotFormat::gadget2;
  return SnapshotFormat::gadget1;
}

float to_single(double value, const fs::path& path) {
  if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max()))
    throw Error(ErrorKind::input, fmt::format("{}: {:g} is too large for single precision, expected at most 3.4e38",
                                              path.string(), value));
  return static_cast<float>(value);
}

void join(Particles& to, Particles&& from) {
  if (to.x.empty())
    to = std::move(from);
  else
    to.append(from);
}

}  // namespace pergola
