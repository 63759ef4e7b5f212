#pragma once
/// A client of the GRAPE-6 library (src/g6) inside this program, for benchmarks and paper figures.
///
/// It calls the library's functions as an external program does, opens cluster 0 and closes it when it is destroyed.
/// Order of calls: constructor, start(), then advance() and state_at(). One client at a time. Units: G = 1; times are
/// multiples of a tick (step_max / 2^deepest_level), 0 at the start.
#include <cstdint>
#include <functional>
#include <vector>

#include "device/device.hpp"
#include "particles/particles.hpp"
#include "time/hermite.hpp"

namespace pergola::app {

/// Opens cluster 0 of the library on a device with this number of pipes, through the environment, as other programs do.
void open_g6_library(const Device& device, int pipes);

/// A Hermite integrator with block steps that gets its forces from the GRAPE-6 library, as production codes do: it
/// keeps and predicts the i-particles itself, sends a j-particle after its correction, and calls for blocks of at most
/// the library's number of pipes. The scheme is that of time/hermite_cpu.cpp.
class G6Client {
 public:
  /// Opens the library; at most one client at a time.
  G6Client(const Device& device, int pipes, double softening, double eta);
  ~G6Client();
  G6Client(const G6Client&) = delete;
  G6Client& operator=(const G6Client&) = delete;

  /// Sends the particles and takes the first forces.
  void start(const Particles& particles);
  /// Takes whole block steps up to `limit`, or until `stop()` returns true; then false.
  bool advance(double limit, const std::function<bool()>& stop);
  /// All particles at one time, predicted.
  Particles state_at(double time) const;

 private:
  void evaluate();
  void send(std::size_t i);
  void step(std::int64_t now);
  void reschedule(std::size_t chunk);
  HermiteStart predicted(std::size_t i) const;
  double time_of(std::int64_t tick) const { return static_cast<double>(tick) * tick_length_; }

  int pipes_;
  double softening_, eta_;
  double step_max_ = 0.125, tick_length_;
  Particles given_;
  std::vector<HermiteStart> state_;
  std::vector<std::int64_t> tick_;
  std::vector<int> level_;
  std::vector<std::int64_t> chunk_next_;  // the earliest end of a step in each chunk of particles
  std::int64_t now_ = 0;

  // One block.
  std::vector<int> active_;
  std::vector<double> x_, v_, acc_, jerk_, pot_;
  std::vector<Vec3<double>> new_a_, new_j_;
};

}  // namespace pergola::app
