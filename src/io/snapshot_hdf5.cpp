// GADGET-style HDF5 snapshots are read here.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.hpp"
#include "io/hdf5_columns.hpp"
#include "io/hdf5_dialects.hpp"
#include "io/hdf5_file.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola {

namespace {

std::string group_name(int type) { return fmt::format("PartType{}", type); }

SpeciesCounts read_counts(const hdf5::File& file, const std::string& name) {
  SpeciesCounts counts{};
  const auto values = file.integers("Header", name);
  for (std::size_t t = 0; t < values.size(); ++t) {
    if (values[t] < 0)
      throw Error(ErrorKind::input,
                  fmt::format("{}: Header/{} holds {}, expected 0 or more", file.path().string(), name, values[t]));
    if (t < counts.size())
      counts[t] = values[t];
    else if (values[t] > 0)
      throw Error(ErrorKind::input,
                  fmt::format("{}: Header/{} has {} particles of type {}, expected types 0 to {} only",
                              file.path().string(), name, values[t], t, species_count - 1));
  }
  return counts;
}

std::optional<SpeciesCounts> read_totals(const hdf5::File& file) {
  if (!file.has_attribute("Header", "NumPart_Total")) return std::nullopt;
  SpeciesCounts totals = read_counts(file, "NumPart_Total");
  if (!file.has_attribute("Header", "NumPart_Total_HighWord")) return totals;
  const SpeciesCounts high = read_counts(file, "NumPart_Total_HighWord");
  for (std::size_t t = 0; t < totals.size(); ++t)
    if (totals[t] <= 0xffffffff && high[t] < (std::int64_t{1} << 31)) totals[t] += high[t] << 32;
  return totals;
}

GadgetFactors read_header(const hdf5::File& file, SnapshotPiece& piece) {
  if (!file.has("Header"))
    throw Error(ErrorKind::input,
                fmt::format("{}: {}, expected a GADGET-style snapshot", file.path().string(),
                            file.has_attribute("/", "openPMD") ? "is an openPMD file, as a plasma's are"
                                                               : "has no group Header"));
  piece.counts = read_counts(file, "NumPart_ThisFile");
  piece.totals = read_totals(file);
  if (file.has_attribute("Header", "MassTable")) {
    const auto table = file.reals("Header", "MassTable");
    std::copy_n(table.begin(), std::min(table.size(), piece.mass_table.size()), piece.mass_table.begin());
  }
  auto& header = piece.header;
  const GadgetFactors factors = read_dialect(file, header);
  for (double& mass : piece.mass_table) mass *= factors.mass;
  if (file.has_attribute("Header", "NumFilesPerSnapshot")) {
    const std::int64_t files = file.integers("Header", "NumFilesPerSnapshot")[0];
    if (files < 0 || files > 1'000'000)
      throw Error(ErrorKind::input,
                  fmt::format("{}: Header/NumFilesPerSnapshot is {}, expected 1 or more", file.path().string(), files));
    header.files = static_cast<int>(std::max<std::int64_t>(files, 1));
  }
  return factors;
}

/// A dataset of one particle type, its shape checked against the header.
hdf5::Dataset open_field(const hdf5::File& file, int type, const char* field, std::int64_t count, std::int64_t columns,
                         bool integer) {
  const std::string name = group_name(type) + "/" + field;
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::input, fmt::format("{}: {} {}", file.path().string(), name, what));
  };
  if (!file.has(name)) fail(fmt::format("is missing, expected {} entries (Header/NumPart_ThisFile)", count));
  auto dataset = file.dataset(name);
  if (dataset.rows != count)
    fail(fmt::format("has {} entries, expected {} (Header/NumPart_ThisFile)", dataset.rows, count));
  if (dataset.columns != columns) fail(fmt::format("has {} columns, expected {}", dataset.columns, columns));
  if (dataset.integer != integer)
    fail(fmt::format("holds {} numbers, expected {}", dataset.integer ? "integer" : "floating-point",
                     integer ? "integers" : "floating-point numbers"));
  return dataset;
}

/// Where the masses of one species are: in a data set, or in the header.
bool has_masses(const hdf5::File& file, int type, const SnapshotPiece& piece) {
  if (file.has(group_name(type) + "/Masses")) return true;
  if (piece.mass_table[type] > 0) return false;
  throw Error(ErrorKind::input, fmt::format("{}: {}/Masses is missing and Header/MassTable[{}] is 0, expected one of "
                                            "them",
                                            file.path().string(), group_name(type), type));
}

