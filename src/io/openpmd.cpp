#include "io/openpmd.hpp"
#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "io/hdf5_file.hpp"
#include "io/openpmd_meshes.hpp"
#include "plasma/particles.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

// The order of a file: root attributes, the iteration with its time, meshes, then species one after the other. Each
// species has the records position, positionOffset, momentum, charge, mass, weighting and id. Values that all particles
// share are constant components: attributes `value` and `shape` without an array.
// Units: a Factor has `file`, by which a number is multiplied, and `si`, the unitSI attribute that leads to SI units.
// Always: rows are written in whole slabs, so that the file does not depend on the pieces that came.
namespace pergola {

namespace {

/// A sample: the particles with the smallest mixed ids among all that were shown.
class OpenPmdSample {
 public:
  explicit OpenPmdSample(std::int64_t most) : most_(static_cast<std::size_t>(most)) {}

  void show(const PlasmaParticles& piece) {
    for (std::size_t i = 0; i < piece.id.size(); ++i, ++shown_) {
      const std::uint64_t key = mixed(piece.id[i]);
      if (kept_.size() == most_ && key > kept_.front().key) continue;
      if (kept_.size() == most_) {
        std::pop_heap(kept_.begin(), kept_.end(), has_smaller_key);
        kept_.pop_back();
      }
      Kept one{key, shown_, piece.id[i], {}};
      for (std::size_t k = 0; k < std::size(plasma_coordinates); ++k)
        if (const auto& values = piece.*plasma_coordinates[k]; !values.empty()) one.values[k] = values[i];
      kept_.push_back(one);
      std::push_heap(kept_.begin(), kept_.end(), has_smaller_key);
    }
  }

  /// In the order in which they were shown; `like` has the coordinates that they have.
  PlasmaParticles take(const PlasmaParticles& like) {
    std::sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.place < b.place; });
    PlasmaParticles chosen;
    for (const Kept& one : kept_) {
      chosen.id.push_back(one.id);
      for (std::size_t k = 0; k < std::size(plasma_coordinates); ++k)
        if (!(like.*plasma_coordinates[k]).empty()) (chosen.*plasma_coordinates[k]).push_back(one.values[k]);
    }
    return chosen;
  }

 private:
  struct Kept {
    std::uint64_t key = 0;
    std::int64_t place = 0;
    std::uint64_t id = 0;
    std::array<double, std::size(plasma_coordinates)> values{};
  };
  /// Mixes the bits of an id (Steele, Lea & Flood 2014, splitmix64): particles that are neighbours by id are not so
  /// here.
  static std::uint64_t mixed(std::uint64_t id) {
    id += 0x9e3779b97f4a7c15u;
    id = (id ^ (id >> 30)) * 0xbf58476d1ce4e5b9u;
    id = (id ^ (id >> 27)) * 0x94d049bb133111ebu;
    return id ^ (id >> 31);
  }
  static bool has_smaller_key(const Kept& a, const Kept& b) { return a.key < b.key; }

  std::size_t most_;
  std::int64_t shown_ = 0;
  std::vector<Kept> kept_;  // a heap, the largest key first
};

// Powers of length, mass, time, current, temperature, amount and luminous intensity.
const OpenPmdDimension no_dimension{0, 0, 0, 0, 0, 0, 0};
const OpenPmdDimension length_dimension{1, 0, 0, 0, 0, 0, 0};
const OpenPmdDimension mass_dimension{0, 1, 0, 0, 0, 0, 0};
const OpenPmdDimension charge_dimension{0, 0, 1, 1, 0, 0, 0};
const OpenPmdDimension momentum_dimension{1, 1, -1, 0, 0, 0, 0};

/// The name of the files of a series, with %T for the iteration, which is the step: plasma_000120.h5 of step 120 is one
/// of plasma_%T.h5. A name with another number, or without one, is no part of a series: %T is added.
std::string iteration_format(const std::filesystem::path& path, std::int64_t step) {
  const std::string stem = path.stem().string(), extension = path.extension().string();
  const std::size_t digits = stem.find_last_not_of("0123456789") + 1;  // npos + 1 = 0
  const bool of_step = parse_integer(stem.substr(digits)) == step;
  return (of_step ? stem.substr(0, digits) : stem + "_") + "%T" + extension;
}

}  // namespace

/// What a writer holds: the file, the meshes, and the species whose particles are coming.
class OpenPmdWriter::Contents {
 public:
  Contents(const std::filesystem::path& path, PlasmaSnapshot head, std::vector<std::int64_t> counts,
           const OpenPmdOptions& options)
      : target_(path),
        file_(target_.temporary(), path),
        snapshot_(std::move(head)),
        counts_(std::move(counts)),
        options_(options),
        units_(snapshot_.units) {
    axes_.assign(openpmd_axes.begin(), openpmd_axes.begin() + snapshot_.options.dimensions);
    const std::int64_t real_bytes = options_.single_precision ? 4 : 8;
    std::int64_t bytes =
        65536 + real_bytes * snapshot_.options.cell_count() * std::ssize(plasma_field_parts(snapshot_.options));
    for (const std::int64_t count : counts_)
      bytes += rows_of(count) * (8 + real_bytes * (snapshot_.options.dimensions + snapshot_.options.velocities));
    target_.reserve(bytes);
    write_head(path);
  }

