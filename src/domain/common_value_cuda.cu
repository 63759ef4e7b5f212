#include <limits>

#include "device/launch.cuh"
#include "domain/common_value.hpp"

namespace pergola {

template <class Real>
std::optional<Real> common_value(const Device& device, Communicator& ranks, const Real* values, std::int64_t count) {
  device.make_current();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double least[2] = {infinity, infinity};  // of the value and of what it is below 0
  if (count > 0) {
    Buffer<std::uint32_t> differ(device, 1);
    differ.zero();
    cuda::launch("equal values", count, device.stream(), [values, differ = differ.data()] __device__(std::int64_t i) {
      if (values[i] != values[0]) *differ = 1;
    });
    Real first{};
    device.memory().to_host(&first, values, sizeof first);
    const bool equal = differ.to_host()[0] == 0;
    least[0] = equal ? static_cast<double>(first) : -infinity;
    least[1] = equal ? -static_cast<double>(first) : -infinity;
  }
  ranks.all_reduce(least, 2, Reduction::minimum);
  if (least[0] != -least[1]) return std::nullopt;
  return static_cast<Real>(least[0]);
}

template <class Real>
void fill_cuda(const Device& device, Real value, std::int64_t count, Real* values) {
  device.make_current();
  cuda::launch("equal values", count, device.stream(), [=] __device__(std::int64_t k) { values[k] = value; });
}

template std::optional<float> common_value(const Device&, Communicator&, const float*, std::int64_t);
template std::optional<double> common_value(const Device&, Communicator&, const double*, std::int64_t);
template void fill_cuda(const Device&, float, std::int64_t, float*);
template void fill_cuda(const Device&, double, std::int64_t, double*);

}  // namespace pergola
