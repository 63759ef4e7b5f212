#pragma once
#include <memory>

#include "gravity/solver.hpp"

namespace pergola {

/// Softening for the loops over pairs: the pair law's number of each species' length (physics/pair_laws.inl), and
/// whether lengths differ between particles. If they do not, the first number serves all.
struct SofteningTable {
  double number[species_count] = {};
  bool by_particle = false;
};

/// Targets that need not be among the sources (the i-particles of GRAPE-6). The arrays are in the device's memory or in
/// a SharedBuffer.
struct Points {
  std::int64_t count = 0;
  const double *x = nullptr, *y = nullptr, *z = nullptr;
  const double *vx = nullptr, *vy = nullptr, *vz = nullptr;
  const std::int64_t* own =
      nullptr;          // the source that is the point itself and is left out, −1: none; null: none at all
  double epsilon2 = 0;  // the square of the softening length of all pairs
};

/// The sum over all pairs. Only this solver answers points that are not sources.
///
/// gravity/direct_cpu.cpp and gravity/direct_cuda.cu share the work out; gravity/direct_loops.inl and
/// gravity/direct_kernel.cuh have the loops; physics/pair_laws.inl has the laws.
/// The order of a target's sum depends on the number of all targets, never on the threads or ranks that compute it.
template <class Real>
class DirectSolver : public Solver<Real> {
 public:
  using Solver<Real>::evaluate;
  using Solver<Real>::neighbour_lists;
  /// Does not wait on a GPU. An answer is not finite where a source is too close.
  virtual void evaluate(const Points& points, unsigned want, const Forces<Real>& forces) = 0;
  /// The sources within √radius2[p] of each point. If the lists would hold more than `most` places in all, they stay
  /// empty and only `begin` is filled.
  virtual NeighbourLists neighbour_lists(const Points& points, const double* radius2, std::int64_t most) = 0;
};

template <class Real>
std::unique_ptr<DirectSolver<Real>> make_direct_cpu(const SolverOptions& options, const Device& device);
template <class Real>
std::unique_ptr<DirectSolver<Real>> make_direct_cuda(const SolverOptions& options, const Device& device);

template <class Real>
std::unique_ptr<DirectSolver<Real>> make_direct(const SolverOptions& options, const Device& device) {
  if (device.is_cuda()) {
    if constexpr (cuda_built) return make_direct_cuda<Real>(options, device);
  }
  return make_direct_cpu<Real>(options, device);
}

const SolverInfo& direct_info();  // gravity/direct_cpu.cpp

}  // namespace pergola
