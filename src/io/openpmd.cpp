#include "io/openpmd.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/atomic_file.hpp"
#include "base/version.hpp"
#include "io/hdf5_file.hpp"
#include "plasma/unit_names.hpp"

namespace pergola {

namespace {

/// Powers of length, mass, time, current, temperature, amount and luminous intensity.
using Dimension = std::vector<double>;
const Dimension no_dimension{0, 0, 0, 0, 0, 0, 0};
const Dimension length_dimension{1, 0, 0, 0, 0, 0, 0};
const Dimension mass_dimension{0, 1, 0, 0, 0, 0, 0};
const Dimension charge_dimension{0, 0, 1, 1, 0, 0, 0};
const Dimension momentum_dimension{1, 1, -1, 0, 0, 0, 0};
const Dimension charge_density_dimension{-3, 0, 1, 1, 0, 0, 0};
const Dimension potential_dimension{2, 1, -3, -1, 0, 0, 0};
const Dimension electric_dimension{1, 1, -3, -1, 0, 0, 0};

const std::vector<std::string> axis_names{"x", "y", "z"};

/// The number in a file name, plasma_007.h5 → 7, and the name with %T in its place.
struct Iteration {
  std::string group, format;
};

Iteration iteration_of(const std::filesystem::path& path, std::int64_t step) {
  const std::string stem = path.stem().string(), extension = path.extension().string();
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  auto first = stem.end();
  while (first != stem.begin() && digit(*(first - 1))) --first;
  const std::string prefix(stem.begin(), first), digits(first, stem.end());
  const auto nonzero = digits.find_first_not_of('0');
  if (digits.empty()) return {std::to_string(step), stem + "_%T" + extension};
  return {nonzero == std::string::npos ? "0" : digits.substr(nonzero), prefix + "%T" + extension};
}

/// Mixes the bits of an id (Steele, Lea & Flood 2014, splitmix64): particles that are neighbours by id are not so here.
std::uint64_t mixed(std::uint64_t id) {
  id += 0x9e3779b97f4a7c15u;
  id = (id ^ (id >> 30)) * 0xbf58476d1ce4e5b9u;
  id = (id ^ (id >> 27)) * 0x94d049bb133111ebu;
  return id ^ (id >> 31);
}

/// Places of the particles that go into the file, in their order: all, or those whose mixed ids are smallest.
std::vector<std::size_t> chosen_places(const PlasmaParticles& particles, std::int64_t most) {
  std::vector<std::size_t> places(particles.id.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (most <= 0 || particles.size() <= most) return places;
  std::nth_element(places.begin(), places.begin() + most, places.end(),
                   [&](std::size_t a, std::size_t b) { return mixed(particles.id[a]) < mixed(particles.id[b]); });
  places.resize(static_cast<std::size_t>(most));
  std::sort(places.begin(), places.end());
  return places;
}

class OpenPmdWriter {
 public:
  OpenPmdWriter(hdf5::File& file, const PlasmaSnapshot& snapshot, const OpenPmdOptions& options)
      : file_(file), snapshot_(snapshot), options_(options), units_(snapshot.units) {
    axes_.assign(axis_names.begin(), axis_names.begin() + snapshot.options.dimensions);
  }

  void write(const std::filesystem::path& path) {
    const Iteration iteration = iteration_of(path, snapshot_.step);
    const std::string base = "data/" + iteration.group;
    write_root(iteration);
    file_.create_group("data");
    file_.create_group(base);
    file_.write_attribute(base, "time", snapshot_.time * units_.time().file);
    file_.write_attribute(base, "dt", snapshot_.dt * units_.time().file);
    file_.write_attribute(base, "timeUnitSI", units_.time().si);
    file_.write_attribute(base, "comment", fmt::format("time in {}", units_.time_name()));
    file_.write_attribute(base, "step", std::vector<std::uint64_t>{static_cast<std::uint64_t>(snapshot_.step)});
    write_meshes(base + "/fields");
    if (has_particles()) write_particles(base + "/particles");
  }

 private:
  bool has_particles() const {
    return std::any_of(snapshot_.particles.begin(), snapshot_.particles.end(),
                       [](const PlasmaParticles& particles) { return particles.size() > 0; });
  }

  void write_root(const Iteration& iteration) {
    file_.write_attribute("/", "openPMD", "1.1.0");
    file_.write_attribute("/", "openPMDextension", std::uint32_t{1});  // ED-PIC
    file_.write_attribute("/", "basePath", "/data/%T/");
    file_.write_attribute("/", "meshesPath", "fields/");
    if (has_particles()) file_.write_attribute("/", "particlesPath", "particles/");
    file_.write_attribute("/", "iterationEncoding", "fileBased");
    file_.write_attribute("/", "iterationFormat", iteration.format);
    file_.write_attribute("/", "software", "Pergola");
    file_.write_attribute("/", "softwareVersion", version());
  }

  // Meshes.

  void write_meshes(const std::string& group) {
    file_.create_group(group);
    file_.write_attribute(group, "fieldSolver", "other");
    file_.write_attribute(group, "fieldSolverParameters", "electrostatic, spectral: phi_k = S(k)^2 rho_k / k^2");
    file_.write_attribute(group, "fieldSolverOrder", -1.0);
    const std::vector<std::string> periodic(2 * axes_.size(), "periodic");
    file_.write_attribute(group, "fieldBoundary", periodic);
    file_.write_attribute(group, "particleBoundary", periodic);
    file_.write_attribute(group, "currentSmoothing", "none");
    file_.write_attribute(group, "chargeCorrection", "none");

    const PlasmaFields& fields = snapshot_.fields;
    write_scalar(group + "/rho", fields.density, units_.charge_density(), charge_density_dimension,
                 charge_density_unit_name(units_));
    write_scalar(group + "/phi", fields.potential, units_.potential(), potential_dimension,
                 potential_unit_name(units_));
    const std::string electric = group + "/E";
    file_.create_group(electric);
    write_mesh_attributes(electric, electric_dimension, electric_field_unit_name(units_));
    for (std::size_t axis = 0; axis < axes_.size(); ++axis)
      write_component(electric + "/" + axes_[axis], fields.electric[axis], units_.electric_field());
  }

  void write_scalar(const std::string& name, const std::vector<double>& values, PlasmaUnits::Factor unit,
                    const Dimension& dimension, const std::string& comment) {
    write_component(name, values, unit);
    write_mesh_attributes(name, dimension, comment);
  }

  /// From x fastest, as computed, to x slowest: openPMD leaves the choice, but yt takes the first dimension for x.
  void write_component(const std::string& name, const std::vector<double>& values, PlasmaUnits::Factor unit) {
    const auto& cells = snapshot_.options.cells;
    const std::size_t nx = static_cast<std::size_t>(cells[0]), rest = values.size() / nx;
    const std::size_t ny = static_cast<std::size_t>(cells[1]), nz = rest / ny;
    hdf5::Array array;
    array.extent.assign(cells.begin(), cells.begin() + snapshot_.options.dimensions);
    array.values.resize(values.size());
    for (std::size_t z = 0; z < nz; ++z)
      for (std::size_t y = 0; y < ny; ++y)
        for (std::size_t x = 0; x < nx; ++x)
          array.values[(x * ny + y) * nz + z] = values[x + nx * (y + ny * z)] * unit.file;
    file_.write_array(name, real_type(), array);
    file_.write_attribute(name, "position", std::vector<double>(axes_.size(), 0.0));
    file_.write_attribute(name, "unitSI", unit.si);
  }

  void write_mesh_attributes(const std::string& record, const Dimension& dimension, const std::string& comment) {
    file_.write_attribute(record, "geometry", "cartesian");
    file_.write_attribute(record, "dataOrder", "C");
    file_.write_attribute(record, "axisLabels", axes_);
    file_.write_attribute(record, "gridSpacing", std::vector<double>(axes_.size(), units_.length().file));
    file_.write_attribute(record, "gridGlobalOffset", std::vector<double>(axes_.size(), 0.0));
    file_.write_attribute(record, "gridUnitSI", units_.length().si);
    file_.write_attribute(record, "unitDimension", dimension);
    file_.write_attribute(record, "timeOffset", 0.0);
    file_.write_attribute(record, "fieldSmoothing", snapshot_.options.smoothing > 0 ? "other" : "none");
    if (snapshot_.options.smoothing > 0) file_.write_attribute(record, "fieldSmoothingParameters", smoothing_text());
    file_.write_attribute(record, "comment", comment);
  }

  std::string smoothing_text() const {
    return fmt::format("S(k) = exp(-(k a)^2/2) on charge and force, a = {} {}",
                       snapshot_.options.smoothing * units_.length().file, units_.length_name());
  }

  // Particles.

  void write_particles(const std::string& group) {
    file_.create_group(group);
    for (std::size_t s = 0; s < snapshot_.particles.size(); ++s)
      if (snapshot_.particles[s].size() > 0)
        write_species(group + "/" + snapshot_.options.species[s].name, snapshot_.options.species[s],
                      snapshot_.particles[s]);
  }

  void write_species(const std::string& group, const PlasmaSpecies& species, const PlasmaParticles& particles) {
    const std::vector<std::size_t> places = chosen_places(particles, options_.particles_most);
    const std::uint64_t count = places.size();
    const double thinning = static_cast<double>(particles.size()) / static_cast<double>(count);
    const double weighting = species.weight * units_.particles_per_weight() * thinning;
    file_.create_group(group);
    file_.write_attribute(group, "particleShape", snapshot_.options.shape == PlasmaShape::linear ? 1.0 : 2.0);
    file_.write_attribute(group, "currentDeposition", "none");
    file_.write_attribute(group, "particlePush", "Boris");
    file_.write_attribute(group, "particleInterpolation", "uniform");
    file_.write_attribute(group, "particleSmoothing", "none");

    const std::string length = units_.length_name(), time = units_.time_name();
    const std::vector<const std::vector<double>*> positions{&particles.x, &particles.y, &particles.z};
    const std::vector<const std::vector<double>*> velocities{&particles.vx, &particles.vy, &particles.vz};
    file_.create_group(group + "/position");
    file_.create_group(group + "/positionOffset");
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      write_values(group + "/position/" + axes_[axis], *positions[axis], places, units_.length());
      write_constant(group + "/positionOffset/" + axes_[axis], 0, units_.length().si, count);
    }
    write_record(group + "/position", length_dimension, 0, false, length);
    write_record(group + "/positionOffset", length_dimension, 0, false, length);

    // Of the whole macro-particle: so yt takes it, whatever macroWeighted says.
    const PlasmaUnits::Factor speed = units_.velocity(), mass = units_.mass();
    const PlasmaUnits::Factor momentum{species.mass * mass.file * speed.file * weighting, mass.si * speed.si};
    file_.create_group(group + "/momentum");
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::string name = group + "/momentum/" + axis_names[axis];
      if (velocities[axis]->empty())
        write_constant(name, 0, momentum.si, count);
      else
        write_values(name, *velocities[axis], places, momentum);
    }
    write_record(group + "/momentum", momentum_dimension, 1, true,
                 units_.si() ? "kg m/s" : fmt::format("m_e {}/({})", length, time));
    write_constant_record(group + "/charge", species.charge, units_.charge(), charge_dimension, count, false,
                          units_.si() ? "C" : "e");
    write_constant_record(group + "/mass", species.mass, mass, mass_dimension, count, false,
                          units_.si() ? "kg" : "m_e");
    write_constant_record(group + "/weighting", weighting, {1, 1}, no_dimension, count, true,
                          "particles that a macro-particle stands for (2D: in a depth of one cell)");
    write_ids(group + "/id", particles.id, places);
  }

