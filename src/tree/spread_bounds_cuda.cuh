#pragma once
// CUDA only: where the particles of all ranks are.
#include <array>
#include <memory>

#include "base/exact_sum.hpp"
#include "comm/communicator.hpp"
#include "device/buffer.hpp"
#include "tree/octree_cpu.hpp"

namespace pergola::tree {

template <class Real>
class DistributedBounds {
 public:
  DistributedBounds(const Device& device, std::shared_ptr<Communicator> ranks);

  /// The least and the largest of x, y, z and mass (these as the least of what they are below 0), of all ranks, which
  /// call this together. Throws Error(numerics) on all of them when a position is not finite.
  using Least = std::array<double, 8>;
  Least find(const Points<Real>& kept);
  /// The cube of what find() found, with that mass.
  static Frame frame(const Least& least, double mass);
  /// The exact sum of the masses that this rank gave to find().
  void own_mass(std::int64_t (&limbs)[ExactSum::limbs]) const;

 private:
  Device device_;
  std::shared_ptr<Communicator> ranks_;
  SharedBuffer<double> bounds_;
  Buffer<unsigned long long> mass_limbs_;
};

}  // namespace pergola::tree
