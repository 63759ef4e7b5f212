#pragma once
// CUDA only: charge beyond the layers of a rank, which goes to those who have them.
#include <memory>
#include <vector>

#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "plasma/tile_slab.hpp"

namespace pergola::cuda {

/// What a rank has counted in the layers around its own, below and then above, [layer][species][cell]; they are
/// cleared.
struct PackAround {
  unsigned long long* sums;  // [species][layer][cell], with the layers around
  std::int64_t layer;        // cells of one
  int species, below, own, layers;
  unsigned long long* message;
  __device__ void operator()(std::int64_t k) const {
    const auto row = static_cast<int>(k / layer), around = row / species, s = row % species;
    const int at = around < below ? around : around + own;
    unsigned long long* const from = sums + (std::int64_t{s} * layers + at) * layer + k % layer;
    message[k] = *from;
    *from = 0;
  }
};

/// What others have counted in layers of this rank.
struct AddArrived {
  unsigned long long* sums;
  std::int64_t layer;
  int species, below, layers;
  const unsigned long long* message;  // [layer][species][cell]
  const int* into;                    // own layer of each
  __device__ void operator()(std::int64_t k) const {
    const auto row = static_cast<int>(k / layer);
    const std::int64_t at = std::int64_t{row % species} * layers + below + into[row / species];
    if (message[k] != 0) atomicAdd(sums + at * layer + k % layer, message[k]);
  }
};

/// As plasma::ChargeAround on CPUs. A few layers: they go through the host.
class ChargeAroundCuda {
 public:
  ChargeAroundCuda(const Device& device, const plasma::TileSlab& slab, int species,
                   const std::shared_ptr<Communicator>& ranks)
      : device_(device),
        ranks_(ranks),
        slab_(slab),
        species_(species),
        layer_(slab.rows_in_layer() * slab.cells[0]),
        around_(*ranks, slab.planes(*ranks), slab.below, slab.above),
        into_(device, around_.arriving()),
        given_(device, slab.count > 0 ? (slab.below + slab.above) * row() : 0),
        arrived_(device, std::ssize(around_.arriving()) * row()),
        host_(static_cast<std::size_t>(given_.size())) {}

  /// Gives what is counted beyond the rank's layers and adds what others give. A call of all ranks; waits.
  void give(unsigned long long* sums) {
    launch("charge around a slab", given_.size(), device_.stream(),
           PackAround{sums, layer_, species_, slab_.below, slab_.count, slab_.window.count, given_.data()});
    given_.to_host(host_.data());
    const std::byte* const arrived = around_.give(*ranks_, reinterpret_cast<const std::byte*>(host_.data()),
                                                  static_cast<std::size_t>(row()) * sizeof(unsigned long long));
    arrived_.from_host(reinterpret_cast<const unsigned long long*>(arrived));
    launch("charge from around", arrived_.size(), device_.stream(),
           AddArrived{sums, layer_, species_, slab_.below, slab_.window.count, arrived_.data(), into_.data()});
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(into_.bytes() + given_.bytes() + arrived_.bytes()); }

 private:
  std::int64_t row() const { return species_ * layer_; }

  Device device_;
  std::shared_ptr<Communicator> ranks_;
  plasma::TileSlab slab_;
  int species_;
  std::int64_t layer_;
  PlanesAround around_;
  Buffer<int> into_;
  Buffer<unsigned long long> given_, arrived_;
  std::vector<unsigned long long> host_;
};

}  // namespace pergola::cuda
