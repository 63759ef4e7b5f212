#pragma once
// CUDA only. The direct sum's memory and launches for one precision; gravity/direct_solver.cuh puts it behind the
// Solver seam and time/hermite_cuda.cu drives it without the host.
#include <algorithm>
#include <array>

#include "device/buffer.hpp"
#include "gravity/direct_cuda.cuh"

namespace pergola::cuda {

inline SofteningTable softening_table(const Softening& softening) {
  SofteningTable table{};
  for (int s = 0; s < species_count; ++s)
    table.epsilon2[s] = softening.epsilon[static_cast<std::size_t>(s)] * softening.epsilon[static_cast<std::size_t>(s)];
  table.uniform = softening.uniform();
  return table;
}

inline ForceKind kind_of(unsigned want) {
  if (want & want_jerk)
    return want & want_potential ? ForceKind::acceleration_jerk_potential : ForceKind::acceleration_jerk;
  if (want & want_acceleration)
    return want & want_potential ? ForceKind::acceleration_potential : ForceKind::acceleration;
  return ForceKind::potential;
}

template <Precision P>
class DirectSums {
 public:
  using Pack = SourcePack<P>;
  using Sum = typename Pack::Sum;
  using Number = typename Pack::Number;

  DirectSums(const SolverOptions& options, const Device& device)
      : device_(device), softening_(softening_table(options.softening)), g_(options.gravitational_constant) {}

  /// Takes memory for n sources; keeps what it has when that is enough.
  void reserve(std::int64_t n) {
    if (n > place_.size()) {
      place_ = Buffer<Real4<Number>>(device_, n);
      if constexpr (Pack::has_rest) rest_ = Buffer<Real4<Number>>(device_, n);
      motion_ = Buffer<Real4<Number>>(device_, n);
    }
    count_ = n;
  }

  /// Predicts and packs all sources.
  template <class Real>
  void prepare(const Sources<Real>& sources) {
    device_.make_current();
    reserve(sources.count);
    launch("pack sources", sources.count, device_.stream(),
           [pack = pack(), sources, g = g_, softening = softening_] __device__(std::int64_t i) {
             predict_and_store(pack, sources, sources.now, g, softening, i);
           });
  }

  /// A launch for these targets; the caller sets `out` where whole groups may occur.
  ForceTask<P> task(ForceKind kind) {
    const ForceGrid grid = this->grid(kind);
    const std::int64_t room = partial_capacity(grid.blocks, grid.wide_group);
    if (room > partial_.size()) partial_ = Buffer<Sum>(device_, room);
    ForceTask<P> task;
    task.sources = pack();
    task.source_count = count_;
    task.epsilon2 = softening_.epsilon2[0];
    task.partial = partial_.data();
    return task;
  }
  /// Asked of the driver once: it takes longer than a small launch.
  ForceGrid grid(ForceKind kind) const {
    auto& known = grids_[static_cast<std::size_t>(kind)];
    if (known.blocks == 0) {
      device_.make_current();
      known = force_grid<P>(kind, softening_.uniform);
    }
    return known;
  }
  void launch_sums(const ForceTask<P>& task, ForceKind kind) const {
    launch_force<P>(task, kind, softening_.uniform, grid(kind), device_.stream());
  }

  /// Adds up the split targets of a launch with host-side counts into task.out.
  void collect(const ForceTask<P>& task, ForceKind kind) const {
    launch_collect<P>(task, kind, softening_.uniform, grid(kind), device_.stream());
  }

  Pack pack() {
    Pack p;
    p.place = place_.data();
    p.rest = rest_.data();
    p.motion = motion_.data();
    return p;
  }
  const Device& device() const { return device_; }
  const SofteningTable& softening() const { return softening_; }
  double gravitational_constant() const { return g_; }
  std::int64_t count() const { return count_; }

  /// True where two particles can be too close for a finite force in this precision.
  bool may_diverge() const {
    const double smallest = *std::min_element(softening_.epsilon2, softening_.epsilon2 + species_count);
    return smallest < (sizeof(Number) == 4 ? 1e-24 : 1e-200);
  }

  static std::int64_t source_bytes() {
    return static_cast<std::int64_t>(sizeof(Real4<Number>)) * (Pack::has_rest ? 3 : 2);
  }
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
  SofteningTable softening_;
  double g_;
  std::int64_t count_ = 0;
  Buffer<Real4<Number>> place_, rest_, motion_;
  Buffer<Sum> partial_;
  mutable std::array<ForceGrid, force_kinds> grids_{};
};

/// Separation of two sources in the solver's own arithmetic.
template <Precision P>
__device__ __forceinline__ Vec3<typename SourcePack<P>::Number> separation(const SourcePack<P>& pack, std::int64_t i,
                                                                           std::int64_t j) {
  const auto a = pack.place[i], b = pack.place[j];
  Vec3<typename SourcePack<P>::Number> d{b.x - a.x, b.y - a.y, b.z - a.z};
  if constexpr (SourcePack<P>::has_rest) {
    const auto r = pack.rest[i], s = pack.rest[j];
    d = {d.x + (s.x - r.x), d.y + (s.y - r.y), d.z + (s.z - r.z)};
  }
  return d;
}

}  // namespace pergola::cuda
