#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "gravity/solver.hpp"
#include "particles/particle_source.hpp"

// Errors of forces, measured on a sample of particles. The reference is a sum in double precision with the same
// softening: over all pairs in open space, Ewald's sum in a periodic box. The sample is evenly spaced in the order of
// the input, so that the same particles are measured each time.
// `force`, the benchmarks and the output `audit` use it. What always holds: an audit does not change the particles,
// and the errors of a given set of accelerations do not depend on the number of threads.
namespace pergola {

/// Relative errors |a − a_ref| / |a_ref| over a sample. If a_ref = 0, the error is 0 for a = 0, else |a| over the
/// largest |a_ref| of the sample.
struct ForceErrors {
  double median = 0, rms = 0, p99 = 0, max = 0;
  std::int64_t sample = 0;
};

/// `count` places, evenly spaced over 0 … n − 1; all if n is smaller. With particles in the order of the input these
/// are the same particles at every moment.
PERGOLA_API std::vector<std::int64_t> sample_places(std::int64_t n, std::int64_t count);

/// Statistics of accelerations `found` against `reference`, entry by entry.
PERGOLA_API ForceErrors force_errors(const ForceResult& found, const ForceResult& reference);

/// Errors of accelerations `found` at some places against the reference sum. Particles are read in pieces.
PERGOLA_API ForceErrors force_errors_at(const SolverOptions& options, const Device& device, ParticleSource& particles,
                                        const std::vector<std::int64_t>& places, const ForceResult& found);
PERGOLA_API ForceErrors force_errors_at(const SolverOptions& options, const Device& device, const Particles& particles,
                                        const std::vector<std::int64_t>& places, const ForceResult& found);

struct ForceAudit {
  ForceResult forces;                // of all particles
  ForceErrors errors;                // at the sampled places
  std::vector<std::string> choices;  // of the solver
  std::string remark;                // its warning
};

/// Evaluates the accelerations of all particles with the solver of `options`, warmed up and timed, and compares a
/// sample with the reference sum.
PERGOLA_API ForceAudit audit_forces(const SolverOptions& options, const Device& device, const Particles& particles,
                                    std::int64_t sample);

}  // namespace pergola
