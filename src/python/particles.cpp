// Particles on the host, snapshots, models and forces.
//
// Arrays of Python are checked for shape and copied into columns; the columns are then seen from Python without copies.
// Particles validate themselves (finite numbers, ids that differ) unless check=False. forces() is one evaluation on a
// device, with G = 1 unless the configuration states units.
#include <cstring>
#include <map>

#include "config/file_units.hpp"
#include "io/snapshot_formats.hpp"
#include "python/core.hpp"

namespace pergola::python {

namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// The error for an array of a wrong shape, with the shape that was found.
Error shape_error(const std::string& what, const std::string& expected, const py::array& found) {
  std::string shape = py::str(found.attr("shape")).cast<std::string>();
  return Error(ErrorKind::input, what + ": expected an array of " + expected + ", found one of shape " + shape);
}

/// Takes the columns of an array with one row of three per particle.
/// Throws Error(input) with the name of the argument and the expected shape.
void take_vectors(const char* name, const Numbers& rows, std::int64_t n, std::vector<double>& x, std::vector<double>& y,
                  std::vector<double>& z) {
  if (rows.ndim() != 2 || rows.shape(1) != 3 || rows.shape(0) != n)
    throw shape_error(name, std::to_string(n) + " rows of 3", rows);
  const double* value = rows.data();
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    x[k] = value[3 * i], y[k] = value[3 * i + 1], z[k] = value[3 * i + 2];
  }
}

/// Copies one value per particle.
template <class T, class Array>
void take_values(const char* name, const Array& from, std::vector<T>& to) {
  if (from.ndim() != 1 || from.size() != static_cast<py::ssize_t>(to.size()))
    throw shape_error(name, std::to_string(to.size()) + " values", from);
  if (!to.empty()) std::memcpy(to.data(), from.data(), to.size() * sizeof(T));
}

/// Optional columns that are missing keep the defaults of Particles. A mass may be one number for all.
std::shared_ptr<Particles> make_particles(
    const Numbers& position, const std::optional<Numbers>& velocity, const std::optional<Numbers>& mass,
    const std::optional<py::array_t<std::uint64_t, py::array::c_style | py::array::forcecast>>& id,
    const std::optional<py::array_t<std::uint8_t, py::array::c_style | py::array::forcecast>>& species, bool check) {
  if (position.ndim() != 2 || position.shape(1) != 3) throw shape_error("position", "n rows of 3", position);
  auto made = std::make_shared<Particles>();
  Particles& p = *made;
  p.resize(position.shape(0));
  take_vectors("position", position, p.size(), p.x, p.y, p.z);
  if (velocity) take_vectors("velocity", *velocity, p.size(), p.vx, p.vy, p.vz);
  if (mass && mass->ndim() == 0)
    p.mass.assign(p.mass.size(), *mass->data());
  else if (mass)
    take_values("mass", *mass, p.mass);
  if (id) take_values("id", *id, p.id);
  if (species) take_values("species", *species, p.species);
  if (check) p.validate("particles");
  return made;
}

/// Rows of three from columns.
py::array_t<double> rows_of(const std::vector<double>& x, const std::vector<double>& y, const std::vector<double>& z) {
  py::array_t<double> rows({static_cast<py::ssize_t>(x.size()), py::ssize_t{3}});
  double* to = rows.mutable_data();
  for (std::size_t i = 0; i < x.size(); ++i) to[3 * i] = x[i], to[3 * i + 1] = y[i], to[3 * i + 2] = z[i];
  return rows;
}

/// A writable view of a member, which keeps the particles alive.
template <class T>
auto member(std::vector<T> Particles::*which) {
  return [which](const py::object& self) {
    auto& values = self.cast<Particles&>().*which;
    return py::array(py::dtype::of<T>(), {static_cast<py::ssize_t>(values.size())}, {py::ssize_t{sizeof(T)}},
                     values.data(), self);
  };
}