  /// Fields come first, and the group of particles is made after the last one.
  void append(PlasmaFieldPart part, const std::vector<double>& columns) {
    if (columns.empty()) return;
    meshes_->append(part, columns);
    if (meshes_->complete() && has_particles()) file_.create_group(particles_);
  }

  /// Checks the order of species and the counts that were announced. A sample is written when the last particle is
  /// known.
  void append(std::size_t s, const PlasmaParticles& piece) {
    if (piece.size() == 0) return;
    meshes_->check_complete();
    if (!open_ || open_->number != s) {
      check_complete();
      if (s != next_species() || s >= counts_.size())
        throw Error(ErrorKind::input, fmt::format("{}: particles of species {}, expected those of species {}",
                                                  file_.path().string(), s, next_species()));
      open_.emplace(s, counts_[s]);
    }
    OpenSpecies& open = *open_;
    if (piece.size() > open.count - open.given)
      throw Error(ErrorKind::input, fmt::format("{}: more than the {} particles of species {} that were to be written",
                                                file_.path().string(), open.count, s));
    if (open.given == 0) begin_species(piece);
    open.given += piece.size();
    if (open.sample) {
      open.sample->show(piece);
      if (open.given == open.count) add_rows(open.sample->take(piece));
    } else {
      add_rows(piece);
    }
    if (open.given == open.count) end_species();
  }

  /// Refuses a file that lacks fields or particles: without its name it vanishes.
  void commit() {
    meshes_->check_complete();
    check_complete();
    if (next_species() < counts_.size())
      throw Error(ErrorKind::input,
                  fmt::format("{}: no particles of species {}", file_.path().string(), next_species()));
    file_.close();
    target_.commit();
  }

 private:
  /// Numbers of the particles, as they go into a dataset.
  struct Column {
    hdf5::Dataset dataset;
    std::vector<double> PlasmaParticles::*values;
    PlasmaUnits::Factor unit;
  };
  /// The species that is being written.
  struct OpenSpecies {
    OpenSpecies(std::size_t s, std::int64_t n) : number(s), count(n) {}
    std::size_t number;
    std::int64_t count, given = 0;  // of the plasma
    std::optional<OpenPmdSample> sample;
    std::string group;
    std::vector<Column> columns;
    hdf5::Dataset ids;
    std::int64_t written = 0;  // rows in the file
    PlasmaParticles waiting;   // less than a slab of rows
  };

  /// Particles of a species that go to the file: all, or a sample.
  std::int64_t rows_of(std::int64_t count) const {
    return options_.particles_most > 0 ? std::min(options_.particles_most, count) : count;
  }

  /// The first that has particles and has not been begun.
  std::size_t next_species() const {
    std::size_t s = begun_;
    while (s < counts_.size() && counts_[s] == 0) ++s;
    return s;
  }

  void check_complete() const {
    if (open_ && open_->given < open_->count)
      throw Error(ErrorKind::input, fmt::format("{}: {} particles of species {} to write, expected {}",
                                                file_.path().string(), open_->given, open_->number, open_->count));
  }

  /// Time is in the unit of the configuration; timeUnitSI leads to seconds.
  void write_head(const std::filesystem::path& path) {
    const std::string base = fmt::format("data/{}", snapshot_.step);
    write_root(iteration_format(path, snapshot_.step));
    file_.create_group("data");
    file_.create_group(base);
    file_.write_attribute(base, "time", snapshot_.time * units_.time().file);
    file_.write_attribute(base, "dt", snapshot_.dt * units_.time().file);
    file_.write_attribute(base, "timeUnitSI", units_.time().si);
    file_.write_attribute(base, "comment", fmt::format("time in {}", units_.time_name()));
    file_.write_attribute(base, "step", std::vector<std::uint64_t>{static_cast<std::uint64_t>(snapshot_.step)});
    meshes_.emplace(file_, snapshot_, base + "/fields", real_type());
    particles_ = base + "/particles";
    link_positions();
  }

  /// yt (3.4 to 4.4) counts the particles of each species by the positions at the root of the file, which openPMD does
  /// not have. A link to those of one species is right for all species of the same size.
  void link_positions() {
    std::vector<std::int64_t> rows;
    for (const std::int64_t count : counts_)
      if (count > 0) rows.push_back(rows_of(count));
    if (rows.empty() || std::count(rows.begin(), rows.end(), rows[0]) != std::ssize(rows)) return;
    file_.link("position", fmt::format("{}/{}/position", particles_, snapshot_.options.species[next_species()].name));
  }

