// GADGET-style HDF5 snapshots, as yt and pynbody open them, and the dialects of other programs that write such files.
// Threads fill whole chunks and form their checksums; HDF5, which is not thread-safe, only puts them into the file.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "device/parallel.hpp"
#include "io/hdf5_chunks.hpp"
#include "io/hdf5_file.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola {

namespace {

/// Factors from the numbers of a file to those that GADGET would have written.
struct GadgetFactors {
  double length = 1, mass = 1, velocity = 1;
};

/// The first number of an attribute; nothing if it is missing.
std::optional<double> read_real(const hdf5::File& file, const std::string& name, const char* group = "Header") {
  if (!file.has_attribute(group, name)) return std::nullopt;
  return file.reals(group, name)[0];
}

/// Of the header; GADGET-4 has them among the parameters of its run, that of a static one too, and GIZMO under names of
/// its own.
void read_universe(const hdf5::File& file, SnapshotHeader& header) {
  const bool expands = read_real(file, "ComovingIntegrationOn", "Parameters").value_or(1) != 0 &&
                       read_real(file, "Omega0", "Parameters").value_or(0) > 0;
  const bool gizmo = read_real(file, "ComovingIntegrationOn").value_or(1) != 0;
  const auto read = [&](const char* name, const char* gizmo_name) {
    auto value = read_real(file, name);
    if (!value && gizmo) value = read_real(file, gizmo_name);
    return value || !expands ? value : read_real(file, name, "Parameters");
  };
  header.omega0 = read("Omega0", "Omega_Matter");
  header.omega_lambda = read("OmegaLambda", "Omega_Lambda");
  header.omega_baryon = read("OmegaBaryon", "Omega_Baryon");
  header.hubble_param = read("HubbleParam", "HubbleParam");
}

/// One side; SWIFT states three, which must be equal.
double read_box(const hdf5::File& file) {
  if (!file.has_attribute("Header", "BoxSize")) return 0;
  const auto sides = file.reals("Header", "BoxSize");
  for (const double side : sides)
    if (side != sides[0])
      throw Error(ErrorKind::input, fmt::format("{}: Header/BoxSize has sides {} and {}, expected equal ones",
                                                file.path().string(), to_text(sides[0]), to_text(side)));
  return sides[0];
}

/// The names of GADGET-4, AREPO, OWLS (which pynbody reads) and GIZMO, Pergola's own, and SWIFT's, which has a unit of
/// time. All ones mean none.
std::optional<FileUnits> read_units(const hdf5::File& file) {
  struct Place {
    const char *group, *length, *mass, *velocity, *time;
  };
  const Place places[] = {
      {"Units", "UnitLength_in_cgs", "UnitMass_in_cgs", "UnitVelocity_in_cgs", nullptr},
      {"Units", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", nullptr},
      {"Units", "Unit length in cgs (U_L)", "Unit mass in cgs (U_M)", nullptr, "Unit time in cgs (U_t)"},
      {"Header", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", nullptr},
      {"Header", "UnitLength_In_CGS", "UnitMass_In_CGS", "UnitVelocity_In_CGS", nullptr},
      {"Parameters", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", nullptr}};
  for (const auto& [group, length, mass, velocity, time] : places) {
    const auto l = read_real(file, length, group), m = read_real(file, mass, group),
               last = read_real(file, velocity ? velocity : time, group);
    if (!l || !m || !last) continue;
    const FileUnits units{*l, *m, velocity ? *last : *l / *last};
    return states_units(units) ? std::optional(units) : std::nullopt;
  }
  return std::nullopt;
}

/// Those that the data sets of a species carry as attributes to_cgs, as in GADGET-4 and AREPO. 0 is for no unit.
std::optional<FileUnits> read_units_of_fields(const hdf5::File& file, const std::string& group) {
  std::array<double, 3> found{};
  const std::array<const char*, 3> names{"Coordinates", "Masses", "Velocities"};
  for (std::size_t k = 0; k < names.size(); ++k) {
    const std::string field = group + "/" + names[k];
    if (!file.has(field)) return std::nullopt;
    found[k] = read_real(file, "to_cgs", field.c_str()).value_or(0);
    if (!(found[k] > 0)) return std::nullopt;
  }
  const FileUnits units{found[0], found[1], found[2]};
  return states_units(units) ? std::optional(units) : std::nullopt;
}

/// `Time` of a universe of SWIFT is its age.
GadgetFactors read_swift_universe(const hdf5::File& file, SnapshotHeader& header) {
  constexpr const char* group = "Cosmology";
  const auto read = [&](const char* name) {
    if (const auto value = read_real(file, name, group)) return *value;
    throw Error(ErrorKind::input, fmt::format("{}: {}/{} is missing, expected it in a universe of SWIFT",
                                              file.path().string(), group, name));
  };
  header.time = read("Scale-factor");
  header.redshift = read("Redshift");
  header.omega0 = read("Omega_m");
  header.omega_lambda = read("Omega_lambda");
  header.omega_baryon = read_real(file, "Omega_b", group);
  const double h = read("h");
  header.hubble_param = h;
  if (!(h > 0 && header.time > 0))
    throw Error(ErrorKind::input, fmt::format("{}: {} has h = {} at the scale factor {}, expected both above 0",
                                              file.path().string(), group, to_text(h), to_text(header.time)));
  header.box_size *= h;
  return {h, h, 1 / std::sqrt(header.time)};
}

/// Units and universe of a GADGET-style file, with the names that GADGET, AREPO, OWLS, GIZMO and SWIFT give them, and
/// where in time it stands. A universe of SWIFT has lengths and masses without h and velocities a dx/dt; GADGET's have
/// lengths and masses over h, and √a dx/dt.
GadgetFactors read_dialect(const hdf5::File& file, SnapshotHeader& header) {
  header.format = "hdf5";
  header.time = read_real(file, "Time").value_or(0);
  header.redshift = read_real(file, "Redshift").value_or(0);
  header.box_size = read_box(file);
  read_universe(file, header);
  header.units = read_units(file);
  if (read_real(file, "Cosmological run", "Cosmology").value_or(0) == 0) return {};
  header.format = "swift";
  return read_swift_universe(file, header);
}

/// Species are GADGET's particle types: 0 gas, 1 halo, 2 disk, 3 bulge, 4 stars, 5 boundary.
std::string group_name(int type) { return fmt::format("PartType{}", type); }

/// Programs may write more than six types; those that Pergola does not have must be empty.
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

/// GADGET writes the upper 32 bits as a second array. Files with 64-bit totals need none.
std::optional<SpeciesCounts> read_totals(const hdf5::File& file) {
  if (!file.has_attribute("Header", "NumPart_Total")) return std::nullopt;
  SpeciesCounts totals = read_counts(file, "NumPart_Total");
  if (!file.has_attribute("Header", "NumPart_Total_HighWord")) return totals;
  const SpeciesCounts high = read_counts(file, "NumPart_Total_HighWord");
  for (std::size_t t = 0; t < totals.size(); ++t)
    if (totals[t] <= 0xffffffff && high[t] < (std::int64_t{1} << 31)) totals[t] += high[t] << 32;
  return totals;
}

/// Fills the piece from the group Header; returns the factors for the dialect.
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

/// Reads one file. Each species has a group PartTypeN with the fields listed in `carried`.
class Hdf5SnapshotFile final : public SnapshotFile {
 public:
  explicit Hdf5SnapshotFile(const std::filesystem::path& path) : path_(path) {
    const hdf5::File file(path);
    factors_ = read_header(file, piece_);
    piece_.potential = true;
    for (int type = 0; type < species_count; ++type)
      if (piece_.counts[type] > 0) look_at(file, type);
  }

  /// The file is open only during the call, so that other threads may use the HDF5 library between two pieces.
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
  /// Checks the datasets of a species and notes which ones Pergola does not carry over.
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
    if (!piece_.header.units) piece_.header.units = read_units_of_fields(file, group);
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

/// The header under GADGET's names. Units that are known are written under two sets of names, for different readers.
void write_header(hdf5::File& file, const SnapshotHeader& header, const SnapshotContents& contents) {
  std::vector<std::uint32_t> low, high;
  for (const std::int64_t count : contents.all()) {
    low.push_back(static_cast<std::uint32_t>(count));
    high.push_back(static_cast<std::uint32_t>(count >> 32));
  }
  const std::vector<std::uint64_t> counts(contents.counts.begin(), contents.counts.end());
  const std::string group = "Header";
  file.create_group(group);
  if (std::any_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count >> 32 != 0; }))
    file.write_attribute(group, "NumPart_ThisFile", counts);
  else
    file.write_attribute(group, "NumPart_ThisFile", std::vector<std::uint32_t>(counts.begin(), counts.end()));
  file.write_attribute(group, "NumPart_Total", low);
  file.write_attribute(group, "NumPart_Total_HighWord", high);
  file.write_attribute(group, "MassTable", std::vector<double>(species_count, 0.0));
  file.write_attribute(group, "Time", header.time);
  file.write_attribute(group, "Redshift", header.redshift);
  file.write_attribute(group, "BoxSize", header.box_size);
  file.write_attribute(group, "NumFilesPerSnapshot", static_cast<std::int32_t>(contents.files));
  file.write_attribute(group, "Flag_Entropy_ICs", std::int32_t{0});
  if (header.omega0) file.write_attribute(group, "Omega0", *header.omega0);
  if (header.omega_lambda) file.write_attribute(group, "OmegaLambda", *header.omega_lambda);
  if (header.omega_baryon) file.write_attribute(group, "OmegaBaryon", *header.omega_baryon);
  if (header.hubble_param) file.write_attribute(group, "HubbleParam", *header.hubble_param);

  const FileUnits units = header.units.value_or(FileUnits{});
  file.create_group("Units");
  file.write_attribute("Units", "UnitLength_in_cgs", units.length_cm);
  file.write_attribute("Units", "UnitMass_in_cgs", units.mass_g);
  file.write_attribute("Units", "UnitVelocity_in_cgs", units.velocity_cm_per_s);
  if (!header.units) return;
  file.write_attribute("Units", "UnitLength_in_cm", units.length_cm);
  file.write_attribute("Units", "UnitMass_in_g", units.mass_g);
  file.write_attribute("Units", "UnitVelocity_in_cm_per_s", units.velocity_cm_per_s);
}

/// A data set of one species, with the chunk that is not full yet.
struct Field {
  hdf5::Dataset dataset;
  bool ids = false;
  std::vector<const std::vector<double> Particles::*> columns;  // of the particles
  bool acceleration = false;                                    // of the options
  std::unique_ptr<char[]> open;
};

/// A species: its rows in all, those that have come, and those of a chunk.
struct Group {
  std::int64_t rows = 0, filled = 0, chunk_rows = 1;
  std::vector<Field> fields;
};

/// Rows [begin, end) of a field, which lie in one chunk.
struct Fill {
  Group* group;
  Field* field;
  const std::vector<RowRun>* runs;
  std::int64_t chunk, begin, end, last_place;
  std::unique_ptr<char[]> bytes;

  std::int64_t chunk_end() const { return std::min((chunk + 1) * group->chunk_rows, group->rows); }
  bool full() const { return end == chunk_end(); }
};

/// Writes one file. Steps for a piece: (1) find the rows of its particles, (2) cut them at the borders of chunks,
/// (3) fill and seal chunks on all threads, (4) give full chunks to HDF5 in a fixed order. A chunk that is not full
/// waits in its field for the next piece.
class Hdf5Writer final : public SnapshotWriter {
 public:
  Hdf5Writer(const std::filesystem::path& path, const SnapshotHeader& header, const SnapshotContents& contents,
             WriteOptions options)
      : SnapshotWriter(path, contents),
        options_(std::move(options)),
        real_bytes_(options_.single_precision ? 4 : 8),
        target_(path),
        file_(target_.temporary(), path) {
    const std::int64_t reals = 7 + (contents.potential ? 1 : 0) + (options_.acceleration[0].empty() ? 0 : 3);
    target_.reserve(contents.total() * (8 + real_bytes_ * reals) + 8192);
    write_header(file_, header, contents);
    for (int type = 0; type < species_count; ++type)
      if (contents.counts[type] > 0) create_group(type, contents.counts[type]);
  }

 private:
  /// All datasets of a species are made before its first row comes.
  void create_group(int type, std::int64_t rows) {
    const std::string name = fmt::format("PartType{}", type);
    Group& group = groups_[type];
    group.rows = rows;
    file_.create_group(name);
    using P = Particles;
    add_reals(group, name + "/Coordinates", {&P::x, &P::y, &P::z});
    add_reals(group, name + "/Velocities", {&P::vx, &P::vy, &P::vz});
    Field ids;
    ids.ids = true;
    ids.dataset = file_.create_dataset(name + "/ParticleIDs", H5T_STD_U64LE, rows, 1);
    group.fields.push_back(std::move(ids));
    add_reals(group, name + "/Masses", {&P::mass});
    if (contents_.potential) add_reals(group, name + "/Potential", {&P::potential});
    if (!options_.acceleration[0].empty()) {
      add_reals(group, name + "/Acceleration", {nullptr, nullptr, nullptr});
      group.fields.back().acceleration = true;
    }
    group.chunk_rows = group.fields.front().dataset.slab_rows;
  }

  /// A dataset of real numbers; null columns are filled from elsewhere (accelerations).
  void add_reals(Group& group, const std::string& name, std::vector<const std::vector<double> Particles::*> columns) {
    Field field;
    field.dataset = file_.create_dataset(name, options_.single_precision ? H5T_IEEE_F32LE : H5T_IEEE_F64LE, group.rows,
                                         static_cast<std::int64_t>(columns.size()));
    field.columns = std::move(columns);
    group.fields.push_back(std::move(field));
  }

  std::int64_t row_bytes(const Field& field) const {
    return field.ids ? 8 : real_bytes_ * static_cast<std::int64_t>(field.columns.size());
  }
  std::size_t chunk_bytes(const Group& group, const Field& field) const {
    return static_cast<std::size_t>(group.chunk_rows * row_bytes(field));
  }

  void take(const Particles& from, std::int64_t first, std::int64_t n, std::int64_t number) override {
    std::array<std::int64_t, species_count> next_row{};
    for (int type = 0; type < species_count; ++type) next_row[type] = groups_[type].filled;
    const PieceRows rows = find_rows(from, first, n, next_row);
    std::vector<Fill> fills;
    for (int type = 0; type < species_count; ++type) {
      if (next_row[type] > groups_[type].rows)
        throw Error(ErrorKind::input,
                    fmt::format("{}: more particles of species {} than the {} that were to be written", path_.string(),
                                species_names[type], groups_[type].rows));
      add_fills(groups_[type], rows[type], next_row[type], fills);
      groups_[type].filled = next_row[type];
    }
    parallel_for(options_.threads, static_cast<std::int64_t>(fills.size()),
                 [&](std::int64_t k) { fill(fills[k], from, number - first); });
    // In the order in which they became full: it does not depend on the sizes of the pieces.
    std::stable_sort(fills.begin(), fills.end(),
                     [](const Fill& a, const Fill& b) { return a.last_place < b.last_place; });
    for (Fill& done : fills) put(done);
  }

  /// Divides new rows of a species into parts of chunks, for each of its fields.
  void add_fills(Group& group, const std::vector<RowRun>& runs, std::int64_t end, std::vector<Fill>& fills) {
    for (std::int64_t begin = group.filled; begin < end;) {
      const std::int64_t chunk = begin / group.chunk_rows, until = std::min(end, (chunk + 1) * group.chunk_rows);
      std::int64_t last_place = 0;
      for_rows(runs, until - 1, until, [&](std::int64_t, std::int64_t place, std::int64_t) { last_place = place; });
      for (Field& field : group.fields) {
        Fill fill{&group, &field, &runs, chunk, begin, until, last_place, std::move(field.open)};
        if (!fill.bytes) fill.bytes = new_chunk(chunk_bytes(group, field));
        fills.push_back(std::move(fill));
      }
      begin = until;
    }
  }

  /// `offset` leads from a place in `from` to the particle's number.
  void fill(Fill& fill, const Particles& from, std::int64_t offset) const {
    if (fill.field->ids)
      fill_columns<std::uint64_t, 1, std::uint64_t>(fill, {from.id.data()}, [](std::uint64_t id) { return id; });
    else if (fill.field->acceleration)
      fill_reals<3>(fill, {options_.acceleration[0].data() + offset, options_.acceleration[1].data() + offset,
                           options_.acceleration[2].data() + offset});
    else if (const auto& c = fill.field->columns; c.size() == 3)
      fill_reals<3>(fill, {(from.*c[0]).data(), (from.*c[1]).data(), (from.*c[2]).data()});
    else
      fill_reals<1>(fill, {(from.*c[0]).data()});
    if (fill.full()) seal(fill);
  }

  template <std::size_t width>
  void fill_reals(Fill& fill, const std::array<const double*, width>& columns) const {
    if (options_.single_precision)
      fill_columns<float, width>(fill, columns, [this](double value) { return to_single(value, path_); });
    else
      fill_columns<double, width>(fill, columns, [](double value) { return value; });
  }

  template <class T, std::size_t width, class From, class Convert>
  static void fill_columns(Fill& fill, const std::array<const From*, width>& columns, const Convert& convert) {
    T* const values = reinterpret_cast<T*>(fill.bytes.get());
    const std::int64_t first_row = fill.chunk * fill.group->chunk_rows;
    for_rows(*fill.runs, fill.begin, fill.end, [&](std::int64_t row, std::int64_t place, std::int64_t count) {
      T* to = values + (row - first_row) * static_cast<std::int64_t>(width);
      for (std::int64_t i = place; i < place + count; ++i)
        for (std::size_t c = 0; c < width; ++c) *to++ = convert(columns[c][i]);
    });
  }

  /// What lies beyond the last row is zero, as HDF5 has it, and the checksum stands at the end.
  void seal(Fill& fill) const {
    const std::size_t bytes = chunk_bytes(*fill.group, *fill.field);
    const auto used =
        static_cast<std::size_t>((fill.end - fill.chunk * fill.group->chunk_rows) * row_bytes(*fill.field));
    std::memset(fill.bytes.get() + used, 0, bytes - used);
    const std::uint32_t sum = hdf5::fletcher32(fill.bytes.get(), bytes);
    std::memcpy(fill.bytes.get() + bytes, &sum, sizeof sum);
  }

  /// Only one thread calls this, because it calls the HDF5 library.
  void put(Fill& fill) {
    if (!fill.full()) {
      fill.field->open = std::move(fill.bytes);
      return;
    }
    const std::size_t bytes = chunk_bytes(*fill.group, *fill.field);
    file_.write_chunk(fill.field->dataset, fill.chunk * fill.group->chunk_rows, fill.bytes.get(), bytes + 4);
    spare_[bytes].push_back(std::move(fill.bytes));
  }

  /// With 4 bytes more for the checksum. Memory of chunks that were written is used again.
  std::unique_ptr<char[]> new_chunk(std::size_t bytes) {
    auto& spare = spare_[bytes];
    if (spare.empty()) return std::make_unique_for_overwrite<char[]>(bytes + 4);
    auto chunk = std::move(spare.back());
    spare.pop_back();
    return chunk;
  }

  /// Datasets are closed before the file. The name comes later, in give_name().
  void close() override {
    for (Group& group : groups_) {
      for (Field& field : group.fields) file_.close(field.dataset);
      group.fields.clear();
    }
    spare_.clear();
    file_.close();
  }
  void give_name() override { target_.commit(); }

  WriteOptions options_;
  std::int64_t real_bytes_;
  AtomicFile target_;
  hdf5::File file_;
  std::array<Group, species_count> groups_;
  std::map<std::size_t, std::vector<std::unique_ptr<char[]>>> spare_;
};

bool is_hdf5_file(const InputFile& file) {
  // A user block of 512, 1024, … bytes may stand before the signature.
  for (std::int64_t offset = 0; offset + 8 <= file.size(); offset = offset == 0 ? 512 : 2 * offset) {
    auto bytes = hdf5::signature;
    file.read(offset, bytes.data(), bytes.size());
    if (bytes == hdf5::signature) return true;
  }
  return false;
}

}  // namespace

SnapshotFormatEntry hdf5_snapshot_format() {
  return {.format = SnapshotFormat::hdf5,
          .name = "hdf5",
          .title = "HDF5",
          .suffixes = {".hdf5", ".h5"},
          .number_before_suffix = true,
          .recognizes = is_hdf5_file,
          .open = [](const std::filesystem::path& path) -> std::unique_ptr<SnapshotFile> {
            return std::make_unique<Hdf5SnapshotFile>(path);
          },
          .make_writer = [](const std::filesystem::path& path, const SnapshotHeader& header,
                            const SnapshotContents& contents, WriteOptions options) -> std::unique_ptr<SnapshotWriter> {
            return std::make_unique<Hdf5Writer>(path, header, contents, std::move(options));
          }};
}

}  // namespace pergola
