// GADGET-style HDF5 snapshots are written here, as yt and pynbody open them. Threads fill whole chunks and form their
// checksums; HDF5, which is not thread-safe, only puts them into the file.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "device/parallel.hpp"
#include "io/fletcher.hpp"
#include "io/hdf5_file.hpp"
#include "io/piece_rows.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola {

namespace {

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
      add_fills(groups_[type], rows.runs[type], next_row[type], fills);
      groups_[type].filled = next_row[type];
    }
    parallel_for(options_.threads, static_cast<std::int64_t>(fills.size()),
                 [&](std::int64_t k) { fill(fills[k], from, number - first); });
    // In the order in which they became full: it does not depend on the sizes of the pieces.
    std::stable_sort(fills.begin(), fills.end(),
                     [](const Fill& a, const Fill& b) { return a.last_place < b.last_place; });
    for (Fill& done : fills) put(done);
  }

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

  void put(Fill& fill) {
    if (!fill.full()) {
      fill.field->open = std::move(fill.bytes);
      return;
    }
    const std::size_t bytes = chunk_bytes(*fill.group, *fill.field);
    file_.write_chunk(fill.field->dataset, fill.chunk * fill.group->chunk_rows, fill.bytes.get(), bytes + 4);
    spare_[bytes].push_back(std::move(fill.bytes));
  }

  /// With room for the checksum; memory of chunks that are in the file is used again.
  std::unique_ptr<char[]> new_chunk(std::size_t bytes) {
    auto& spare = spare_[bytes];
    if (spare.empty()) return std::make_unique_for_overwrite<char[]>(bytes + 4);
    auto chunk = std::move(spare.back());
    spare.pop_back();
    return chunk;
  }

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

}  // namespace

std::unique_ptr<SnapshotWriter> make_hdf5_writer(const std::filesystem::path& path, const SnapshotHeader& header,
                                                 const SnapshotContents& contents, WriteOptions options) {
  return std::make_unique<Hdf5Writer>(path, header, contents, std::move(options));
}

}  // namespace pergola
