#pragma once
#include <memory>

#include "gravity/solver.hpp"

namespace pergola {

/// All pairs. gravity/direct_cpu.cpp and gravity/direct_cuda.cu hold the loops, physics/pair.inl the law.
std::unique_ptr<Solver> make_direct_cpu(const SolverOptions& options, const Device& device);
std::unique_ptr<Solver> make_direct_cuda(const SolverOptions& options, const Device& device);

double potential_energy_cpu(const Device& device, const Sources<double>& sources, const SolverOptions& options);
double potential_energy_cuda(const Device& device, const Sources<double>& sources, const SolverOptions& options);

}  // namespace pergola
