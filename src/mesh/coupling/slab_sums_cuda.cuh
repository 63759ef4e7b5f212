#pragma once
// CUDA only: sums of planes that go to other ranks.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "comm/communicator.hpp"
#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "mesh/device_planes.hpp"

namespace pergola::cuda {

/// Sums that have come for a plane.
template <class Sum>
struct AddSums {
  const Sum* from;
  std::int64_t* to;
  __device__ void operator()(std::int64_t i) const { to[i] += from[i]; }
};

/// Sums in half the bytes; and whether there is one that has no room there.
struct ShortenSums {
  const std::int64_t* from;
  std::int32_t* to;
  __device__ void operator()(std::int64_t i) const { to[i] = static_cast<std::int32_t>(from[i]); }
};
struct FindLargeSums {
  const std::int64_t* from;
  int* too_large;
  __device__ void operator()(std::int64_t i) const {
    if (static_cast<std::int32_t>(from[i]) != from[i]) *too_large = 1;
  }
};

/// Gives sums to the ranks that have their planes, in four bytes where those of all ranks have room there.
class SumsForOthers {
 public:
  /// `at_once`: planes of a rank at most.
  SumsForOthers(const Device& device, std::shared_ptr<Communicator> ranks, DevicePlanes& planes,
                std::int64_t plane_cells, int at_once)
      : device_(device),
        ranks_(std::move(ranks)),
        planes_(planes),
        plane_cells_(plane_cells),
        short_sums_(device, at_once * plane_cells),
        too_large_(device, 1) {}
  std::int64_t bytes() const { return static_cast<std::int64_t>(short_sums_.bytes()); }

  /// Of the sums in `added` those of the planes first … end − 1 are about to be given. All ranks together, as give().
  void look(const std::int64_t* added, int first, int end) {
    too_large_.zero();
    const std::int64_t count = std::max(0, end - first) * plane_cells_;
    launch("large sums", count, device_.stream(), FindLargeSums{added + first * plane_cells_, too_large_.data()});
    shortened_ = count <= short_sums_.size();
    if (shortened_) shorten(added, first, end);  // before anybody waits
    std::int64_t large = too_large_.to_host()[0];
    ranks_->all_reduce(&large, 1, Reduction::maximum);
    long_ = large != 0;
  }
  /// Some of these; what comes is added to `sums`, of the rank's slab.
  void give(const PlanesAround& around, const std::int64_t* added, int first, int end, std::int64_t* sums) {
    if (long_) return give_as(around, added, sums);
    if (!shortened_) shorten(added, first, end);
    give_as(around, short_sums_.data() - first * plane_cells_, sums);
  }

 private:
  void shorten(const std::int64_t* added, int first, int end) {
    launch("short sums", std::max(0, end - first) * plane_cells_, device_.stream(),
           ShortenSums{added + first * plane_cells_, short_sums_.data()});
  }
  /// `from`: where the first plane that the rank works on would stand.
  template <class Sum>
  void give_as(const PlanesAround& around, const Sum* from, std::int64_t* sums) {
    const auto* const arrived = reinterpret_cast<const Sum*>(planes_.give(
        around, reinterpret_cast<const std::byte*>(from), static_cast<std::size_t>(plane_cells_) * sizeof(Sum)));
    for (std::int64_t k = 0; k < std::ssize(around.arriving()); ++k)
      launch("sums of other ranks", plane_cells_, device_.stream(),
             AddSums<Sum>{arrived + k * plane_cells_,
                          sums + around.arriving()[static_cast<std::size_t>(k)] * plane_cells_});
  }

  Device device_;
  std::shared_ptr<Communicator> ranks_;
  DevicePlanes& planes_;
  std::int64_t plane_cells_;
  Buffer<std::int32_t> short_sums_;
  Buffer<int> too_large_;
  bool long_ = false;       // they are given in eight bytes
  bool shortened_ = false;  // all at once
};

}  // namespace pergola::cuda