  void write_values(const std::string& name, const std::vector<double>& values, const std::vector<std::size_t>& places,
                    PlasmaUnits::Factor unit) {
    auto dataset = file_.create_dataset(name, real_type(), static_cast<std::int64_t>(places.size()), 1);
    std::vector<double> slab;
    for (std::size_t first = 0; first < places.size(); first += slab.size()) {
      slab.clear();
      const std::size_t end = std::min(places.size(), first + static_cast<std::size_t>(dataset.slab_rows));
      for (std::size_t i = first; i < end; ++i) slab.push_back(values[places[i]] * unit.file);
      file_.write_rows(dataset, static_cast<std::int64_t>(first), static_cast<std::int64_t>(slab.size()), slab.data());
    }
    file_.close(dataset);
    file_.write_attribute(name, "unitSI", unit.si);
  }

  void write_ids(const std::string& name, const std::vector<std::uint64_t>& ids,
                 const std::vector<std::size_t>& places) {
    std::vector<std::uint64_t> chosen;
    for (const std::size_t place : places) chosen.push_back(ids[place]);
    const auto rows = static_cast<std::int64_t>(chosen.size());
    auto dataset = file_.create_dataset(name, H5T_STD_U64LE, rows, 1);
    file_.write_rows(dataset, 0, rows, chosen.data());
    file_.close(dataset);
    file_.write_attribute(name, "unitSI", 1.0);
    write_record(name, no_dimension, 0, false, "");
  }