  bool has_particles() const {
    return std::any_of(counts_.begin(), counts_.end(), [](std::int64_t count) { return count > 0; });
  }

  /// What openPMD asks of every file, under the names of its standard 1.1.0.
  void write_root(const std::string& format) {
    file_.write_attribute("/", "openPMD", "1.1.0");
    file_.write_attribute("/", "openPMDextension", std::uint32_t{1});  // ED-PIC
    file_.write_attribute("/", "basePath", "/data/%T/");
    file_.write_attribute("/", "meshesPath", "fields/");
    if (has_particles()) file_.write_attribute("/", "particlesPath", "particles/");
    file_.write_attribute("/", "iterationEncoding", "fileBased");
    file_.write_attribute("/", "iterationFormat", format);
    file_.write_attribute("/", "software", "Pergola");
    file_.write_attribute("/", "softwareVersion", version());
  }

  /// `like` has the coordinates that its particles have.
  void begin_species(const PlasmaParticles& like) {
    OpenSpecies& open = *open_;
    begun_ = open.number + 1;
    const PlasmaSpecies& species = snapshot_.options.species[open.number];
    const std::string& group = open.group = particles_ + "/" + species.name;
    const std::int64_t rows = rows_of(open.count);
    if (rows < open.count) open.sample.emplace(rows);
    const auto count = static_cast<std::uint64_t>(rows);
    const double thinning = static_cast<double>(open.count) / static_cast<double>(rows);
    const double weighting = species.weight * units_.particles_per_weight() * thinning;
    file_.create_group(group);
    file_.write_attribute(group, "particleShape", snapshot_.options.shape == PlasmaShape::linear ? 1.0 : 2.0);
    file_.write_attribute(group, "currentDeposition", "none");
    file_.write_attribute(group, "particlePush", "Boris");
    file_.write_attribute(group, "particleInterpolation", "uniform");
    file_.write_attribute(group, "particleSmoothing", "none");

    const std::string length = units_.length_name(), time = units_.time_name();
    const auto add_column = [&](const std::string& name, std::size_t coordinate, PlasmaUnits::Factor unit) {
      open.columns.push_back({file_.create_dataset(name, real_type(), rows, 1), plasma_coordinates[coordinate], unit});
    };
    file_.create_group(group + "/position");
    file_.create_group(group + "/positionOffset");
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      add_column(group + "/position/" + axes_[axis], axis, units_.length());
      write_constant(group + "/positionOffset/" + axes_[axis], 0, units_.length().si, count);
    }
    write_record(group + "/position", length_dimension, 0, false, length);
    write_record(group + "/positionOffset", length_dimension, 0, false, length);

