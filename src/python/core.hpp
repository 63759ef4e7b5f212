#pragma once
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>

#include "base/variant.hpp"
#include "pergola.hpp"

/// As for std::variant.
template <class... Types>
struct pybind11::detail::type_caster<pergola::Variant<Types...>>
    : pybind11::detail::variant_caster<pergola::Variant<Types...>> {};

namespace pergola::python {

namespace py = pybind11;

/// What a Simulation of Python drives.
using Gravity = GravitySystem;

/// pergola.Error with .kind, and the translation of the library's errors into it.
void bind_errors(py::module_& module);
void bind_particles(py::module_& module);
void bind_arrays(py::module_& module);
void bind_simulation(py::module_& module);
void bind_runs(py::module_& module);
void bind_analysis(py::module_& module);

/// An array that looks at memory which `base` keeps alive; on a GPU a DeviceArray.
py::object array_view(const Device& device, const void* data, std::int64_t count, const py::dtype& type, bool writable,
                      const py::object& base);
template <class T>
py::object array_view(const Device& device, const T* data, std::int64_t count, bool writable, const py::object& base) {
  return array_view(device, data, count, py::dtype::of<T>(), writable, base);
}

/// As Python names them.
py::dict units_dict(const FileUnits& units);

/// A Python function as a user's force.
UserForce python_force(const py::function& function);

/// Throws KeyboardInterrupt, where Ctrl-C was pressed. With the interpreter's lock.
inline void check_signals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace pergola::python
