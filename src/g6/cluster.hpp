#pragma once
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "g6/block.hpp"
#include "g6/j_memory.hpp"

namespace pergola::g6 {

/// Most threads that copy a block of i-particles or its results, and particles that each takes at a time.
inline constexpr int copy_threads = 16;
inline constexpr std::int64_t copy_chunk = 512;

struct ClusterOptions {
  Precision precision = Precision::mixed;  // or double_
  bool self_neighbour = false;             // a neighbour list holds the particle itself too
  /// Neighbours that the lists of one block may hold together; more of them are reported as an overflow.
  std::int64_t most_neighbours = std::int64_t{1} << 26;
};

/// The i-particles of a block, as the interface hands them over. v and radius2 may be null: zero.
struct IParticles {
  std::int64_t count = 0;
  const int* index = nullptr;
  const double (*x)[3] = nullptr;
  const double (*v)[3] = nullptr;
  double epsilon2 = 0;
  const double* radius2 = nullptr;
};

/// One GRAPE-6 cluster: a j-memory, a block of i-particles, and the direct sum between them on one device. This is the
/// library without its C functions. Not for several threads at once.
///
///   set_j_particle()*  set_time()  start(block)  finish()  [read_neighbour_lists()  neighbours(i)*]
///
/// start() does not wait on a GPU, except for a block before it that has not ended. Everything set after it counts for
/// the next one only. finish() may be called again; it changes nothing then.
class Cluster {
 public:
  Cluster(const Device& device, const ClusterOptions& options);

  void set_j_particle(std::int64_t address, const JParticle& particle) { memory_.set(address, particle); }
  /// The time to which the j-particles are predicted by the calculations that start from now on.
  void set_time(double time) { time_ = time; }
  double time() const { return time_; }
  /// A j-particle as it was set last.
  JParticle j_particle(std::int64_t address) const { return memory_.get(address); }
  /// Starts the forces of the j-particles at the addresses below nj, all of which have been set, on a block. A
  /// j-particle whose index is that of the i-particle does not act on it.
  void start(std::int64_t nj, const IParticles& i);

  /// Waits until acceleration, jerk and potential of the block are there and, when asked for, the nearest neighbours.
  void finish(bool with_nearest);

  // After finish(), for i-particle k of the block.
  std::int64_t count() const { return block_.count(); }
  Vec3<double> acceleration(std::int64_t k) {
    return {block_.acceleration(0)[k], block_.acceleration(1)[k], block_.acceleration(2)[k]};
  }
  Vec3<double> jerk(std::int64_t k) { return {block_.jerk(0)[k], block_.jerk(1)[k], block_.jerk(2)[k]}; }
  double potential(std::int64_t k) { return block_.potential()[k]; }
  /// Index of the nearest other particle, by its distance without softening; −1 where there is none.
  int nearest(std::int64_t k) const { return nearest_[static_cast<std::size_t>(k)]; }
  double nearest_distance(std::int64_t k) { return block_.nearest_distance()[k]; }
  /// False where a source is too close for a finite force.
  bool finite(std::int64_t k) { return std::isfinite(block_.jerk(0)[k]); }  // infinite or undefined before all others
  /// Throws Error(numerics) that names the first particle whose force is not finite, and its nearest neighbour.
  void require_finite();

  /// Makes the neighbour lists of the block. False: they have more than most_neighbours entries and stay empty.
  bool read_neighbour_lists();
  /// Indices of the particles within √radius2 of i-particle k, in the order of their addresses.
  View<const int> neighbours(std::int64_t k) const {
    const auto begin = list_begin_[static_cast<std::size_t>(k)];
    return {list_.data() + begin, list_begin_[static_cast<std::size_t>(k) + 1] - begin};
  }
  bool has_neighbour_lists() const { return !list_begin_.empty(); }

  bool started() const { return started_; }
  const Device& device() const { return device_; }
  /// How many threads copy a block of this size.
  int threads_to_copy(std::int64_t particles) const {
    return particles < 8 * copy_chunk ? 1 : std::min(device_.threads(), copy_threads);
  }

 private:
  void take(const IParticles& i);
  void copy_particles(const IParticles& i, std::int64_t begin, std::int64_t end);
  bool finite_places(std::int64_t begin, std::int64_t end);
  [[noreturn]] void refuse_places();
  bool find_addresses(std::int64_t begin, std::int64_t end);
  void wait();
  void prepare();
  void start_nearest();
  std::vector<std::int64_t> addresses_of(int index) const;
  void finish_repeated();
  void answer_without(const std::vector<std::int64_t>& left_out, const std::vector<std::int64_t>& asking);

  Device device_;
  ClusterOptions options_;
  std::unique_ptr<DirectSolver<double>> solver_;
  JMemory memory_;
  Block block_;
  double time_ = 0;

  // The block that was started last.
  bool started_ = false;
  std::int64_t sources_ = 0;  // addresses that take part
  double moment_ = 0;         // the time they are predicted to
  double epsilon2_ = 0;
  bool prepared_ = false;               // the solver holds these sources
  bool running_ = false;                // the device may not have ended
  bool nearest_started_ = false;        // nearest neighbours are asked for, or there
  bool expect_nearest_ = false;         // the block before was asked for them: start them with the forces
  std::vector<int> index_;              // of the i-particles
  std::vector<std::int64_t> repeated_;  // i-particles whose index several j-particles have …
  bool repeated_due_ = false;           // … and which are still to be answered
  std::vector<int> nearest_;
  std::vector<std::int64_t> list_begin_;
  std::vector<int> list_;
};

}  // namespace pergola::g6
