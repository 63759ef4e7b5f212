#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/buffer.hpp"
#include "device/device.hpp"
#include "gravity/solver.hpp"

namespace pergola::app {

/// One line of `pergola bench`.
struct BenchResult {
  std::string suite, name;  // name: direct/acc+pot
  std::string device;
  Precision precision = Precision::mixed;
  std::int64_t n = 0;
  double seconds = 0;  // of one evaluation, or of the part of a run that was timed
  double rate = 0;
  std::string unit;
  /// Least number of instructions for what `rate` counts; the ceiling of the rate is the number of fused multiply-adds
  /// per second, measured in the same run, over this. 0: no ceiling is defined.
  double instructions = 0;
  std::optional<double> fraction_of_ceiling;
  /// The same for what is bound by memory: the least number of bytes read and written for what `rate` counts, and a
  /// plain copy's bytes per second. 0: no such ceiling.
  double bytes = 0;
  /// Of approximate forces: relative to a double-precision direct sum, in a periodic box Ewald's, on a sample.
  struct Error {
    double median, p99;
    double rms = 0;  // of the differences over that of the accelerations, where forces cancel
  };
  std::optional<Error> error = std::nullopt;
};

/// What a suite is given: the device, how much to do, and where each result goes.
struct BenchTask {
  Device device;
  bool full = false;
  std::int64_t n = 0;             // this number of particles only; 0: the suite's own
  std::string file;               // this snapshot of a periodic box in place of the suite's boxes,
  int tiles = 1;                  // so many times along each axis
  std::vector<std::string> sets;  // configuration in place of the suite's cases; none: these
  std::int64_t sample = 0;        // particles whose errors are found; 0: the suite's own number
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
void bench_g6(const BenchTask& task);

/// The least number of instructions per pair (DESIGN.md section 5); 0 where none is defined.
double instructions_per_pair(const Device& device, unsigned want, Precision precision);

/// A Plummer model whose numbers are floats, so that every precision starts from the same ones.
Particles bench_particles(std::int64_t n, int threads);

/// Particles as sources on a device and room for the forces on all of them.
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

}  // namespace pergola::app
