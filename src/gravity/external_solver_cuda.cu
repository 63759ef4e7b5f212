#include "device/launch.cuh"
#include "gravity/wrapped_solver.hpp"

namespace pergola {

template <class Real>
void add_external_cuda(const Device& device, const AddExternal<Real>& body) {
  device.make_current();
  cuda::launch("external potentials", body.targets.count, device.stream(), body);
}
template void add_external_cuda(const Device& device, const AddExternal<float>& body);
template void add_external_cuda(const Device& device, const AddExternal<double>& body);

}  // namespace pergola
