#pragma once
// CUDA only: which rank owns which branches of an octree in open space, and the way of particles there.
#include <cstdint>
#include <memory>
#include <vector>

#include "base/exact_sum.hpp"
#include "comm/communicator.hpp"
#include "device/arena.hpp"
#include "device/buffer.hpp"
#include "domain/device_routing.hpp"
#include "tree/keys.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/spread_bounds_cuda.cuh"
#include "tree/top_tree.hpp"

namespace pergola::tree {

/// Small things that the host asks the device for, and its answers, in memory that both reach.
struct KeyQuestions {
  SharedBuffer<KeyRanges::Range> range;
  SharedBuffer<KeyRanges::Ends> ends;
  SharedBuffer<int> shift;
  SharedBuffer<KeyRanges::Bounds> bounds;
  SharedBuffer<std::int64_t> weights;  // before each of the bounds
};

/// The sum of n equal masses with the bits that OctreeCuda finds.
double sum_of_equal_cuda(double mass, std::int64_t n);

/// Of weights by which domains are cut: 2^32 of them are at most greatest_weight.
inline constexpr std::int64_t heaviest_particle = greatest_weight >> 32;

/// A particle goes to the rank that has its leaf of the top (tree/top_tree.hpp). All ranks make all calls that are not
/// const together.
template <class Real>
class TreeDomains {
 public:
  /// `messages`: of others too.
  TreeDomains(const std::shared_ptr<DeviceMessages>& messages, std::shared_ptr<Communicator> ranks);

  /// For particles on any ranks, `total` of them, at least one: finds the frame of all, and the top. Throws
  /// Error(numerics) on all ranks when a position is not finite. `work` is free again afterwards. `again`: the tree is
  /// made again, in its frame, of the keys that particles have.
  TopTree cut(const Points<Real>& kept, const TreeSoftening& softening, std::int64_t total, const LentMemory& work,
              const KeptTree* again = nullptr);
  /// Weights of this rank's particles, for the next cut of just these, which then shares out their sum; else ranks get
  /// as many of them.
  std::uint32_t* weights(std::int64_t count);

  const Frame& frame() const { return frame_; }
  /// The way to the owners, as they were cut.
  DeviceRouting& way() { return own_; }
  const DeviceRouting& way() const { return own_; }
  /// Memory that is not needed before the next cut goes back to the device.
  void give_back_memory() { weights_ = Buffer<std::uint32_t>(), weighed_ = -1; }

  /// Of the device's memory, where each rank has n particles, messages apart.
  std::int64_t device_bytes(std::int64_t n) const {
    return own_.own_bytes(n) + 2 * n * std::int64_t{sizeof(std::uint32_t)};
  }

  // Steps of cut(). Public, for nvcc allows no device lambda in a private function.
  std::vector<std::uint64_t> find_cuts(const Points<Real>& kept, const SofteningDigit& digit, std::int64_t total,
                                       const LentMemory& work, TopTree& top);
  void plan(const Points<Real>& kept, const SofteningDigit& digit, const std::vector<std::uint64_t>& cuts,
            const LentMemory& work);

 private:
  Device device_;
  std::shared_ptr<Communicator> ranks_;
  DeviceRouting own_;
  Frame frame_;
  int finest_shift_ = 0;           // of the last top
  std::int64_t weighed_ = -1;      // particles that have weights
  Buffer<std::uint32_t> weights_;  // and room to sort them
  KeyQuestions questions_;
  DistributedBounds<Real> bounds_;
  Buffer<std::uint64_t> cuts_;
};

}  // namespace pergola::tree
