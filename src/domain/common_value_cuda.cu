#include <limits>

#include "device/arena.hpp"
#include "device/launch.cuh"
#include "domain/common_value.hpp"

namespace pergola {

template <class Real>
std::optional<Real> CommonValue<Real>::of(const Real* values, std::int64_t count) {
  device_.make_current();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double least[2] = {infinity, infinity};  // of the value and of what it is below 0
  if (count > 0) {
    Arena(device_).room(differ_, 1);
    differ_.zero();
    cuda::launch("equal values", count, device_.stream(), [values, differ = differ_.data()] __device__(std::int64_t i) {
      if (values[i] != values[0]) *differ = 1;
    });
    Real first{};
    device_.memory().to_host(&first, values, sizeof first);
    const bool equal = differ_.to_host()[0] == 0;
    least[0] = equal ? static_cast<double>(first) : -infinity;
    least[1] = equal ? -static_cast<double>(first) : -infinity;
  }
  ranks_->all_reduce(least, 2, Reduction::minimum);
  if (least[0] != -least[1]) return std::nullopt;
  return static_cast<Real>(least[0]);
}

template <class Real>
void fill_cuda(const Device& device, Real value, std::int64_t count, Real* values) {
  device.make_current();
  cuda::launch("equal values", count, device.stream(), [=] __device__(std::int64_t k) { values[k] = value; });
}

template class CommonValue<float>;
template class CommonValue<double>;
template void fill_cuda(const Device&, float, std::int64_t, float*);
template void fill_cuda(const Device&, double, std::int64_t, double*);

}  // namespace pergola
