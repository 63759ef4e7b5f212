// The direct sum on a GPU: its makers. gravity/direct_solver.cuh has the solver.
#include "gravity/direct_solver.cuh"
#include "gravity/solver.hpp"

namespace pergola {

using cuda::DirectCuda;

template <class Real>
std::unique_ptr<DirectSolver<Real>> make_direct_cuda(const SolverOptions& options, const Device& device) {
  return make_for_precision<DirectSolver<Real>, DirectCuda>(options, device);
}
template std::unique_ptr<DirectSolver<float>> make_direct_cuda(const SolverOptions& options, const Device& device);
template std::unique_ptr<DirectSolver<double>> make_direct_cuda(const SolverOptions& options, const Device& device);

}  // namespace pergola
