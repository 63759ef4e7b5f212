#pragma once
#include <memory>
#include <type_traits>

#include "comm/communicator.hpp"
#include "gravity/solver.hpp"
#include "tree/octree.hpp"

namespace pergola {

/// A fast multipole method on an octree: docs/tree.md. tree/ holds the tree and the walk, physics/expansion.inl the
/// expansions, physics/opening.inl the opening criteria.
template <class Real>
std::unique_ptr<Solver<Real>> make_tree_cpu(const SolverOptions& options, const Device& device);
template <class Real>
std::unique_ptr<Solver<Real>> make_tree_cuda(const SolverOptions& options, const Device& device);
/// For particles distributed over ranks, on the CPU.
template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_tree_cpu(const SolverOptions& options, const Device& device,
                                                        std::shared_ptr<Communicator> ranks);
/// The same on GPUs.
template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_tree_cuda(const SolverOptions& options, const Device& device,
                                                         std::shared_ptr<Communicator> ranks);

const SolverInfo& tree_info();  // gravity/tree_entry.cpp

/// Numbers of the state and of the interactions.
template <Precision precision>
struct TreeNumbers {
  using State = std::conditional_t<precision == Precision::single, float, double>;
  using Pair = std::conditional_t<precision == Precision::double_, double, float>;
};

/// Throw Error(input) for sources that a tree cannot hold, and for results that it does not compute.
void check_tree_sources(std::int64_t count, bool to_be_predicted);
void check_tree_wants(unsigned want);

/// Throws the reason why the force on the particle at `place` is not a number. Arrays are on the host.
template <class Real>
[[noreturn]] void tree_failure(std::int64_t place, std::int64_t count, const Real* x, const Real* y, const Real* z,
                               const std::uint8_t* species, const SolverOptions& options);

/// The same where the nearest other particle is known: its place (−1: there is none), the square of its distance, the
/// larger softening length of the two.
[[noreturn]] void tree_failure(std::int64_t place, std::int64_t partner, double square, double epsilon,
                               const SolverOptions& options);

/// The opening parameters for gravity.tree.accuracy, or for an opening angle.
tree::Opening tree_opening(const TreeOptions& options, const Softening& softening);
/// The softening lengths, and the width of cells from which on they are kept apart. The result refers to `softening`.
tree::TreeSoftening tree_softening(const Softening& softening, const tree::Opening& opening);

}  // namespace pergola
