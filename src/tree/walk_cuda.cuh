#pragma once
// CUDA only: the walk of tree/walk.hpp on the device. A warp serves a cell, level by level.
#include <cstdint>

#include "device/device.hpp"
#include "tree/octree_cuda.cuh"

namespace pergola::tree {

/// Lists that the cells of a level leave to their children.
struct PassLists {
  std::uint32_t* entries = nullptr;
  std::int64_t capacity = 0;
  std::int64_t* begin = nullptr;    // per cell
  std::uint32_t* length = nullptr;  // per cell
};

/// Written by the walk, read by the host when it is over.
struct WalkStatus {
  unsigned long long failed;          // the lowest place of a source whose force is not finite
  unsigned long long used[2];         // entries of the two list pools
  unsigned long long most;            // entries that a pool was asked for
  std::uint32_t longest;              // list of a cell
  std::uint32_t ticket[most_levels];  // the next cell of each level
};

/// Where results go: float or double arrays by target, null for what was not asked.
struct WalkOutput {
  void *ax = nullptr, *ay = nullptr, *az = nullptr, *potential = nullptr;
  bool doubles = false;
  double per_psi = 0, per_gradient = 0;
  const std::uint32_t* order = nullptr;  // source of each particle in the tree's order
  const std::int64_t* slot = nullptr;    // target of each source, −1 when it does not ask; null: all ask
  const std::uint8_t* active = nullptr;  // per cell; null: all
};

template <class T>
struct WalkJob {
  TreeView<T> tree;
  Opening opening;
  const std::uint32_t* parent = nullptr;
  T* local = nullptr;  // multipole_stride(order) per cell
  PassLists from, to;  // the level above, this level
  int to_pool = 0;
  std::uint32_t* scratch = nullptr;  // per warp: the list to leave, and a stack of cells to look at
  std::uint32_t list_room = 0;
  WalkStatus* status = nullptr;
  WalkOutput out;
};

inline constexpr int walk_threads = 128, walk_warps = walk_threads / 32;
inline constexpr std::uint32_t stack_room = 2048;

/// Blocks of walk_threads that run at once.
template <class T>
int walk_blocks(int order);
/// Serves the cells begin … end − 1 of one level.
template <class T>
void walk_level(const WalkJob<T>& job, int level, std::uint32_t begin, std::uint32_t end, int blocks, Stream stream);

}  // namespace pergola::tree