/// A header as plain values: "units" and "cosmology" only where they are stated.
py::dict header_dict(const SnapshotHeader& header) {
  using namespace py::literals;
  py::dict made("time"_a = header.time, "redshift"_a = header.redshift, "box_size"_a = header.box_size,
                "format"_a = header.format, "cosmological"_a = is_cosmological(header));
  if (states_units(header.units)) made["units"] = units_dict(*header.units);
  if (!is_cosmological(header)) return made;
  py::dict cosmology("omega_matter"_a = *header.omega0, "omega_lambda"_a = header.omega_lambda.value_or(0),
                     "h"_a = *header.hubble_param);
  if (header.omega_baryon) cosmology["omega_baryon"] = *header.omega_baryon;
  made["cosmology"] = cosmology;
  return made;
}

/// The reverse, from what particles carry; units and cosmology may be None.
SnapshotHeader header_of(double time, double box_size, const py::object& units, const py::object& cosmology) {
  SnapshotHeader header;
  header.time = time;
  header.box_size = box_size;
  header.units = units_of(units);
  if (cosmology.is_none()) return header;
  const auto universe = cosmology.cast<std::map<std::string, double>>();
  const auto value = [&](const char* name) -> std::optional<double> {
    const auto found = universe.find(name);
    return found == universe.end() ? std::nullopt : std::optional(found->second);
  };
  header.omega0 = value("omega_matter"), header.omega_lambda = value("omega_lambda");
  header.omega_baryon = value("omega_baryon"), header.hubble_param = value("h");
  if (time > 0) header.redshift = 1 / time - 1;
  return header;
}

/// Particles and header. The file is read without the interpreter's lock.
py::tuple read(const std::string& path) {
  Snapshot snapshot;
  {
    const py::gil_scoped_release free;
    snapshot = read_snapshot(path);
  }
  return py::make_tuple(std::make_shared<Particles>(std::move(snapshot.particles)), header_dict(snapshot.header));
}

/// The format follows from the ending of the name. The file appears whole or not at all. Returns what it cannot hold.
std::string write(const std::string& path, const Particles& particles, double time, double box_size,
                  const py::object& units, const py::object& cosmology) {
  const SnapshotHeader header = header_of(time, box_size, units, cosmology);
  const py::gil_scoped_release free;
  WriteOptions options;
  options.format = format_from_name(path);
  write_snapshot(path, {header, particles}, options);
  return lost_text(not_carried(header, false, snapshot_format(options.format)), header);
}

/// What pergola.models shows of a model: options by name, with default and help.
py::dict model_dict(const ModelInfo& model) {
  using namespace py::literals;
  py::dict options;
  for (const auto& option : model.options)
    options[py::str(option.name)] = py::make_tuple(option.default_value, option.help);
  return py::dict("name"_a = model.name, "summary"_a = model.summary, "units"_a = model.units, "n"_a = model.default_n,
                  "any_n"_a = model.any_n, "options"_a = options);
}

/// The particles that a run with this configuration would start from, and their header. Always made on the CPU: the
/// same on any machine.
py::tuple model(const RunConfig& config) {
  std::shared_ptr<Particles> made;
  SnapshotHeader header;
  {
    const py::gil_scoped_release free;
    const Device device = Device::open("cpu", config.run.threads);
    StartingPoint begin = open_particles(config, device.threads(), true);
    made = std::make_shared<Particles>(*begin.particles->whole());
    header.time = begin.time, header.box_size = begin.box_side;
  }
  const UnitSystem units = config.unit_system();
  header.units = FileUnits{units.length_cm, units.mass_g, units.velocity_cm_per_s};
  std::optional<physics::Cosmology> universe = config.cosmology;
  if (const auto start = model_cosmology(config.particles.model, config.particles.options)) universe = start->universe;
  if (universe) {
    header.redshift = 1 / header.time - 1;
    header.omega0 = universe->omega_matter, header.omega_lambda = universe->omega_lambda;
    header.omega_baryon = universe->omega_baryon, header.hubble_param = universe->h;
  }
  return py::make_tuple(made, header_dict(header));
}

