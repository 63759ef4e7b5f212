#pragma once
// CUDA only: the mesh of TreePM works in the memory of the tree, and its potentials become those of the long range.
#include <cstddef>
#include <cstdint>

#include "device/arena.hpp"
#include "device/launch.cuh"
#include "gravity/treepm.hpp"
#include "tree/group_places_cuda.cuh"

namespace pergola {

/// What the mesh puts into the arena of a tree with `cells` cells, which is free between the building and the walk. It
/// begins at `memory`; with null only its size is found. `kept`: particles of a rank that the mesh looks for in slabs;
/// `value_count`: accelerations of each axis that are received here.
template <class State>
struct MeshInTree {
  std::byte* mesh = nullptr;
  std::uint32_t* way = nullptr;     // to the slabs
  tree::GroupPlaces<State> groups;  // with the mesh's forces there
  float* rest[3] = {};              // of the groups, by cell
  State* values[3] = {};
  std::int64_t bytes = 0;

  MeshInTree() = default;
  MeshInTree(std::byte* memory, std::int64_t mesh_bytes, std::int64_t cells, std::int64_t kept = 0,
             std::int64_t value_count = 0) {
    MemoryParts parts(memory);
    mesh = parts.take<std::byte>(mesh_bytes), way = parts.take<std::uint32_t>(kept);
    groups = {parts, cells};
    for (float*& axis : rest) axis = parts.take<float>(cells);
    for (State*& axis : values) axis = parts.take<State>(value_count);
    bytes = parts.used();
  }
};

/// From the mesh's potentials at targets to those of the long range. `mass`: of the sources.
template <class State>
void complete_potentials_cuda(const Device& device, const LongRangePotential& correction, const Targets& targets,
                              const State* mass, State* potential) {
  cuda::launch("treepm potential", targets.count, device.stream(),
               [correction, potential, targets, mass] __device__(std::int64_t k) {
                 const std::int64_t i = targets.index ? targets.index[k] : targets.first + k;
                 potential[k] =
                     static_cast<State>(correction.of(static_cast<double>(potential[k]), static_cast<double>(mass[i])));
               });
}

}  // namespace pergola
