#pragma once
// CUDA only: the places of the groups whose accelerations are estimated (tree/estimate.hpp).
// Order of calls: find_groups_cuda(); the mesh fills in the accelerations; set_rest_cuda() for each axis.
#include <cstdint>

#include "device/arena.hpp"
#include "tree/octree_cuda.cuh"

namespace pergola::tree {

/// The groups of a tree, in any order: the cell of each, its centre in the user's units, and the acceleration there.
template <class Real>
struct GroupPlaces {
  std::int64_t count = 0;
  std::uint32_t *cell = nullptr, *counter = nullptr;
  Real *x = nullptr, *y = nullptr, *z = nullptr;
  Real* acceleration[3] = {};

  GroupPlaces() = default;
  /// Memory for the groups of a tree with this number of cells.
  GroupPlaces(MemoryParts& parts, std::int64_t cells) {
    cell = parts.take<std::uint32_t>(cells), counter = parts.take<std::uint32_t>(1);
    for (Real** const values : {&x, &y, &z, &acceleration[0], &acceleration[1], &acceleration[2]})
      *values = parts.take<Real>(cells);
  }
  static std::int64_t bytes(std::int64_t cells) {
    MemoryParts parts(nullptr);
    GroupPlaces(parts, cells);
    return parts.used();
  }
  /// As those who give accelerations have it.
  template <class Places>
  Places as() const {
    return {count, x, y, z, {acceleration[0], acceleration[1], acceleration[2]}};
  }
};

/// Finds the groups with particles whose numbers are below `own`. Waits.
template <class T, class Real>
void find_groups_cuda(const Device& device, const OctreeCuda<T>& tree, std::int64_t own, GroupPlaces<Real>& to);
/// Along one axis, by cell: the acceleration of groups times `unit`. Other cells are left unchanged.
template <class Real>
void set_rest_cuda(const Device& device, const GroupPlaces<Real>& groups, int axis, double unit, float* rest);

}  // namespace pergola::tree
