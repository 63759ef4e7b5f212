#pragma once
// CUDA only. The direct sum's memory and launches for one precision; gravity/direct_solver.cuh puts it behind the
// Solver seam and time/hermite_cuda.cu drives it without the host.
//
// Order of calls: reserve() or prepare() for the sources, task() for the parts that all launches share, launch_sums(),
// then collect() for the targets that were split. All are asynchronous on the device's stream.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "device/buffer.hpp"
#include "gravity/direct.hpp"
#include "gravity/direct_cuda.cuh"
#include "gravity/pair_laws.hpp"

namespace pergola::cuda {

/// The kernels of a law in one precision; a law without them is refused with the key to change.
template <Precision P>
const ForceLoops<P>& loops_of(const PairLawEntry& law) {
  const auto* const loops = law.cuda.template loops<P>();
  if (!loops)
    throw Error(ErrorKind::input,
                fmt::format("gravity.softening_kernel: \"{}\" runs on the CPU only; use --device cpu", law.name));
  return *loops;
}

/// The smallest kernel that computes what is wanted.
inline ForceKind kind_of(unsigned want) {
  if (want & want_jerk)
    return want & want_potential ? ForceKind::acceleration_jerk_potential : ForceKind::acceleration_jerk;
  if (want & want_acceleration)
    return want & want_potential ? ForceKind::acceleration_potential : ForceKind::acceleration;
  return ForceKind::potential;
}

/// The memory of a SourcePack.
template <Precision P>
class PackBuffers {
 public:
  using Real = Real4<typename SourcePack<P>::Number>;
  /// Keeps what it has when that is enough; what is in it is lost otherwise.
  void reserve(const Device& device, std::int64_t n) {
    if (n <= place_.size()) return;
    place_ = Buffer<Real>(device, n);
    if constexpr (SourcePack<P>::has_rest) rest_ = Buffer<Real>(device, n);
    motion_ = Buffer<Real>(device, n);
  }
  SourcePack<P> pack() {
    SourcePack<P> p;
    p.place = place_.data();
    p.rest = rest_.data();
    p.motion = motion_.data();
    return p;
  }

 private:
  Buffer<Real> place_, rest_, motion_;
};

/// Points that are not sources, on the device.
template <Precision P>
struct PackedPoints {
  SourcePack<P> pack;
  const std::int64_t* own = nullptr;  // the source that is left out, −1: none
  std::int64_t count = 0;
};

/// Sources, points and partial sums of one solver. Buffers only grow. Masses in the packs are multiplied by G.
template <Precision P>
class DirectSums {
 public:
  using Pack = SourcePack<P>;
  using Sum = typename Pack::Sum;
  using Number = typename Pack::Number;

  DirectSums(const SolverOptions& options, const Device& device)
      : device_(device),
        law_(pair_law(options.softening.kernel)),
        loops_(loops_of<P>(law_)),
        softening_(softening_table(options.softening)),
        least_epsilon_(*std::min_element(options.softening.epsilon.begin(), options.softening.epsilon.end())),
        g_(options.gravitational_constant) {}

  /// Takes memory for n sources; keeps what it has when that is enough.
  void reserve(std::int64_t n) {
    sources_.reserve(device_, n);
    count_ = n;
  }

  /// Predicts and packs all sources.
  template <class Real>
  void prepare(const Sources<Real>& sources) {
    device_.make_current();
    reserve(sources.count);
    if (sources.time)
      launch("pack sources", sources.count, device_.stream(),
             [pack = pack(), sources, g = g_, softening = softening_] __device__(std::int64_t i) {
               predict_from_time_and_store(pack, sources, g, softening, i);
             });
    else
      launch("pack sources", sources.count, device_.stream(),
             [pack = pack(), sources, g = g_, softening = softening_] __device__(std::int64_t i) {
               predict_and_store(pack, sources, sources.now, g, softening, i);
             });
  }

  /// Packs points that are not sources. They may be in the host's memory: each number is read once.
  PackedPoints<P> take(const Points& points) {
    device_.make_current();
    points_.reserve(device_, points.count);
    if (own_.size() < points.count) own_ = Buffer<std::int64_t>(device_, points.count);
    launch("pack points", points.count, device_.stream(),
           [pack = points_.pack(), own = own_.data(), points] __device__(std::int64_t i) {
             // One softening serves all: that of a point is not read.
             store_source(pack, i, {points.x[i], points.y[i], points.z[i]}, {points.vx[i], points.vy[i], points.vz[i]},
                          0.0, points.epsilon2);
             own[i] = points.own ? points.own[i] : -1;
           });
    return {points_.pack(), own_.data(), points.count};
  }

  /// A launch for these targets; the caller sets `out` where whole groups may occur.
  ForceTask<P> task(ForceKind kind) {
    const ForceGrid grid = this->grid(kind);
    const std::int64_t room = partial_capacity(grid.blocks, grid.wide_group);
    if (room > partial_.size()) partial_ = Buffer<Sum>(device_, room);
    ForceTask<P> task;
    task.sources = pack();
    task.source_count = count_;
    task.softening = softening_.number[0];
    task.partial = partial_.data();
    return task;
  }
  /// Asked of the driver once: it takes longer than a small launch.
  ForceGrid grid(ForceKind kind) const {
    auto& known = grids_[static_cast<std::size_t>(kind)];
    if (known.blocks == 0) {
      device_.make_current();
      known = loops_.grid(kind, softening_.by_particle);
    }
    return known;
  }
  void launch_sums(const ForceTask<P>& task, ForceKind kind) const {
    loops_.launch(task, kind, softening_.by_particle, grid(kind), device_.stream());
  }

  /// Adds up the split targets of a launch with host-side counts into task.out.
  void collect(const ForceTask<P>& task, ForceKind kind) const {
    launch_collect<P>(task, kind, grid(kind), device_.stream());
  }

  Pack pack() { return sources_.pack(); }
  const Device& device() const { return device_; }
  const SofteningTable& softening() const { return softening_; }
  double softening_number(double epsilon_squared) const { return law_.softening_number(epsilon_squared); }
  double gravitational_constant() const { return g_; }
  std::int64_t count() const { return count_; }

  /// True where two particles can be too close for a finite force in this precision.
  bool may_diverge() const { return least_epsilon_ < (sizeof(Number) == 4 ? 1e-12 : 1e-100); }

  static std::int64_t source_bytes() {
    return static_cast<std::int64_t>(sizeof(Real4<Number>)) * (Pack::has_rest ? 3 : 2);
  }
  /// Partial sums of the kind that needs most, for the estimate of memory.
  std::int64_t scratch_bytes() const {
    std::int64_t most = 0;
    for (const auto kind :
         {ForceKind::acceleration, ForceKind::acceleration_jerk, ForceKind::acceleration_jerk_potential})
      most = std::max(
          most, partial_capacity(grid(kind).blocks, grid(kind).wide_group) * static_cast<std::int64_t>(sizeof(Sum)));
    return most;
  }

 private:
  Device device_;
  PairLawEntry law_;
  const ForceLoops<P>& loops_;
  SofteningTable softening_;
  double least_epsilon_, g_;
  std::int64_t count_ = 0;
  PackBuffers<P> sources_, points_;
  Buffer<std::int64_t> own_;  // of the points
  Buffer<Sum> partial_;
  mutable std::array<ForceGrid, force_kinds> grids_{};
};

}  // namespace pergola::cuda
