#pragma once
/// What the sources of the Python module share: pybind11, the public interface (pergola.hpp), and arrays over memory of
/// the library.
///
/// Each source has one bind_… function, which module.cpp calls when Python imports pergola._core. The package in
/// python/pergola is on top of that module and is what users see; _core is no interface for them. Long calls run
/// without the interpreter's lock (gil_scoped_release): inside them no Python object may be touched. Errors of the
/// library become pergola.Error with a kind. Numbers are doubles in the units of the simulation; borrowed arrays
/// have its precision.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>

#include "base/variant.hpp"
#include "pergola.hpp"

/// pergola::Variant converts as std::variant does.
template <class... Types>
struct pybind11::detail::type_caster<pergola::Variant<Types...>>
    : pybind11::detail::variant_caster<pergola::Variant<Types...>> {};

namespace pergola::python {

namespace py = pybind11;

/// In this order: later ones use types of the earlier ones.
void bind_particles(py::module_& module);
void bind_arrays(py::module_& module);
void bind_simulation(py::module_& module);
void bind_analysis(py::module_& module);

/// An array over memory that `base` keeps alive; on a GPU a DeviceArray.
py::object array_view(const Device& device, const void* data, std::int64_t count, const py::dtype& type, bool writable,
                      const py::object& base);
template <class T>
py::object array_view(const Device& device, const T* data, std::int64_t count, bool writable, const py::object& base) {
  return array_view(device, data, count, py::dtype::of<T>(), writable, base);
}

/// Units by their names in Python, and back; none from None.
py::dict units_dict(const FileUnits& units);
std::optional<FileUnits> units_of(const py::object& units);

}  // namespace pergola::python
