#pragma once
/// A GRAPE-6 cluster: the library without its C functions.
///
/// A cluster has a j-memory (g6/j_memory.hpp), a block of i-particles in memory that host and device share, and the
/// direct sum between them. A block is calculated in two halves: start() launches, finish() waits. The direct sum
/// leaves out one source per target; if several j-particles have a target's index, the ranges between them are summed
/// again. Always: what is set after start() counts for the next block only.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/buffer.hpp"
#include "g6/j_memory.hpp"
#include "gravity/direct.hpp"

namespace pergola::g6 {

/// A block of i-particles and its results, in memory that host and device share, so that neither needs a copy.
class Block {
 public:
  explicit Block(const Device& device) : device_(device) {}

  void resize(std::int64_t count) {
    count_ = count;
    if (count <= capacity_) return;
    // Columns a power of two apart would share cache lines.
    capacity_ = (std::max(count, 2 * capacity_) + 127) / 128 * 128 + 72;
    reals_ = SharedBuffer<double>(device_, real_columns * capacity_);
    places_ = SharedBuffer<std::int64_t>(device_, 2 * capacity_);
  }
  std::int64_t count() const { return count_; }

  // Input. own: the address of the i-particle itself, −1: none. radius2: of the neighbour list.
  double* x(int axis) { return column(axis); }
  double* v(int axis) { return column(3 + axis); }
  double* radius2() { return column(6); }
  std::int64_t* own() { return places_.data(); }

  // Results. nearest: an address, −1: none.
  double* acceleration(int axis) { return column(7 + axis); }
  double* jerk(int axis) { return column(10 + axis); }
  double* potential() { return column(13); }
  double* nearest_distance() { return column(14); }
  std::int64_t* nearest() { return places_.data() + capacity_; }

  Points points(double epsilon2) { return {count_, x(0), x(1), x(2), v(0), v(1), v(2), own(), epsilon2}; }
  Forces<double> forces() {
    Forces<double> f;
    f.ax = acceleration(0), f.ay = acceleration(1), f.az = acceleration(2);
    f.jx = jerk(0), f.jy = jerk(1), f.jz = jerk(2);
    f.potential = potential();
    f.nearest = nearest(), f.nearest_distance = nearest_distance();
    return f;
  }

 private:
  static constexpr std::int64_t real_columns = 15;
  double* column(int c) { return reals_.data() + c * capacity_; }

  Device device_;
  std::int64_t count_ = 0, capacity_ = 0;
  SharedBuffer<double> reals_;
  SharedBuffer<std::int64_t> places_;
};

/// The most threads that copy a block of i-particles or its results, and particles per thread at a time.
inline constexpr int copy_threads = 16;
inline constexpr std::int64_t copy_chunk = 512;

struct ClusterOptions {
  Precision precision = Precision::mixed;  // or double_
  bool self_neighbour = false;             // neighbour lists hold the particle itself
  /// The most neighbours in all lists of a block; more are reported as an overflow.
  std::int64_t most_neighbours = std::int64_t{1} << 26;
};

/// The i-particles of a block, as the interface has them. v and radius2 may be null: zero.
struct IParticles {
  std::int64_t count = 0;
  const int* index = nullptr;
  const double (*x)[3] = nullptr;
  const double (*v)[3] = nullptr;
  double epsilon2 = 0;
  const double* radius2 = nullptr;
};

/// Not for several threads at once. The order of calls:
///
///   set_j_particle()*  set_time()  start(block)  finish()  [read_neighbour_lists()  neighbours(i)*]
///
/// start() does not wait on a GPU, except for an unfinished block before it. A second finish() changes nothing.
class Cluster {
 public:
  Cluster(const Device& device, const ClusterOptions& options);

  void set_j_particle(std::int64_t address, const JParticle& particle) { memory_.set(address, particle); }
  /// The time to which later calculations predict the j-particles.
  void set_time(double time) { time_ = time; }
  double time() const { return time_; }
  /// The last set state of a j-particle.
  JParticle j_particle(std::int64_t address) const { return memory_.get(address); }
  /// Starts the forces of the j-particles at addresses below nj, which must be set, on a block. A j-particle with the
  /// index of the i-particle does not act on it.
  void start(std::int64_t nj, const IParticles& i);

  /// Waits for acceleration, jerk and potential of the block and, if wanted, for the nearest neighbours.
  void finish(bool with_nearest);

  // After finish(), for i-particle k of the block.
  std::int64_t count() const { return block_.count(); }
  Vec3<double> acceleration(std::int64_t k) {
    return {block_.acceleration(0)[k], block_.acceleration(1)[k], block_.acceleration(2)[k]};
  }
  Vec3<double> jerk(std::int64_t k) { return {block_.jerk(0)[k], block_.jerk(1)[k], block_.jerk(2)[k]}; }
  double potential(std::int64_t k) { return block_.potential()[k]; }
  /// Index of the nearest other particle, by its distance without softening; −1 if there is none.
  int nearest(std::int64_t k) const { return nearest_[static_cast<std::size_t>(k)]; }
  double nearest_distance(std::int64_t k) { return block_.nearest_distance()[k]; }
  /// False if a source is too close for a finite force.
  bool finite(std::int64_t k) { return std::isfinite(block_.jerk(0)[k]); }  // infinite or undefined before all others
  /// Throws Error(numerics) that names the first particle whose force is not finite, and its nearest neighbour.
  void require_finite();

  /// Makes the neighbour lists of the block. False: they exceed most_neighbours and stay empty.
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
  bool prepared_ = false;               // the solver has these sources
  bool running_ = false;                // the device may still work
  bool nearest_started_ = false;        // nearest neighbours are started or done
  bool expect_nearest_ = false;         // the block before needed them: start them with the forces
  std::vector<int> index_;              // of the i-particles
  std::vector<std::int64_t> repeated_;  // i-particles with the index of several j-particles …
  bool repeated_due_ = false;           // … that still need their results
  std::vector<int> nearest_;
  std::vector<std::int64_t> list_begin_;
  std::vector<int> list_;
};

}  // namespace pergola::g6
