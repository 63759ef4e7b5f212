// Memory of the library as arrays: NumPy on the CPU; on a GPU objects with the CUDA array interface and DLPack, which
// CuPy, PyTorch, JAX and Numba import without a copy.
#include <cstring>

#include "python/core.hpp"

namespace pergola::python {

namespace {

/// DLPack 0.8 (github.com/dmlc/dlpack, dlpack.h): what a capsule named "dltensor" holds.
/// The layout is fixed by DLPack: members must keep their order and sizes.
struct DLTensor {
  void* data;
  struct {
    std::int32_t type, id;
  } device;
  std::int32_t dimensions;
  struct {
    std::uint8_t code, bits;
    std::uint16_t lanes;
  } number;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*release)(DLManagedTensor*);
};
constexpr std::int32_t dl_cpu = 1, dl_cuda = 2;

/// One value per particle in memory that `base` keeps alive.
struct DeviceArray {
  Device device;
  const void* data;
  std::int64_t count;
  py::dtype type;
  bool writable;
  py::object base;
};

/// DLPack's type codes: 0 signed, 1 unsigned, 2 floating-point.
std::uint8_t dl_code(const py::dtype& type) { return type.kind() == 'f' ? 2 : type.kind() == 'u' ? 1 : 0; }

/// Lives until the importing library releases the tensor.
struct Exported {
  DLManagedTensor managed{};
  std::int64_t shape = 0, stride = 1;
  py::object base;
};

/// Waits for the device, so that the importing library may read at once. The capsule owns the tensor until it is
/// imported; after that the importing library releases it.
py::capsule to_dlpack(const DeviceArray& array) {
  array.device.synchronize();
  auto exported = std::make_unique<Exported>();
  exported->shape = array.count;
  exported->base = array.base;
  DLTensor& tensor = exported->managed.tensor;
  tensor.data = const_cast<void*>(array.data);
  tensor.device = {array.device.is_cuda() ? dl_cuda : dl_cpu, array.device.is_cuda() ? array.device.ordinal() : 0};
  tensor.dimensions = 1;
  tensor.number = {dl_code(array.type), static_cast<std::uint8_t>(8 * array.type.itemsize()), 1};
  tensor.shape = &exported->shape;
  tensor.strides = &exported->stride;
  exported->managed.context = exported.get();
  exported->managed.release = [](DLManagedTensor* managed) {
    const py::gil_scoped_acquire lock;
    delete static_cast<Exported*>(managed->context);
  };
  return py::capsule(&exported.release()->managed, "dltensor", [](PyObject* capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor")) return;  // imported: "used_dltensor"
    auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    managed->release(managed);
  });
}

/// Version 3 of the CUDA array interface; `data` is the address and whether the array is read-only.
py::dict cuda_interface(const DeviceArray& array) {
  if (!array.device.is_cuda()) throw py::attribute_error("__cuda_array_interface__: this memory is on the CPU");
  array.device.synchronize();  // no stream is named: nothing is pending
  using namespace py::literals;
  return py::dict("shape"_a = py::make_tuple(array.count), "typestr"_a = array.type.attr("str"),
                  "data"_a = py::make_tuple(reinterpret_cast<std::uintptr_t>(array.data), !array.writable),
                  "strides"_a = py::none(), "version"_a = 3);
}

/// A copy on the host.
/// Waits for the device.
py::array to_host(const DeviceArray& array) {
  py::array copy(array.type, std::vector<py::ssize_t>{array.count});
  const auto bytes = static_cast<std::size_t>(array.count * array.type.itemsize());
  if (bytes > 0) array.device.memory().to_host(copy.mutable_data(), array.data, bytes);
  return copy;
}

}  // namespace

py::object array_view(const Device& device, const void* data, std::int64_t count, const py::dtype& type, bool writable,
                      const py::object& base) {
  if (device.is_cuda()) return py::cast(DeviceArray{device, data, count, type, writable, base});
  py::array view(type, std::vector<py::ssize_t>{count}, {type.itemsize()}, data, base);
  if (!writable) view.attr("flags").attr("writeable") = false;
  return view;
}

/// The names with underscores are protocols of NumPy-like libraries, which call them.
void bind_arrays(py::module_& module) {
  py::class_<DeviceArray>(module, "DeviceArray",
                          "One value per particle where the particles live, for CuPy, PyTorch and others.")
      .def(
          "__dlpack__", [](const DeviceArray& self, const py::object&) { return to_dlpack(self); },
          py::arg("stream") = py::none())
      .def("__dlpack_device__",
           [](const DeviceArray& self) {
             return py::make_tuple(self.device.is_cuda() ? dl_cuda : dl_cpu,
                                   self.device.is_cuda() ? self.device.ordinal() : 0);
           })
      .def_property_readonly("__cuda_array_interface__", &cuda_interface)
      .def("get", &to_host, "A copy as a NumPy array.")
      .def("__len__", [](const DeviceArray& self) { return self.count; })
      .def_property_readonly("dtype", [](const DeviceArray& self) { return self.type; });
  // The same path over memory of the CPU, for tests and for libraries that ask for DLPack alone.
  module.def("as_device_array", [](const py::array& array) {
    return DeviceArray{Device::open("cpu", 1), array.data(), array.size(), array.dtype(), array.writeable(), array};
  });
}

}  // namespace pergola::python
