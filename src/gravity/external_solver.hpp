#pragma once
#include <memory>

#include "gravity/solver.hpp"

namespace pergola {

/// Adds the external potentials of the options to the answers of `inner`, at the targets' places. No jerk, and no
/// sources that are to be predicted.
template <class Real>
std::unique_ptr<Solver<Real>> add_external_potentials(std::unique_ptr<Solver<Real>> inner, const SolverOptions& options,
                                                      const Device& device);

/// What is done for one target; looped over on the CPU (gravity/external_solver.cpp) and on CUDA.
template <class Real>
struct AddExternal {
  const physics::ExternalLaw<Real>* laws = nullptr;  // on the device
  std::int64_t law_count = 0;
  const Real *x = nullptr, *y = nullptr, *z = nullptr;
  Targets targets;
  Forces<Real> forces;  // null: not wanted

  PERGOLA_HD void operator()(std::int64_t t) const {
    const std::int64_t i = targets.index ? targets.index[t] : targets.first + t;
    const Vec3<Real> place{x[i], y[i], z[i]};
    if (forces.ax) {
      Vec3<Real> sum{Real(0), Real(0), Real(0)};
      for (std::int64_t k = 0; k < law_count; ++k) sum = sum + physics::external_field(laws[k], place).acceleration;
      forces.ax[t] += sum.x, forces.ay[t] += sum.y, forces.az[t] += sum.z;
    }
    if (forces.potential) {
      Real sum = Real(0);
      for (std::int64_t k = 0; k < law_count; ++k) sum = sum + physics::external_field(laws[k], place).potential;
      forces.potential[t] += sum;
    }
  }
};

/// Present where cuda_built is true.
template <class Real>
void add_external_cuda(const Device& device, const AddExternal<Real>& body);

}  // namespace pergola
