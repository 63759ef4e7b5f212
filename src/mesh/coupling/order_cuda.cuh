#pragma once
// CUDA only. The order in which particles are best stored, by the number of their cell, and the counts of a deposit on
// the host, from which the route "sorted" sees that the particles are in disorder.
#include "device/buffer.hpp"
#include "device/sort.cuh"
#include "mesh/coupling/deposit_cuda.cuh"

namespace pergola::cuda {

/// Numbers the cells so that a range of numbers is a compact piece of the mesh: columns of 16 × 8 cells along z (in
/// two dimensions stripes of 32 along y), layer by layer, each column beginning where the one before ends. Within a
/// layer the cells go by rows. The number of bits decides the time of the sort, so that up to three of the lowest are
/// left out where that saves a pass of eight.
struct ColumnOrder {
  static constexpr int pass_bits = RadixSort<std::uint32_t, std::uint32_t>::pass_bits;
  int cells[3];                // the last one is along the columns
  int width_bits, depth_bits;  // of a column
  int across;                  // columns along x
  int dropped = 0, bits = 0;

  ColumnOrder(int dimensions, const int (&n)[3]) : cells{n[0], n[1], n[2]} {
    width_bits = dimensions == 3 ? 4 : 5;
    depth_bits = dimensions == 3 ? 3 : 0;
    if (dimensions == 2) cells[2] = n[1], cells[1] = 1;
    across = ((cells[0] - 1) >> width_bits) + 1;
    const auto columns = std::int64_t{across} * (((cells[1] - 1) >> depth_bits) + 1);
    const std::int64_t numbers = (columns * cells[2]) << (width_bits + depth_bits);
    while ((numbers - 1) >> bits) ++bits;
    dropped = bits > pass_bits && bits % pass_bits <= 3 ? bits % pass_bits : 0;
    if (bits - dropped > 32) dropped = bits - 32;
    bits -= dropped;
  }

  __device__ std::uint32_t last() const { return 0xffffffffu >> (32 - bits); }
  /// The number of a cell; in two dimensions iz is the cell along y and iy = 0.
  __device__ std::uint32_t number(int ix, int iy, int iz) const {
    const int row = iy >> depth_bits, along = ix >> width_bits;
    const int column = row * across + (row % 2 ? across - 1 - along : along);
    const int layer = column % 2 ? cells[2] - 1 - iz : iz;
    const int within = ((iy - (row << depth_bits)) << width_bits) + ix - (along << width_bits);
    const std::int64_t place =
        ((std::int64_t{column} * cells[2] + layer) << (width_bits + depth_bits)) + std::int64_t{within};
    return static_cast<std::uint32_t>(place >> dropped);
  }
};

/// The number of each particle's first cell, and its own number beside it. Particles that the mesh does not take come
/// last.
template <int dimensions, int order, class Real>
struct NumberParticles {
  CellFrame<Real> frame;
  ColumnOrder columns;
  MeshParticles<Real> particles;
  std::uint32_t *keys, *values;

  __device__ void operator()(std::int64_t i) const {
    const Real position[3] = {particles.x[i], particles.y[i], dimensions == 3 ? particles.z[i] : Real(0)};
    Real place[3];
    keys[i] = columns.last();
    if (find_place<dimensions>(frame, position, place)) {
      const auto cell = [&](int axis) {
        return frame.wrapped(axis, physics::axis_weights<order, Real>(place[axis]).first);
      };
      const int x = cell(0), y = cell(1);
      keys[i] = dimensions == 3 ? columns.number(x, y, cell(2)) : columns.number(x, 0, y);
    }
    values[i] = static_cast<std::uint32_t>(i);
  }
};

/// A copy of the counts in memory of the host that the GPU writes to, looked at without waiting.
class CountsOnHost {
 public:
  CountsOnHost() {
    check(cudaMallocHost(&counts_, sizeof(DepositCounts)), "cudaMallocHost");
    *counts_ = {};
    check(cudaEventCreateWithFlags(&arrived_, cudaEventDisableTiming), "cudaEventCreate");
  }
  ~CountsOnHost() {
    cudaEventSynchronize(arrived_);
    cudaEventDestroy(arrived_);
    cudaFreeHost(counts_);
  }
  CountsOnHost(const CountsOnHost&) = delete;
  CountsOnHost& operator=(const CountsOnHost&) = delete;

  void fetch(const DepositCounts* from, Stream stream) {
    check(cudaMemcpyAsync(counts_, from, sizeof(DepositCounts), cudaMemcpyDeviceToHost, handle(stream)), "copy counts");
    check(cudaEventRecord(arrived_, handle(stream)), "cudaEventRecord");
  }
  /// The counts of the last fetch; null while the copy is under way.
  const DepositCounts* arrived() const { return cudaEventQuery(arrived_) == cudaSuccess ? counts_ : nullptr; }

 private:
  DepositCounts* counts_ = nullptr;
  cudaEvent_t arrived_ = nullptr;
};

}  // namespace pergola::cuda
