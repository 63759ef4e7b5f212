#include "tree/spread_bounds_cuda.cuh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "device/arena.hpp"
#include "device/launch.cuh"
#include "tree/frame_cuda.cuh"

namespace pergola::tree {

template <class Real>
DistributedBounds<Real>::DistributedBounds(const Device& device, std::shared_ptr<Communicator> ranks)
    : device_(device), ranks_(std::move(ranks)) {}

template <class Real>
typename DistributedBounds<Real>::Least DistributedBounds<Real>::find(const Points<Real>& kept) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr std::size_t values = std::size_t{bound_blocks} * bound_values;
  Arena(device_).room(mass_limbs_, ExactSum::limbs);
  mass_limbs_.zero();
  if (bounds_.size() == 0) bounds_ = SharedBuffer<double>(device_, static_cast<std::int64_t>(values));
  bounds_kernel<<<bound_blocks, bound_threads, 0, cuda::handle(device_.stream())>>>(kept, bounds_.data(),
                                                                                    mass_limbs_.data());
  cuda::check(cudaGetLastError(), "tree bounds");
  device_.synchronize();
  Least least;
  least.fill(infinity);
  double finite = 1;
  for (std::size_t b = 0; b < values; b += bound_values) {
    const double* const part = bounds_.data() + b;
    for (std::size_t a = 0; a < 3; ++a) {
      if (!(part[a] > -infinity) || !(part[3 + a] < infinity)) finite = 0;
      least[a] = std::min(least[a], part[a]), least[4 + a] = std::min(least[4 + a], -part[3 + a]);
    }
    if (!std::isfinite(part[6])) finite = 0;
    least[3] = std::min(least[3], part[7]), least[7] = std::min(least[7], -part[8]);
  }
  if (finite == 0) least.fill(0);  // what is no number has no least one
  std::array<double, 9> of_all;
  *std::copy(least.begin(), least.end(), of_all.begin()) = finite;
  ranks_->all_reduce(of_all.data(), of_all.size(), Reduction::minimum);
  if (of_all.back() == 0) throw Error(ErrorKind::numerics, "tree: a position is not a finite number");
  std::copy_n(of_all.begin(), least.size(), least.begin());
  return least;
}

template <class Real>
Frame DistributedBounds<Real>::frame(const Least& least, double mass) {
  return frame_within({least[0], least[1], least[2]}, {-least[4], -least[5], -least[6]}, mass, {});
}

template <class Real>
void DistributedBounds<Real>::own_mass(std::int64_t (&limbs)[ExactSum::limbs]) const {
  device_.memory().to_host(limbs, mass_limbs_.data(), sizeof limbs);
}

template class DistributedBounds<float>;
template class DistributedBounds<double>;

}  // namespace pergola::tree
