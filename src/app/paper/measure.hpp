#pragma once
#include <cstdint>
#include <vector>

#include "device/device.hpp"
#include "gravity/solver.hpp"
#include "particles/particles.hpp"

namespace pergola::app {

Particles plummer(std::int64_t n, std::uint64_t seed, int threads);

/// Median seconds of one force evaluation on the device, transfers between host and device not counted.
double measure_forces(const Device& device, const Particles& particles, unsigned want, Precision precision,
                      double softening);

/// (E_end − E_start) / |E_start|, both in double precision.
double relative_energy_error(const Device& device, const Particles& start, const Particles& end,
                             const SolverOptions& gravity);

double median_size(std::vector<double> values);

/// Median seconds of one evaluation of the accelerations by a plain serial loop in single precision, as a student
/// writes it: over all pairs, or over half of them with F_ij = −F_ji.
double measure_serial(const Particles& particles, double softening, bool symmetric);

}  // namespace pergola::app
