#include "gravity/direct_solver.cuh"

namespace pergola {

using cuda::DirectCuda;

std::unique_ptr<DirectSolver> make_direct_cuda(const SolverOptions& options, const Device& device) {
  switch (options.precision) {
    case Precision::single:
      return std::make_unique<DirectCuda<Precision::single>>(options, device);
    case Precision::mixed:
      return std::make_unique<DirectCuda<Precision::mixed>>(options, device);
    case Precision::full:
      break;
  }
  return std::make_unique<DirectCuda<Precision::full>>(options, device);
}

double potential_energy_cuda(const Device& device, const Sources<double>& sources, const SolverOptions& options) {
  SolverOptions full = options;
  full.precision = Precision::full;
  DirectCuda<Precision::full> solver(full, device);
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
