// A simulation that Python drives: steps without the interpreter's lock, borrowed arrays between steps, and forces that
// are Python functions.
//
// Driver is the class behind pergola.Simulation. One call at a time: a second thread gets an error. Arrays may be
// borrowed between steps only; an array that is kept longer than the block keeps the old memory, and the simulation
// continues with a copy. An error in the middle of a step leaves the particles between two times: the simulation then
// refuses to go on. Times and lengths are in the units of the configuration.
#include <algorithm>
#include <chrono>

#include "python/core.hpp"

namespace pergola::python {

namespace {

/// The interval at which a long call checks for Ctrl-C and reports.
constexpr auto look_every = std::chrono::milliseconds(50);

/// Keeps the memory of borrowed arrays alive: the simulation's, or the memory that the simulation left behind.
struct Lending {
  std::shared_ptr<GravitySystem> simulation;
  BorrowedParticles particles;
  std::shared_ptr<void> left;
  bool held = true;  // an array exists
};

/// The base of arrays: keeps `kept` alive, and clears kept->held when the last array is gone.
/// NumPy and DLPack keep the base as long as any array exists, so its destructor is the sign that none does.
template <class Kept>
py::capsule base_of_arrays(const std::shared_ptr<Kept>& kept) {
  return py::capsule(new std::shared_ptr<Kept>(kept), [](void* pointer) {
    auto* mine = static_cast<std::shared_ptr<Kept>*>(pointer);
    (*mine)->held = false;
    delete mine;
  });
}

/// A simulation with the rules for calls from Python: who may call when, and what an error leaves behind.
class Driver {
 public:
  explicit Driver(std::shared_ptr<GravitySystem> simulation) : simulation_(std::move(simulation)) {}

  const GravitySystem& look() const { return *simulation_; }

  /// Advances to `time`, or to the step after Ctrl-C. `tick` is called a few times a second with the time of the latest
  /// step.
  bool run_until(double time, const py::object& tick) {
    return drive([&] {
      const double end = simulation_->config().run.end_time;
      if (!(time >= simulation_->time()) || time > end) simulation_->run_until(time);  // throws the error
      bool interrupted = false;
      auto next_look = std::chrono::steady_clock::now() + look_every;
      const bool reached = simulation_->advance(time, [&] {
        if (std::chrono::steady_clock::now() < next_look) return false;
        next_look = std::chrono::steady_clock::now() + look_every;
        const py::gil_scoped_acquire lock;
        if (!tick.is_none()) tick(simulation_->step_time());
        interrupted = PyErr_CheckSignals() != 0;
        return interrupted;
      });
      if (interrupted) {
        between_steps_ = true;
        const py::gil_scoped_acquire lock;
        throw py::error_already_set();
      }
      if (reached && time == end) simulation_->run_until(end);
      return reached;
    });
  }

  /// Takes a step unless it would end beyond `limit`; returns whether it did.
  bool step_before(double limit) {
    const bool reached = drive([&] {
      simulation_->pause_every(1);
      const bool no_more = simulation_->advance(limit, [] { return true; });
      simulation_->pause_every(0);
      return no_more;
    });
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    return !reached;
  }
  /// One step, or one block of block steps. Throws Error(input) at the end of the configured time.
  void step() {
    if (!step_before(simulation_->config().run.end_time))
      throw Error(ErrorKind::input, "step: expected a step before run.end_time, found none");
  }

  /// What a run would warn of, since the last call.
  std::vector<std::string> warnings() {
    std::vector<std::string> texts;
    for (const Remark& remark : simulation_->remarks())
      if (remark.level == LogLevel::warning) texts.push_back(remark.text);
    return texts;
  }

  /// Replaces all particles at the present time; forces are computed anew.
  void set_particles(const Particles& particles) {
    drive([&] {
      simulation_->set_particles(particles);
      return true;
    });
  }

  /// Borrows arrays: by name, and their time.
  py::tuple lend(bool write);
  /// Ends the borrowing; `changed`: forces are computed anew. True: an array was kept, and now has the old memory.
  bool take_back(bool changed);

