#pragma once
// CUDA only: the first step of the walk (tree/walk_cuda.cuh): for each target, the lists of cells that act on it.
//
// Candidates go down the tree level by level: a target passes on what its children decide about (PassLists), and notes
// the others in its own lists. Cells whose children are on another rank are noted as missing.
#include <cstdint>
#include <vector>

#include "tree/cells_cuda.cuh"
#include "tree/roots_cuda.cuh"
#include "tree/walk_cuda.cuh"

namespace pergola::tree {

/// Cells that a walk serves, level by level: a cell's parent is in the level before its own.
struct ServedCells {
  const std::uint32_t* list = nullptr;  // null: all, in the order of their numbers
  std::vector<std::uint32_t> counts;    // by level
  const std::uint32_t* slot = nullptr;  // WalkOutput::slot
};

/// One launch; arrays lie on the device. Lists of a level go from `from` to `to`.
template <class Space>
struct TraverseJob {
  Space space;  // OpenSpace or CutOffBox
  const CellRecord* record = nullptr;
  const CellLink* link = nullptr;
  const std::uint32_t* parent = nullptr;
  RootsView roots;
  const float* acceleration = nullptr;
  float support = 0;  // of the pair law
  Opening opening;
  WalkTargets targets;
  WalkLists lists;
  PassLists from, to;  // of the level above, of this level
  WalkStatus* status = nullptr;
  MissingCells missing;
};

/// Finds the cells that act on the targets.
template <class Space>
void traverse(const TraverseJob<Space>& job, Stream stream);
/// Adds the work of each target, counted from its lists, to work[cell]. Whole numbers; the unit is one lane that reads
/// the particles of a near cell.
void count_work(const WalkTargets& targets, const CellLink* link, const TargetLists* head, std::uint32_t* work,
                Stream stream);
/// The work of a particle in a step outside the walk, in these units.
inline constexpr std::uint32_t work_of_particle = 32;

}  // namespace pergola::tree
