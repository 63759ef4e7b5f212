#pragma once
/// `pergola bench`: suites that time a part of the program and check its result.
///
/// A suite is a function that gets a BenchTask and reports a BenchResult for each case. bench.cpp measures the ceilings
/// of the machine beside the cases and prints each rate with its fraction of the ceiling. A case whose result is wrong
/// throws Error(numerics).
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/buffer.hpp"
#include "device/device.hpp"
#include "gravity/solver.hpp"
#include "plasma/options.hpp"
#include "plasma/particles.hpp"

namespace pergola::app {

/// One line of `pergola bench`. A suite fills in what stands before `fraction_of_ceiling`.
struct BenchResult {
  std::string name = {};  // direct/acc+pot
  Precision precision = Precision::mixed;
  std::int64_t n = 0;
  double seconds = 0;  // of one evaluation, or of the timed part of a run
  double rate = 0;
  std::string unit = {};
  /// The least number of instructions per unit of `rate`. The ceiling is the measured number of fused multiply-adds per
  /// second over this. 0: no such ceiling.
  double instructions = 0;
  /// The same for memory: the least number of bytes read and written, and the bytes per second of a plain copy.
  double bytes = 0;
  /// Errors of approximate forces on a sample, relative to a double-precision direct sum, in a periodic box Ewald's.
  struct Error {
    double median, p99;
    double rms = 0;  // rms difference over rms acceleration, for forces that cancel
  };
  std::optional<Error> error = std::nullopt;
  std::optional<double> fraction_of_ceiling = std::nullopt;
  std::string suite = {}, device = {};
};

/// The device, the amount of work, and the receiver of results.
struct BenchTask {
  Device device;
  bool full = false;
  std::int64_t n = 0;             // this number of particles only; 0: the suite's sizes
  std::string file;               // a snapshot of a periodic box that replaces the suite's boxes,
  int tiles = 1;                  // repeated along each axis
  std::vector<std::string> sets;  // a configuration that replaces the suite's cases
  std::int64_t sample = 0;        // particles whose errors are measured; 0: the suite's number
  std::function<void(BenchResult)> report;
};

void bench_direct(const BenchTask& task);
void bench_hermite(const BenchTask& task);
void bench_mesh(const BenchTask& task);
void bench_tree(const BenchTask& task);
void bench_treepm(const BenchTask& task);
void bench_power(const BenchTask& task);
void bench_groups(const BenchTask& task);
void bench_pic(const BenchTask& task);
void bench_em(const BenchTask& task);
void bench_g6(const BenchTask& task);

/// The least number of instructions per pair (DESIGN.md section 5); 0 if none is defined.
double instructions_per_pair(const Device& device, unsigned want, Precision precision);

/// A Plummer model in floats, so that every precision starts from the same numbers.
Particles bench_particles(std::int64_t n, int threads);

/// Particles as sources on a device, with memory for the forces on all of them.
template <class Real>
class BenchSystem {
 public:
  BenchSystem(const Device& device, const Particles& p)
      : buffers_{upload(device, p.x),  upload(device, p.y),  upload(device, p.z),   upload(device, p.vx),
                 upload(device, p.vy), upload(device, p.vz), upload(device, p.mass)} {
    for (auto& buffer : results_) buffer = Buffer<Real>(device, p.size());
    sources.count = p.size();
    sources.x = buffers_[0].data(), sources.y = buffers_[1].data(), sources.z = buffers_[2].data();
    sources.vx = buffers_[3].data(), sources.vy = buffers_[4].data(), sources.vz = buffers_[5].data();
    sources.mass = buffers_[6].data();
    forces.ax = results_[0].data(), forces.ay = results_[1].data(), forces.az = results_[2].data();
    forces.jx = results_[3].data(), forces.jy = results_[4].data(), forces.jz = results_[5].data();
    forces.potential = results_[6].data();
  }
  Sources<Real> sources;
  Forces<Real> forces;
  /// On the host: ax ay az jx jy jz potential.
  std::vector<Real> result(int which) const { return results_[which].to_host(); }

 private:
  static Buffer<Real> upload(const Device& device, const std::vector<double>& values) {
    return Buffer<Real>(device, std::vector<Real>(values.begin(), values.end()));
  }
  Buffer<Real> buffers_[7];
  Buffer<Real> results_[7];
};

/// Throws Error(numerics) that names the case unless found(which, k), the forces on the particles at places[k], agree
/// with a double-precision sum on the CPU to the precision's rounding.
void check_against_double(const std::string& name, const SolverOptions& options, const Particles& particles,
                          unsigned want, const std::vector<std::int64_t>& places,
                          const std::function<double(int which, std::int64_t k)>& found);

/// Calls `once` until `seconds` have passed, at least `least` times, and returns the shortest time of a call.
double fastest(double seconds, int least, const std::function<void()>& once);

/// Seconds of a real three-dimensional transform of n³ floats and back, in place, by a plan of the library: FFTW with
/// FFTW_MEASURE on all threads of the CPU, or cuFFT. The shortest of many within `budget` seconds. Throws
/// Error(numerics) unless the values come back.
double fft_pair_seconds(const Device& device, int n, double budget);

/// The CUDA side (app/bench_mesh_cuda.cu); present if cuda_built.
double fft_pair_seconds_cuda(const Device& device, int n, double budget);

/// Rows are padded to hold half of the complex values in place.
inline std::int64_t fft_pair_row(int n) { return 2 * (std::int64_t{n} / 2 + 1); }
/// Test values for a pair, and their check: values come back multiplied by n³.
std::vector<float> fft_pair_values(int n);
void check_fft_pair(int n, const std::vector<float>& back);

/// A thermal plasma of electrons on a uniform background, the benchmark of Decyk, Singh & Friedman 2010: Debye length
/// of a cell, random places, linear shape, Gaussian smoothing, single precision.
struct PlasmaCase {
  std::string name;  // 256x512
  int dimensions = 2;
  std::array<int, 3> cells{256, 512, 1};
  std::int64_t n = 0;
  double step = 0;         // in inverse plasma frequencies
  double light_speed = 0;  // in thermal velocities: an electromagnetic plasma
  double beam = 0;         // γ v of two beams along ±z, half of the particles each
};

/// The paper's: 256 × 512 cells, 4,718,592 particles, ω_p dt = 0.025.
PlasmaCase decyk_case();

PlasmaOptions plasma_options(const PlasmaCase& which);
PlasmaParticles thermal_electrons(const PlasmaCase& which, int threads);

/// Seconds per step after the particles have settled: push, charge on the grid and order; with `whole` also the field,
/// by the code that `run` uses. Throws Error(numerics) if particles are missing or energy or momentum is not conserved.
double plasma_step_seconds(const Device& device, const PlasmaCase& which, const PlasmaParticles& electrons, bool whole,
                           double budget);

}  // namespace pergola::app