/// The fields of one species.
struct Fields {
  hdf5::Dataset coordinates, velocities;
  std::optional<hdf5::Dataset> ids, masses, potentials;
};

Fields open_fields(const hdf5::File& file, int type, const SnapshotPiece& piece) {
  const std::int64_t count = piece.counts[type];
  const std::string group = group_name(type);
  Fields fields{open_field(file, type, "Coordinates", count, 3, false),
                open_field(file, type, "Velocities", count, 3, false),
                {},
                {},
                {}};
  if (file.has(group + "/ParticleIDs")) fields.ids = open_field(file, type, "ParticleIDs", count, 1, true);
  if (has_masses(file, type, piece)) fields.masses = open_field(file, type, "Masses", count, 1, false);
  if (file.has(group + "/Potential")) fields.potentials = open_field(file, type, "Potential", count, 1, false);
  return fields;
}

class Hdf5SnapshotFile final : public SnapshotFile {
 public:
  explicit Hdf5SnapshotFile(const std::filesystem::path& path) : path_(path) {
    const hdf5::File file(path);
    factors_ = read_header(file, piece_);
    piece_.potential = true;
    for (int type = 0; type < species_count; ++type)
      if (piece_.counts[type] > 0) look_at(file, type);
  }

  /// The file is open only meanwhile: others may use the HDF5 library between two pieces.
  void read(std::int64_t first, std::int64_t n, Particles& to, std::int64_t at, int threads) override {
    const hdf5::File file(path_);
    for_types(piece_.counts, first, n, [&](int type, std::int64_t row, std::int64_t count, std::int64_t offset) {
      const std::int64_t place = at + offset;
      const Fields fields = open_fields(file, type, piece_);
      const auto reals = [&](const hdf5::Dataset& dataset, const std::vector<std::vector<double>*>& columns,
                             double factor = 1) {
        std::vector<double*> targets;
        for (auto* column : columns) targets.push_back(column->data() + place);
        read_columns(file, dataset, row, count, targets, threads);
        if (factor == 1) return;
        for (double* target : targets) std::for_each_n(target, count, [&](double& value) { value *= factor; });
      };
      reals(fields.coordinates, {&to.x, &to.y, &to.z}, factors_.length);
      reals(fields.velocities, {&to.vx, &to.vy, &to.vz}, factors_.velocity);
      if (fields.masses)
        reals(*fields.masses, {&to.mass}, factors_.mass);
      else
        std::fill_n(to.mass.begin() + place, count, piece_.mass_table[type]);
      if (fields.potentials && !to.potential.empty()) reals(*fields.potentials, {&to.potential});
      if (fields.ids && !to.id.empty())
        read_columns(file, *fields.ids, row, count, std::vector<std::uint64_t*>{to.id.data() + place}, threads);
      std::fill_n(to.species.begin() + place, count, static_cast<std::uint8_t>(type));
    });
  }

 private:
  void look_at(const hdf5::File& file, int type) {
    const std::string group = group_name(type);
    if (!file.has(group))
      throw Error(ErrorKind::input, fmt::format("{}: group {} is missing, expected {} particles in it "
                                                "(Header/NumPart_ThisFile)",
                                                path_.string(), group, piece_.counts[type]));
    for (const auto& name : file.datasets(group)) {
      if (std::find(piece_.fields.begin(), piece_.fields.end(), name) == piece_.fields.end())
        piece_.fields.push_back(name);
      if (std::find(carried.begin(), carried.end(), name) == carried.end())
        piece_.not_carried.push_back(group + "/" + name);
    }
    const Fields fields = open_fields(file, type, piece_);
    piece_.header.single_precision |= fields.coordinates.value_bytes <= 4;
    if (fields.ids) piece_.with_id += piece_.counts[type];
    piece_.potential = piece_.potential && fields.potentials;
  }

  static constexpr std::array<std::string_view, 5> carried{"Coordinates", "Velocities", "ParticleIDs", "Masses",
                                                           "Potential"};
  std::filesystem::path path_;
  GadgetFactors factors_;
};

}  // namespace

std::unique_ptr<SnapshotFile> open_hdf5_file(const std::filesystem::path& path) {
  return std::make_unique<Hdf5SnapshotFile>(path);
}

}  // namespace pergola
