#include <fmt/core.h>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "io/gadget_binary.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola {

using namespace gadget;

namespace {

class GadgetWriter {
 public:
  GadgetWriter(const std::filesystem::path& path, const Snapshot& snapshot, const WriteOptions& options)
      : path_(path), snapshot_(snapshot), options_(options), file_(path) {
    for (const auto& list : places_by_species(snapshot.particles))
      places_.insert(places_.end(), list.begin(), list.end());
    if (24 * snapshot.particles.size() > 0xffffffff)
      throw Error(ErrorKind::input, fmt::format("{}: {} particles are too many for one GADGET binary file, expected at "
                                                "most {}; write HDF5",
                                                path.string(), snapshot.particles.size(), 0xffffffff / 24));
  }

  void write() {
    const auto& p = snapshot_.particles;
    write_header();
    write_reals("POS ", {&p.x, &p.y, &p.z});
    write_reals("VEL ", {&p.vx, &p.vy, &p.vz});
    if (std::all_of(p.id.begin(), p.id.end(), [](std::uint64_t id) { return id <= 0xffffffff; }))
      write_block<std::uint32_t>("ID  ", 1, [&](std::int64_t i, int) { return static_cast<std::uint32_t>(p.id[i]); });
    else
      write_block<std::uint64_t>("ID  ", 1, [&](std::int64_t i, int) { return p.id[i]; });
    write_reals("MASS", {&p.mass});
    if (options_.format == SnapshotFormat::gadget2 && !p.potential.empty()) write_reals("POT ", {&p.potential});
    file_.commit();
  }

 private:
  template <class T>
  void put(std::string& bytes, T value) const {
    if (options_.big_endian) value = swapped(value);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  template <class T>
  void place(std::string& bytes, std::size_t at, T value) const {
    std::string one;
    put(one, value);
    bytes.replace(at, one.size(), one);
  }

  void write_name(const char* name, std::uint32_t block_bytes) {
    if (options_.format != SnapshotFormat::gadget2) return;
    std::string record;
    put(record, std::uint32_t{8});
    record.append(name, 4);
    put(record, block_bytes + 8);  // to the next name
    put(record, std::uint32_t{8});
    file_.write(record);
  }

  void write_length(std::uint32_t bytes) {
    std::string text;
    put(text, bytes);
    file_.write(text);
  }

  void write_header() {
    SpeciesCounts counts{};
    for (const auto species : snapshot_.particles.species) ++counts[species];
    const auto& header = snapshot_.header;
    std::string bytes(header_bytes, '\0');
    for (std::size_t t = 0; t < species_count; ++t) {
      place(bytes, at_counts + 4 * t, static_cast<std::uint32_t>(counts[t]));
      place(bytes, at_totals + 4 * t, static_cast<std::uint32_t>(counts[t]));
    }
    place(bytes, at_time, header.time);
    place(bytes, at_redshift, header.redshift);
    place(bytes, at_files, std::int32_t{1});
    place(bytes, at_box, header.box_size);
    place(bytes, at_omega0, header.omega0.value_or(0));
    place(bytes, at_lambda, header.omega_lambda.value_or(0));
    place(bytes, at_hubble, header.hubble_param.value_or(0));
    write_name("HEAD", header_bytes);
    write_length(header_bytes);
    file_.write(bytes);
    write_length(header_bytes);
  }

  using Columns = std::vector<const std::vector<double>*>;

  void write_reals(const char* name, const Columns& columns) {
    const int width = static_cast<int>(columns.size());
    if (options_.single_precision)
      write_block<float>(name, width, [&](std::int64_t i, int c) { return to_single((*columns[c])[i], path_); });
    else
      write_block<double>(name, width, [&](std::int64_t i, int c) { return (*columns[c])[i]; });
  }

  template <class T, class Value>
  void write_block(const char* name, int width, const Value& value) {
    const auto bytes = static_cast<std::uint32_t>(places_.size() * static_cast<std::size_t>(width) * sizeof(T));
    write_name(name, bytes);
    write_length(bytes);
    std::string slab;
    for (const auto i : places_) {
      for (int c = 0; c < width; ++c) put(slab, value(i, c));
      if (slab.size() < (std::size_t{1} << 20)) continue;
      file_.write(slab);
      slab.clear();
    }
    file_.write(slab);
    write_length(bytes);
  }

  const std::filesystem::path& path_;
  const Snapshot& snapshot_;
  const WriteOptions& options_;
  AtomicFile file_;
  std::vector<std::int64_t> places_;
};

}  // namespace

void write_gadget(const std::filesystem::path& path, const Snapshot& snapshot, const WriteOptions& options) {
  GadgetWriter(path, snapshot, options).write();
}

}  // namespace pergola