  /// A copy in the order of the input, from any device.
  std::shared_ptr<Particles> particles() const {
    check_idle();
    const py::gil_scoped_release free;
    return std::make_shared<Particles>(simulation_->particles());
  }

  /// At the present time; user forces have no potential and are not counted.
  py::dict energies() const {
    check_idle();
    Energies found;
    {
      const py::gil_scoped_release free;
      found = simulation_->energies();
    }
    using namespace py::literals;
    const auto triple = [](const Vec3<double>& v) { return py::make_tuple(v.x, v.y, v.z); };
    return py::dict("kinetic"_a = found.kinetic, "potential"_a = found.potential, "total"_a = found.total(),
                    "momentum"_a = triple(found.momentum), "angular_momentum"_a = triple(found.angular_momentum));
  }

  /// Writes a checkpoint; `description` is text for load(). Returns the name of the file.
  std::string save(const std::string& directory, const std::string& description) const {
    check_idle();
    const py::gil_scoped_release free;
    return write_checkpoint(directory, {description, simulation_->save()}).string();
  }

 private:
  /// Throws Error(input) inside another call, and after an error in the middle of a step.
  void check_idle() const {
    if (busy_)
      throw Error(ErrorKind::input, "simulation: expected one call at a time, found another thread inside this one");
    if (broken_)
      throw Error(ErrorKind::input,
                  "simulation: an error stopped it in the middle of a step; go on from a saved state");
  }
  /// Throws Error(input) while arrays are borrowed: particles must not move under them.
  void check_not_borrowed() const {
    if (lending_)
      throw Error(ErrorKind::input, "arrays: expected the block `with sim.arrays()` to end before the particles move");
  }

  /// Calls work(), which changes the simulation, without the interpreter's lock.
  template <class Work>
  bool drive(const Work& work) {
    check_idle();
    check_not_borrowed();
    busy_ = true;
    between_steps_ = false;
    const StepCounts before = simulation_->counts();
    try {
      const py::gil_scoped_release free;
      const bool reached = work();
      busy_ = false;
      return reached;
    } catch (const Error& error) {
      busy_ = false;
      broken_ = error.kind() != ErrorKind::input || simulation_->counts().steps != before.steps;
      throw;
    } catch (...) {
      busy_ = false;
      broken_ = !between_steps_;
      throw;
    }
  }

