// The direct sum on a GPU: its makers, and the potential energy. gravity/direct_solver.cuh has the solver.
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

double potential_energy_cuda(const Device& device, const Sources<double>& sources, const SolverOptions& options) {
  SolverOptions full = options;
  full.precision = Precision::double_;
  DirectCuda<Precision::double_> solver(full, device);
  Buffer<double> potential(device, sources.count);
  Forces<double> forces;
  forces.potential = potential.data();
  Targets all;
  all.count = all.total = sources.count;
  solver.prepare(sources);
  solver.evaluate(all, want_potential, forces);
  std::vector<double> mass(static_cast<std::size_t>(sources.count));
  device.memory().to_host(mass.data(), sources.mass, mass.size() * sizeof(double));
  const auto values = potential.to_host();
  double twice = 0;
  for (std::size_t i = 0; i < values.size(); ++i) twice += mass[i] * values[i];
  return 0.5 * twice;
}

}  // namespace pergola
