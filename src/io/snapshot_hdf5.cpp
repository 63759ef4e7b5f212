// GADGET-style HDF5 snapshots are read here.
#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"
#include "io/hdf5_file.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola {

namespace {

/// Calls body(first, count) for slabs of rows.
template <class Body>
void for_slabs(const hdf5::Dataset& dataset, const Body& body) {
  for (std::int64_t first = 0; first < dataset.rows; first += dataset.slab_rows)
    body(first, std::min(dataset.slab_rows, dataset.rows - first));
}

std::string group_name(int type) { return fmt::format("PartType{}", type); }

SpeciesCounts read_counts(const hdf5::File& file, const std::string& name) {
  SpeciesCounts counts{};
  const auto values = file.integers("Header", name);
  for (std::size_t t = 0; t < std::min(values.size(), counts.size()); ++t) {
    if (values[t] < 0)
      throw Error(ErrorKind::input,
                  fmt::format("{}: Header/{} holds {}, expected 0 or more", file.path().string(), name, values[t]));
    counts[t] = values[t];
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

std::optional<double> read_real(const hdf5::File& file, const std::string& name) {
  if (!file.has_attribute("Header", name)) return std::nullopt;
  return file.reals("Header", name)[0];
}

/// The names of GADGET-4, AREPO and OWLS (which pynbody reads), and Pergola's own. All ones mean none.
std::optional<FileUnits> read_units(const hdf5::File& file) {
  struct Place {
    const char *group, *length, *mass, *velocity;
  };
  const Place places[] = {{"Units", "UnitLength_in_cgs", "UnitMass_in_cgs", "UnitVelocity_in_cgs"},
                          {"Units", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s"},
                          {"Header", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s"},
                          {"Parameters", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s"}};
  for (const auto& [group, length, mass, velocity] : places) {
    if (!file.has_attribute(group, length) || !file.has_attribute(group, mass) || !file.has_attribute(group, velocity))
      continue;
    const FileUnits units{file.reals(group, length)[0], file.reals(group, mass)[0], file.reals(group, velocity)[0]};
    if (units.length_cm == 1 && units.mass_g == 1 && units.velocity_cm_per_s == 1) return std::nullopt;
    return units;
  }
  return std::nullopt;
}

void read_header(const hdf5::File& file, SnapshotPiece& piece) {
  if (!file.has("Header"))
    throw Error(ErrorKind::input,
                fmt::format("{}: has no group Header, expected a GADGET-style snapshot", file.path().string()));
  piece.counts = read_counts(file, "NumPart_ThisFile");
  piece.totals = read_totals(file);
  if (file.has_attribute("Header", "MassTable")) {
    const auto table = file.reals("Header", "MassTable");
    std::copy_n(table.begin(), std::min(table.size(), piece.mass_table.size()), piece.mass_table.begin());
  }
  auto& header = piece.header;
  header.format = "hdf5";
  header.time = read_real(file, "Time").value_or(0);
  header.redshift = read_real(file, "Redshift").value_or(0);
  header.box_size = read_real(file, "BoxSize").value_or(0);
  header.omega0 = read_real(file, "Omega0");
  header.omega_lambda = read_real(file, "OmegaLambda");
  header.hubble_param = read_real(file, "HubbleParam");
  header.units = read_units(file);
  if (file.has_attribute("Header", "NumFilesPerSnapshot")) {
    const std::int64_t files = file.integers("Header", "NumFilesPerSnapshot")[0];
    if (files < 0 || files > 1'000'000)
      throw Error(ErrorKind::input,
                  fmt::format("{}: Header/NumFilesPerSnapshot is {}, expected 1 or more", file.path().string(), files));
    header.files = static_cast<int>(std::max<std::int64_t>(files, 1));
  }
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

void read_vectors(const hdf5::File& file, const hdf5::Dataset& dataset, std::vector<double>& x, std::vector<double>& y,
                  std::vector<double>& z) {
  std::vector<double> rows(3 * static_cast<std::size_t>(std::min(dataset.slab_rows, dataset.rows)));
  for (auto* values : {&x, &y, &z}) values->resize(static_cast<std::size_t>(dataset.rows));
  for_slabs(dataset, [&](std::int64_t first, std::int64_t count) {
    file.read_rows(dataset, first, count, rows.data());
    for (std::int64_t i = 0; i < count; ++i) {
      x[first + i] = rows[3 * i];
      y[first + i] = rows[3 * i + 1];
      z[first + i] = rows[3 * i + 2];
    }
  });
}

template <class T>
void read_scalars(const hdf5::File& file, const hdf5::Dataset& dataset, std::vector<T>& values) {
  values.resize(static_cast<std::size_t>(dataset.rows));
  file.read_rows(dataset, 0, dataset.rows, values.data());
}

/// The particles of one type. Ids stay empty where the file has none.
Particles read_type(const hdf5::File& file, int type, SnapshotPiece& piece) {
  const std::int64_t count = piece.counts[type];
  const std::string group = group_name(type);
  Particles p;
  // All shapes before any memory.
  const auto coordinates = open_field(file, type, "Coordinates", count, 3, false);
  const auto velocities = open_field(file, type, "Velocities", count, 3, false);
  piece.header.single_precision |= coordinates.value_bytes <= 4;
  read_vectors(file, coordinates, p.x, p.y, p.z);
  read_vectors(file, velocities, p.vx, p.vy, p.vz);
  if (file.has(group + "/ParticleIDs")) read_scalars(file, open_field(file, type, "ParticleIDs", count, 1, true), p.id);
  if (file.has(group + "/Masses"))
    read_scalars(file, open_field(file, type, "Masses", count, 1, false), p.mass);
  else if (piece.mass_table[type] > 0)
    p.mass.assign(static_cast<std::size_t>(count), piece.mass_table[type]);
  else
    throw Error(ErrorKind::input, fmt::format("{}: {}/Masses is missing and Header/MassTable[{}] is 0, expected one "
                                              "of them",
                                              file.path().string(), group, type));
  if (file.has(group + "/Potential"))
    read_scalars(file, open_field(file, type, "Potential", count, 1, false), p.potential);
  p.species.assign(static_cast<std::size_t>(count), static_cast<std::uint8_t>(type));
  return p;
}

}  // namespace

SnapshotPiece read_hdf5_piece(const std::filesystem::path& path, ReadPart part) {
  const hdf5::File file(path);
  SnapshotPiece piece;
  read_header(file, piece);
  for (int type = 0; type < species_count; ++type) {
    if (piece.counts[type] == 0) continue;
    if (!file.has(group_name(type)))
      throw Error(ErrorKind::input, fmt::format("{}: group {} is missing, expected {} particles in it "
                                                "(Header/NumPart_ThisFile)",
                                                path.string(), group_name(type), piece.counts[type]));
    for (const auto& name : file.datasets(group_name(type)))
      if (std::find(piece.fields.begin(), piece.fields.end(), name) == piece.fields.end()) piece.fields.push_back(name);
    if (part == ReadPart::all) join(piece.particles, read_type(file, type, piece));
  }
  return piece;
}

}  // namespace pergola
