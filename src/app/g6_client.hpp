#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "device/device.hpp"
#include "particles/particles.hpp"
#include "time/hermite.hpp"

namespace pergola::app {

/// Opens cluster 0 of the library on a device with that many pipes, by the environment, as in any other program.
void open_g6_library(const Device& device, int pipes);

/// A Hermite integrator with block steps whose forces come through the functions of the GRAPE-6 library, as a
/// production code calls them: it keeps and predicts the i-particles itself, sends a j-particle when it has been
/// corrected, and asks for blocks of at most the library's number of pipes. The scheme of time/hermite_cpu.cpp.
class G6Client {
 public:
  /// Opens the library on the device with that many pipes; at most one client at a time.
  G6Client(const Device& device, int pipes, double softening, double eta);
  ~G6Client();
  G6Client(const G6Client&) = delete;
  G6Client& operator=(const G6Client&) = delete;

  /// Sends the particles and takes the first forces.
  void start(const Particles& particles);
  /// Takes whole block steps up to `limit`, or until `stop()` says so; then false.
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
  std::vector<std::int64_t> chunk_next_;  // the earliest end of a step within each chunk of particles
  std::int64_t now_ = 0;

  // One block.
  std::vector<int> active_;
  std::vector<double> x_, v_, acc_, jerk_, pot_;
  std::vector<Vec3<double>> new_a_, new_j_;
};

}  // namespace pergola::app