  void write_constant(const std::string& name, double value, double unit_si, std::uint64_t count) {
    file_.create_group(name);
    file_.write_attribute(name, "value", value);
    file_.write_attribute(name, "shape", std::vector<std::uint64_t>{count});
    file_.write_attribute(name, "unitSI", unit_si);
  }

  void write_constant_record(const std::string& name, double value, PlasmaUnits::Factor unit,
                             const Dimension& dimension, std::uint64_t count, bool of_macro_particle,
                             const std::string& comment) {
    write_constant(name, value * unit.file, unit.si, count);
    write_record(name, dimension, 1, of_macro_particle, comment);
  }

  void write_record(const std::string& name, const Dimension& dimension, double weighting_power, bool of_macro_particle,
                    const std::string& comment) {
    file_.write_attribute(name, "unitDimension", dimension);
    file_.write_attribute(name, "timeOffset", 0.0);
    file_.write_attribute(name, "weightingPower", weighting_power);
    file_.write_attribute(name, "macroWeighted", std::uint32_t{of_macro_particle ? 1u : 0u});
    if (!comment.empty()) file_.write_attribute(name, "comment", comment);
  }

  hid_t real_type() const { return options_.single_precision ? H5T_IEEE_F32LE : H5T_IEEE_F64LE; }

  hdf5::File& file_;
  const PlasmaSnapshot& snapshot_;
  const OpenPmdOptions& options_;
  const PlasmaUnits& units_;
  std::vector<std::string> axes_;
};

}  // namespace

void write_openpmd(const std::filesystem::path& path, const PlasmaSnapshot& snapshot, const OpenPmdOptions& options) {
  AtomicFile target(path);
  const std::int64_t real_bytes = options.single_precision ? 4 : 8;
  std::int64_t bytes = 65536 + real_bytes * snapshot.options.cell_count() * (2 + snapshot.options.dimensions);
  for (const PlasmaParticles& particles : snapshot.particles) {
    const std::int64_t most = options.particles_most > 0 ? options.particles_most : particles.size();
    bytes += std::min(most, particles.size()) *
             (8 + real_bytes * (snapshot.options.dimensions + snapshot.options.velocities));
  }
  hdf5::File file(target.temporary(), path);
  target.reserve(bytes);
  OpenPmdWriter(file, snapshot, options).write(path);
  file.close();
  target.commit();
}

}  // namespace pergola