  std::shared_ptr<GravitySystem> simulation_;
  std::shared_ptr<Lending> lending_;
  bool busy_ = false, broken_ = false, between_steps_ = false;
};

py::tuple Driver::lend(bool write) {
  check_idle();
  check_not_borrowed();
  auto lending = std::make_shared<Lending>();
  {
    const py::gil_scoped_release free;
    lending->simulation = simulation_;
    lending->particles = simulation_->lend();
  }
  const BorrowedParticles& p = lending->particles;
  const py::capsule base = base_of_arrays(lending);
  lending_ = lending;
  const auto numbers = p.single ? py::dtype::of<float>() : py::dtype::of<double>();
  py::dict arrays;
  const auto add = [&](const char* name, const void* data, const py::dtype& type, bool writable) {
    arrays[name] = array_view(p.device, data, p.count, type, writable, base);
  };
  add("x", p.x, numbers, write), add("y", p.y, numbers, write), add("z", p.z, numbers, write);
  add("vx", p.vx, numbers, write), add("vy", p.vy, numbers, write), add("vz", p.vz, numbers, write);
  add("mass", p.mass, numbers, false);
  add("species", p.species, py::dtype::of<std::uint8_t>(), false);
  add("id", p.id, py::dtype::of<std::uint64_t>(), false);
  return py::make_tuple(arrays, p.time);
}

bool Driver::take_back(bool changed) {
  const auto lending = std::move(lending_);
  lending_.reset();
  const bool kept = lending && lending->held;
  if (kept) lending->left = simulation_->leave_borrowed();
  if (lending) lending->simulation.reset();
  if (changed)
    drive([&] {
      simulation_->take_back();
      return true;
    });
  return kept;
}

/// A call of a force.
struct Call {
  bool held = true;  // an array of it exists
};

/// The arrays that a force in Python gets: places and velocities to read, accelerations to add to, or `jerks` too. If
/// only some particles are active, places are copies of theirs.
py::object force_arrays(const auto& call, bool jerks, const py::capsule& base) {
  using Real = std::remove_cvref_t<decltype(call.ax[0])>;
  const Device& device = *call.device;
  py::dict arrays;
  const auto places = [&](const char* name, const auto* all) {
    if (!all) {
      arrays[name] = py::none();
    } else if (!call.index) {
      arrays[name] = array_view(device, all + call.first, call.count, false, base);
    } else {  // some particles are active
      using T = std::remove_cvref_t<decltype(*all)>;
      py::array_t<T> part(call.count);
      for (std::int64_t t = 0; t < call.count; ++t) part.mutable_data()[t] = all[call.index[t]];
      arrays[name] = part;
    }
  };
  places("x", call.x), places("y", call.y), places("z", call.z);
  places("vx", call.vx), places("vy", call.vy), places("vz", call.vz);
  places("mass", call.mass), places("species", call.species);
  arrays["ax"] = array_view<Real>(device, call.ax, call.count, true, base);
  arrays["ay"] = array_view<Real>(device, call.ay, call.count, true, base);
  arrays["az"] = array_view<Real>(device, call.az, call.count, true, base);
  if (jerks) {
    arrays["jx"] = array_view<Real>(device, call.jx, call.count, true, base);
    arrays["jy"] = array_view<Real>(device, call.jy, call.count, true, base);
    arrays["jz"] = array_view<Real>(device, call.jz, call.count, true, base);
  }
  arrays["time"] = call.time;
  return py::module_::import("pergola._simulation").attr("Lent")(**arrays);
}

/// With the periodic box of this side, if the solver takes it from the particles; 0: they carry none.
RunConfig boxed(RunConfig config, const Particles& particles, double side) {
  if (side > 0)
    if (const Box box = find_solver_box(config, particles, side); box.periodic()) set_box(config.gravity, box);
  return config;
}

/// The keys of a configuration in these units.
py::dict units_keys(const py::object& units) {
  RunConfig config;
  take_file_units(config, "the particles", units_of(units));
  py::dict keys;
  keys["units.system"] = config.units.system;
  if (config.units.system != "custom") return keys;
  keys["units.length_cm"] = config.units.length_cm;
  keys["units.mass_g"] = config.units.mass_g;
  keys["units.velocity_cm_per_s"] = config.units.velocity_cm_per_s;
  return keys;
}

/// A Python object that C++ may copy and drop without the interpreter's lock.
std::shared_ptr<py::function> held(const py::function& function) {
  return {new py::function(function), [](const py::function* one) {
            const py::gil_scoped_acquire lock;
            delete one;
          }};
}

/// Waits for the device and takes the interpreter's lock. An array that outlives the call is an error: its memory may
/// be another's by then.
void ask(const py::function& function, const auto& call, bool jerks) {
  if (call.device->is_cuda() && call.index)
    throw Error(ErrorKind::input, "user forces: expected time.steps = \"shared\" for a Python force on a GPU");
  call.device->synchronize();
  const py::gil_scoped_acquire lock;
  const auto call_of_it = std::make_shared<Call>();
  if (!function(force_arrays(call, jerks, base_of_arrays(call_of_it))).is_none())
    throw Error(ErrorKind::input, fmt::format("user forces: expected a function that adds to p.{0}x, p.{0}y and p.{0}z "
                                              "and returns nothing, found one that returns a value",
                                              jerks ? "j" : "a"));
  if (call_of_it->held)
    throw Error(ErrorKind::input,
                "user forces: expected no array to outlive the call of the force, found one that was kept; keep a "
                "copy of it");
}

/// Python functions as a user's force and its jerk, if there is one.
UserForce python_force(const py::function& force, const std::optional<py::function>& jerk) {
  return user_force(
      [force = held(force), jerk = jerk ? held(*jerk) : nullptr](const auto& call) {
        ask(*force, call, false);
        if (jerk && call.jx) ask(*jerk, call, true);
      },
      jerk.has_value());
}

}  // namespace

/// Config is a checked configuration; Driver has three constructors: from a model, from particles, from a checkpoint.
void bind_simulation(py::module_& module) {
  py::class_<RunConfig, std::shared_ptr<RunConfig>>(module, "Config")
      .def_static("read",
                  [](const std::string& path, const std::vector<std::string>& sets) { return read_config(path, sets); })
      .def_static("parse", [](const std::string& text, const std::string& source,
                              const std::vector<std::string>& sets) { return parse_config(text, source, sets); })
      .def_static("parse_force", [](const std::vector<std::string>& sets) { return parse_force_config(sets); })
      .def(
          "add_force",
          [](RunConfig& self, const py::function& force, const std::optional<py::function>& jerk) {
            self.gravity.user_forces.push_back(python_force(force, jerk));
          },
          py::arg("force"), py::arg("jerk") = py::none())
      .def_property_readonly("end_time", [](const RunConfig& self) { return self.run.end_time; })
      .def_property_readonly("is_plasma", &RunConfig::is_plasma)
      .def_property_readonly("units",
                             [](const RunConfig& self) -> py::object {
                               const UnitSystem used = self.unit_system();
                               if (used.name == nbody_units().name) return py::none();
                               return units_dict({used.length_cm, used.mass_g, used.velocity_cm_per_s});
                             })
      .def("take_units",
           [](RunConfig& self, const py::object& units) { take_file_units(self, "the particles", units_of(units)); })
      .def_property_readonly("cosmology",
                             [](const RunConfig& self) -> py::object {
                               using namespace py::literals;
                               if (!self.cosmology) return py::none();
                               const auto& universe = *self.cosmology;
                               return py::dict("omega_matter"_a = universe.omega_matter,
                                               "omega_lambda"_a = universe.omega_lambda,
                                               "omega_baryon"_a = universe.omega_baryon, "h"_a = universe.h);
                             })
      .def("text", &config_text);
  module.def("units_keys", &units_keys);
  using Made = std::shared_ptr<Driver>;
  py::class_<Driver, Made>(module, "Driver")
      .def(py::init([](const RunConfig& config) {
        const py::gil_scoped_release free;
        return std::make_shared<Driver>(std::make_shared<GravitySystem>(config));
      }))
      .def(py::init([](const RunConfig& config, const Particles& particles, double time, double box_side) {
        const py::gil_scoped_release free;
        return std::make_shared<Driver>(
            std::make_shared<GravitySystem>(boxed(config, particles, box_side), particles, time));
      }))
      .def_static("resume",
                  [](const RunConfig& config, const Checkpoint& from) {
                    const py::gil_scoped_release free;
                    return std::make_shared<Driver>(std::make_shared<GravitySystem>(config, from.blocks));
                  })
      .def("run_until", &Driver::run_until)
      .def("step", &Driver::step)
      .def("step_before", &Driver::step_before)
      .def("warnings", &Driver::warnings)
      .def("set_particles", &Driver::set_particles)
      .def("lend", &Driver::lend)
      .def("take_back", &Driver::take_back)
      .def("particles", &Driver::particles)
      .def("energies", &Driver::energies)
      .def("save", &Driver::save)
      .def_property_readonly("time", [](const Driver& self) { return self.look().time(); })
      .def_property_readonly("step_time", [](const Driver& self) { return self.look().step_time(); })
      .def_property_readonly("start_time", [](const Driver& self) { return self.look().start_time(); })
      .def_property_readonly("steps", [](const Driver& self) { return self.look().counts().steps; })
      .def_property_readonly("box_size",
                             [](const Driver& self) {
                               const Box box = self.look().box();
                               return box.periodic() ? std::max({box.side.x, box.side.y, box.side.z}) : 0.0;
                             })
      .def_property_readonly("device", [](const Driver& self) { return self.look().device().spec(); })
      .def_property_readonly("choices", [](const Driver& self) { return self.look().choices(); })
      .def_property_readonly("remark", [](const Driver& self) { return self.look().remark(); })
      .def("__len__", [](const Driver& self) { return self.look().size(); });
}

}  // namespace pergola::python