    // Of the whole macro-particle: so yt takes it, whatever macroWeighted says.
    const PlasmaUnits::Factor speed = units_.velocity(), mass = units_.mass();
    const PlasmaUnits::Factor momentum{species.mass * mass.file * speed.file * weighting, mass.si * speed.si};
    file_.create_group(group + "/momentum");
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::string name = group + "/momentum/" + openpmd_axes[axis];
      if ((like.*plasma_coordinates[3 + axis]).empty())
        write_constant(name, 0, momentum.si, count);
      else
        add_column(name, 3 + axis, momentum);
    }
    write_record(group + "/momentum", momentum_dimension, 1, true,
                 units_.si() ? "kg m/s" : fmt::format("m_e {}/({})", length, time));
    write_constant_record(group + "/charge", species.charge, units_.charge(), charge_dimension, count, false,
                          units_.si() ? "C" : "e");
    write_constant_record(group + "/mass", species.mass, mass, mass_dimension, count, false,
                          units_.si() ? "kg" : "m_e");
    write_constant_record(group + "/weighting", weighting, {1, 1}, no_dimension, count, true,
                          "particles that a macro-particle stands for (2D: in a depth of one cell)");
    open.ids = file_.create_dataset(group + "/id", H5T_STD_U64LE, rows, 1);
  }

  /// Whole slabs go to the file, so that it does not depend on the pieces; what is left waits.
  void add_rows(const PlasmaParticles& rows) {
    OpenSpecies& open = *open_;
    PlasmaParticles& waiting = open.waiting;
    const std::int64_t slab = open.ids.slab_rows;
    for (std::int64_t first = 0; first < rows.size();) {
      const std::int64_t n = std::min(slab - waiting.size(), rows.size() - first);
      const auto move = [&](const auto& from, auto& to) {
        if (!from.empty()) to.insert(to.end(), from.begin() + first, from.begin() + first + n);
      };
      move(rows.id, waiting.id);
      for (const auto values : plasma_coordinates) move(rows.*values, waiting.*values);
      first += n;
      if (waiting.size() == slab) write_waiting();
    }
  }

  void write_waiting() {
    OpenSpecies& open = *open_;
    const std::int64_t n = open.waiting.size();
    if (n == 0) return;
    std::vector<double> slab;
    for (const Column& column : open.columns) {
      slab.clear();
      for (const double value : open.waiting.*column.values) slab.push_back(value * column.unit.file);
      file_.write_rows(column.dataset, open.written, n, slab.data());
    }
    file_.write_rows(open.ids, open.written, n, open.waiting.id.data());
    open.written += n;
    open.waiting.id.clear();
    for (const auto values : plasma_coordinates) (open.waiting.*values).clear();
  }

  /// Attributes of an array come after its values, because the dataset is closed first.
  void end_species() {
    write_waiting();
    OpenSpecies& open = *open_;
    for (Column& column : open.columns) {
      file_.close(column.dataset);
      file_.write_attribute(column.dataset.name, "unitSI", column.unit.si);
    }
    file_.close(open.ids);
    file_.write_attribute(open.ids.name, "unitSI", 1.0);
    write_record(open.ids.name, no_dimension, 0, false, "");
    open.columns.clear();
    open.waiting = {};
    open.sample.reset();
  }

  /// A constant component: one number that stands for `count` values.
  void write_constant(const std::string& name, double value, double unit_si, std::uint64_t count) {
    file_.create_group(name);
    file_.write_attribute(name, "value", value);
    file_.write_attribute(name, "shape", std::vector<std::uint64_t>{count});
    file_.write_attribute(name, "unitSI", unit_si);
  }

  void write_constant_record(const std::string& name, double value, PlasmaUnits::Factor unit,
                             const OpenPmdDimension& dimension, std::uint64_t count, bool of_macro_particle,
                             const std::string& comment) {
    write_constant(name, value * unit.file, unit.si, count);
    write_record(name, dimension, 1, of_macro_particle, comment);
  }

  /// Attributes of a record. Values are those of a macro-particle (macroWeighted 1) or of a real particle (0).
  /// weightingPower: the power of the weighting that leads from one to the other.
  void write_record(const std::string& name, const OpenPmdDimension& dimension, double weighting_power,
                    bool of_macro_particle, const std::string& comment) {
    file_.write_attribute(name, "unitDimension", dimension);
    file_.write_attribute(name, "timeOffset", 0.0);
    file_.write_attribute(name, "weightingPower", weighting_power);
    file_.write_attribute(name, "macroWeighted", std::uint32_t{of_macro_particle ? 1u : 0u});
    if (!comment.empty()) file_.write_attribute(name, "comment", comment);
  }

  hid_t real_type() const { return options_.single_precision ? H5T_IEEE_F32LE : H5T_IEEE_F64LE; }

  AtomicFile target_;
  hdf5::File file_;
  PlasmaSnapshot snapshot_;  // without fields and particles
  std::vector<std::int64_t> counts_;
  OpenPmdOptions options_;
  PlasmaUnits units_;
  std::vector<std::string> axes_;
  std::optional<OpenPmdMeshes> meshes_;
  std::string particles_;  // the group
  std::size_t begun_ = 0;  // species up to the last that was begun
  std::optional<OpenSpecies> open_;
};

OpenPmdWriter::OpenPmdWriter(const std::filesystem::path& path, PlasmaSnapshot head, std::vector<std::int64_t> counts,
                             const OpenPmdOptions& options)
    : contents_(std::make_unique<Contents>(path, std::move(head), std::move(counts), options)) {}

OpenPmdWriter::~OpenPmdWriter() = default;

void OpenPmdWriter::append(PlasmaFieldPart part, const std::vector<double>& columns) {
  contents_->append(part, columns);
}

void OpenPmdWriter::append(std::size_t species, const PlasmaParticles& piece) { contents_->append(species, piece); }

void OpenPmdWriter::commit() { contents_->commit(); }

/// A plasma that is in memory as a whole goes through the same writer.
void write_openpmd(const std::filesystem::path& path, PlasmaSnapshot snapshot, const OpenPmdOptions& options) {
  const PlasmaFields fields = std::exchange(snapshot.fields, {});
  const std::vector<PlasmaParticles> particles = std::exchange(snapshot.particles, {});
  const std::vector<PlasmaFieldPart> parts = plasma_field_parts(snapshot.options);
  std::vector<std::int64_t> counts;
  for (const PlasmaParticles& species : particles) counts.push_back(species.size());
  OpenPmdWriter writer(path, std::move(snapshot), counts, options);
  for (const PlasmaFieldPart part : parts) writer.append(part, fields[part]);
  for (std::size_t s = 0; s < particles.size(); ++s) writer.append(s, particles[s]);
  writer.commit();
}

}  // namespace pergola
