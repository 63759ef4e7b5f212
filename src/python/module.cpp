// The module _core: errors, managed runs, saved states, and what this build has.
//
// run() is `pergola run` as a function: the same files in a directory, and run.json as its result. It checks for Ctrl-C
// some 20 times a second, ends with a checkpoint, and then raises KeyboardInterrupt.
#include <chrono>

#include "base/units.hpp"
#include "base/version.hpp"
#include "config/quantities.hpp"
#include "python/core.hpp"

namespace pergola::python {

namespace {

/// The word for pergola.Error.kind.
const char* kind_word(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::numerics:
      return "numerics";
    case ErrorKind::input:
      return "input";
    case ErrorKind::system:
      return "system";
    case ErrorKind::device:
      return "device";
    case ErrorKind::interrupted:
      return "interrupted";
  }
  return "numerics";
}

/// Returns run.json as text. `progress` is called a few times a second with time, end and seconds left.
/// The run has one process, also under mpirun.
std::string run(const RunConfig& config, const std::string& directory, bool resume, bool overwrite,
                const py::object& progress) {
  RunOptions options;
  options.directory = directory;
  options.resume = resume;
  options.overwrite = overwrite;
  bool signalled = false;
  auto next_look = std::chrono::steady_clock::now();
  options.interrupted = [&] {
    if (signalled || std::chrono::steady_clock::now() < next_look) return signalled;
    next_look = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    const py::gil_scoped_acquire lock;
    signalled = PyErr_CheckSignals() != 0;
    if (signalled) PyErr_Clear();  // the run ends with a checkpoint first
    return signalled;
  };
  if (!progress.is_none())
    options.progress = [&](const RunProgress& now) {
      const py::gil_scoped_acquire lock;
      progress(now.time, now.end_time, now.seconds_left);
    };
  RunSummary summary;
  {
    const py::gil_scoped_release free;
    summary = run_system(config, options);
  }
  if (signalled) {
    PyErr_SetString(PyExc_KeyboardInterrupt, "the run was stopped after a checkpoint; resume=True goes on");
    throw py::error_already_set();
  }
  return summary.json;
}

/// The newest whole state in a directory. Damaged ones are skipped; an error lists them if none is whole.
std::shared_ptr<Checkpoint> load(const std::string& directory) {
  const py::gil_scoped_release free;
  std::string warnings;
  auto found = read_newest_checkpoint(directory, [&](const std::string& text) { warnings += text + "; "; });
  if (!found)
    throw Error(ErrorKind::input,
                directory + ": " + warnings + "expected a state that Simulation.save wrote, found none");
  return std::make_shared<Checkpoint>(std::move(*found));
}

}  // namespace

/// pergola.Error with .kind, and the translation of the library's errors into it.
void bind_errors(py::module_& module) {
  static PyObject* error_class = nullptr;  // lives as long as the interpreter, as the module does
  error_class = PyErr_NewExceptionWithDoc(
      "pergola.Error",
      "Every error of Pergola. Its text says what, where, what was expected and what was found.\n\n"
      "``kind`` is ``\"input\"``, ``\"numerics\"``, ``\"system\"``, ``\"device\"`` or ``\"interrupted\"``.",
      PyExc_RuntimeError, nullptr);
  module.attr("Error") = py::reinterpret_borrow<py::object>(error_class);
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) {
      const py::object made = py::reinterpret_borrow<py::object>(error_class)(error.what());
      made.attr("kind") = kind_word(error.kind());
      PyErr_SetObject(error_class, made.ptr());
    }
  });
}

/// Units as the library reads and writes them, and names of species.
void bind_text(py::module_& module) {
  module.def("plain_time",
             [](const std::string& text, const py::object& units, bool universe, const std::string& name) {
               QuantityUnits in{.system = std::nullopt, .universe = universe};
               if (const auto stated = units_of(units))
                 in.system = custom_units(stated->length_cm, stated->mass_g, stated->velocity_cm_per_s);
               return plain_number(text, dimension::time, in, name);
             });
  module.def("units_text", [](double length_cm, double mass_g, double velocity_cm_per_s) {
    return length_unit_text(length_cm) + ", " + mass_unit_text(mass_g) + ", " + velocity_unit_text(velocity_cm_per_s);
  });
  module.attr("species_names") = py::cast(std::vector<std::string>(species_names.begin(), species_names.end()));
}

/// Functions on whole runs, and lists of what this build can do.
void bind_runs(py::module_& module) {
  py::class_<Checkpoint, std::shared_ptr<Checkpoint>>(module, "Checkpoint")
      .def_readonly("description", &Checkpoint::description);
  module.def("load", &load);
  module.def("run", &run);
  module.def("solvers", [] {
    py::dict all;
    for (const auto& entry : solver_entries())
      all[py::str(entry.name)] = py::dict(py::arg("summary") = entry.summary, py::arg("jerk") = entry.can.jerk,
                                          py::arg("periodic") = entry.can.periodic);
    return all;
  });
  module.def("devices", [] {
    py::list all;
    for (const auto& one : list_devices())
      all.append(py::dict(py::arg("spec") = one.spec, py::arg("name") = one.name, py::arg("usable") = one.usable,
                          py::arg("why_not") = one.why_not));
    return all;
  });
}

}  // namespace pergola::python

PYBIND11_MODULE(_core, module) {
  module.doc() = "The C++ side of pergola; what a user sees is in the package.";
  pergola::python::bind_errors(module);
  pergola::python::bind_text(module);
  pergola::python::bind_particles(module);
  pergola::python::bind_arrays(module);
  pergola::python::bind_simulation(module);
  pergola::python::bind_runs(module);
  pergola::python::bind_analysis(module);
  module.attr("version") = std::string(pergola::version());
}
