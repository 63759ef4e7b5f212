#include "base/version.hpp"
#include "python/core.hpp"

namespace pergola::python {

namespace {

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

}  // namespace

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

}  // namespace pergola::python

PYBIND11_MODULE(_core, module) {
  module.doc() = "The C++ side of pergola; what a user sees is in the package.";
  pergola::python::bind_errors(module);
  pergola::python::bind_particles(module);
  pergola::python::bind_arrays(module);
  pergola::python::bind_simulation(module);
  pergola::python::bind_runs(module);
  pergola::python::bind_analysis(module);
  module.attr("version") = std::string(pergola::version());
}