/// Accelerations as rows, potentials, and the seconds on the device. `units`: of the particles, or None.
py::tuple forces(RunConfig config, const Particles& particles, bool potential, double box_side,
                 const py::object& units) {
  ForceResult found;
  take_file_units(config, "particles", units_of(units));
  {
    const py::gil_scoped_release free;
    particles.validate("particles");
    const Device device = Device::open(config.run.device, config.run.threads);
    SolverOptions options = config.solver_options();
    set_box(options, find_solver_box(config, particles, box_side));
    const auto solver = make_solver(options, device);
    const unsigned want = want_acceleration | (potential ? unsigned{want_potential} : 0u);
    found = evaluate_forces(*solver, device, particles, want);
  }
  py::object potentials = py::none();
  if (potential)
    potentials = py::array_t<double>(static_cast<py::ssize_t>(found.potential.size()), found.potential.data());
  return py::make_tuple(rows_of(found.ax, found.ay, found.az), potentials,
                        found.prepare_seconds + found.evaluate_seconds);
}

/// The same for positions and masses alone: for a few particles a Particles object takes as long as their forces.
py::tuple forces_at(const RunConfig& config, const Numbers& position, const Numbers& mass, bool potential,
                    double box_side) {
  return forces(config, *make_particles(position, {}, mass, {}, {}, false), potential, box_side, py::none());
}

}  // namespace

std::optional<FileUnits> units_of(const py::object& units) {
  if (units.is_none()) return std::nullopt;
  return FileUnits{units["length_cm"].cast<double>(), units["mass_g"].cast<double>(),
                   units["velocity_cm_per_s"].cast<double>()};
}

py::dict units_dict(const FileUnits& units) {
  using namespace py::literals;
  return py::dict("length_cm"_a = units.length_cm, "mass_g"_a = units.mass_g,
                  "velocity_cm_per_s"_a = units.velocity_cm_per_s);
}

/// Columns are views that can be written to; position and velocity are copies, because columns are stored apart.
void bind_particles(py::module_& module) {
  py::class_<Particles, std::shared_ptr<Particles>>(module, "Particles",
                                                    "Particles on the host; see pergola.Particles.", py::dynamic_attr())
      .def(py::init(&make_particles), py::arg("position"), py::arg("velocity") = py::none(),
           py::arg("mass") = py::none(), py::arg("id") = py::none(), py::arg("species") = py::none(),
           py::arg("check") = true)
      .def("__len__", [](const Particles& self) { return self.size(); })
      .def("append_arrays",
           [](Particles& self, const Particles& other) { self.append(other), self.validate("particles"); })
      .def("copy_arrays", [](const Particles& self) { return std::make_shared<Particles>(self); })
      .def_property_readonly("id", member(&Particles::id))
      .def_property_readonly("species", member(&Particles::species))
      .def_property_readonly("mass", member(&Particles::mass))
      .def_property_readonly("x", member(&Particles::x))
      .def_property_readonly("y", member(&Particles::y))
      .def_property_readonly("z", member(&Particles::z))
      .def_property_readonly("vx", member(&Particles::vx))
      .def_property_readonly("vy", member(&Particles::vy))
      .def_property_readonly("vz", member(&Particles::vz))
      .def_property_readonly("position", [](const Particles& self) { return rows_of(self.x, self.y, self.z); })
      .def_property_readonly("velocity", [](const Particles& self) { return rows_of(self.vx, self.vy, self.vz); });
  module.def("read", &read);
  module.def("write", &write);
  module.def("models", [] {
    py::list all;
    for (const auto& one : models()) all.append(model_dict(one));
    return all;
  });
  module.def("make_model", &model);
  module.def("forces", &forces);
  module.def("forces_at", &forces_at);
}

}  // namespace pergola::python
