#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "gravity/solver.hpp"
#include "particles/box.hpp"
#include "tree/octree.hpp"

namespace pergola {

/// Gravity in a periodic box: the short range by a tree, the long range by a mesh (physics/split.hpp): docs/treepm.md.
template <class Real>
std::unique_ptr<Solver<Real>> make_treepm_cpu(const SolverOptions& options, const Device& device);

// gravity/treepm_entry.cpp
const SolverInfo& treepm_info();
struct SolverEntry;
SolverEntry treepm_entry();

/// What is set by hand in [gravity.treepm]; 0 and none: chosen by the accuracy.
struct TreePmOptions {
  double split = 0, cut_off = 0;  // in cells
  int cells = 0;                  // along the longest side of the box
  int assignment = 0;             // order of the cloud
};
TreePmOptions treepm_options(const SolverOptions& options);

/// The parameters of an evaluation.
struct TreePmParameters {
  std::array<int, 3> cells{};
  Assignment assignment = Assignment::tsc;
  double split = 0, cut_off = 0;  // r_s and r_c in units of length
  tree::Opening opening;
  std::string text(const Box& box) const;  // for the user
};

/// What gravity.tree.accuracy and what was set by hand amount to for n particles in the box of the options. Throws
/// Error(input) that names the key where the box or the softening does not allow it.
TreePmParameters treepm_parameters(const SolverOptions& options, std::int64_t n);

}  // namespace pergola
