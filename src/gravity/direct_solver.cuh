#pragma once
// CUDA only. The direct sum on the GPU behind the Solver seam.
//
// evaluate() launches the force kernel, then the kernel that adds split sums; it does not wait for them. Only where two
// particles could be too close for a finite force does it look at the answers, which waits for the device.
// Arrays of Targets lie on the device. Arrays of Points may lie in the host's memory (GRAPE-6), which the GPU reads.
#include <fmt/core.h>

#include <optional>

#include "gravity/direct.hpp"
#include "gravity/neighbours_cuda.cuh"

namespace pergola::cuda {

/// Keeps the lowest number of a target whose answer is not finite.
template <class Sum>
struct MarkNotFinite {
  const Sum* value;
  std::int64_t* lowest;
  __device__ void operator()(std::int64_t t) const {
    if (!isfinite(value[t])) atomicMin(reinterpret_cast<long long*>(lowest), static_cast<long long>(t));
  }
};

/// Places are those of the sources; integrators replace them by ids.
[[noreturn]] inline void throw_coincident(std::int64_t place, std::int64_t partner) {
  throw CoincidentParticles(
      place, partner,
      fmt::format("direct: two particles in one place with zero softening (places {} and {})", place, partner));
}

/// Copies answers, a warp to neighbouring places.
template <class Sum>
struct DeliverForces {
  Forces<Sum> from, to;
  unsigned want;
  __device__ void operator()(std::int64_t t) const {
    if (want & want_acceleration) to.ax[t] = from.ax[t], to.ay[t] = from.ay[t], to.az[t] = from.az[t];
    if (want & want_jerk) to.jx[t] = from.jx[t], to.jy[t] = from.jy[t], to.jz[t] = from.jz[t];
    if (want & want_potential) to.potential[t] = from.potential[t];
  }
};

/// Where the answers of a launch go.
template <Precision P>
void set_answers(ForceTask<P>& task, unsigned want, const Forces<typename SourcePack<P>::Sum>& forces) {
  typename SourcePack<P>::Sum* out[sum_values] = {forces.ax, forces.ay, forces.az,       forces.jx,
                                                  forces.jy, forces.jz, forces.potential};
  const unsigned wants[sum_values] = {want_acceleration, want_acceleration, want_acceleration, want_jerk,
                                      want_jerk,         want_jerk,         want_potential};
  for (int k = 0; k < sum_values; ++k) task.out[k] = want & wants[k] ? out[k] : nullptr;
}

/// Of the answers to these wishes those that are looked at first.
template <class Sum>
const Sum* first_answers(unsigned want, const Forces<Sum>& forces) {
  return want & want_acceleration ? forces.ax : want & want_jerk ? forces.jx : forces.potential;
}

/// P: single (floats), mixed (positions in two floats, sums in doubles), or full double precision.
template <Precision P>
class DirectCuda final : public DirectSolver<typename SourcePack<P>::Sum> {
 public:
  using Sum = typename SourcePack<P>::Sum;
  DirectCuda(const SolverOptions& options, const Device& device)
      : sums_(options, device), search_(sums_), bad_(device, 1) {}
  DirectCuda(const DirectCuda&) = delete;
  DirectCuda& operator=(const DirectCuda&) = delete;
  const SolverInfo& info() const override { return direct_info(); }

  void prepare(const Sources<Sum>& sources) override { sums_.prepare(sources); }
  void evaluate(const Targets& targets, unsigned want, const Forces<Sum>& forces) override {
    if (targets.count <= 0) return;
    if (want & (want_acceleration | want_jerk | want_potential)) sum(targets, {}, std::nullopt, want, forces);
    if (want & want_nearest) search_.nearest(search_.by(targets), forces.nearest, forces.nearest_distance);
    if (sums_.may_diverge() && want != want_nearest) refuse_coincident(targets, want, forces);
  }
  void evaluate(const Points& points, unsigned want, const Forces<Sum>& forces) override;
  NeighbourLists neighbour_lists(const Targets& targets, double radius) override {
    return search_.lists(search_.by(targets), radius * radius, nullptr, INT64_MAX);
  }
  NeighbourLists neighbour_lists(const Points& points, const double* radius2, std::int64_t most) override {
    const Buffer<double> radii = fetch(radius2, points.count);
    return search_.lists(search_.by(sums_.take(points)), 0, radii.data(), most);
  }
  std::int64_t device_bytes(std::int64_t n) const override { return n * sums_.source_bytes() + sums_.scratch_bytes(); }

  /// For time/hermite_cuda.cu, which fills the sources itself.
  DirectSums<P>& sums() { return sums_; }

 private:
  /// softening: where points ask, the pair law's number of their own.
  void sum(const Targets& targets, const SourcePack<P>& points, std::optional<double> softening, unsigned want,
           const Forces<Sum>& forces) {
    const ForceKind kind = kind_of(want);
    ForceTask<P> task = sums_.task(kind);
    if (softening) task.softening = *softening;
    task.points = points;
    task.index = targets.index;
    task.total = targets.total;
    task.first = targets.first;
    task.count = targets.count;
    set_answers(task, want, forces);
    sums_.launch_sums(task, kind);
    sums_.collect(task, kind);
  }

  /// Throws when an answer is not finite, naming the target and its nearest neighbour.
  void refuse_coincident(const Targets& targets, unsigned want, const Forces<Sum>& forces) {
    const std::int64_t none = INT64_MAX;
    bad_.from_host(&none);
    launch("look for coincident particles", targets.count, sums_.device().stream(),
           MarkNotFinite<Sum>{first_answers(want, forces), bad_.data()});
    const std::int64_t slot = bad_.to_host()[0];
    if (slot == none) return;
    std::int64_t place = slot;
    if (!targets.index) place += targets.first;
    if (targets.index) sums_.device().memory().to_host(&place, targets.index + slot, sizeof place);
    Targets one;
    one.first = place;
    one.count = one.total = 1;
    Buffer<std::int64_t> nearest(sums_.device(), 1);
    search_.nearest(search_.by(one), nearest.data(), static_cast<Sum*>(nullptr));
    throw_coincident(place, nearest.to_host()[0]);
  }

  /// Columns of one buffer for the answers to `count` points; it grows when it must.
  Forces<Sum> in_own_memory(std::int64_t count) {
    if (answers_.size() < sum_values * count) answers_ = Buffer<Sum>(sums_.device(), sum_values * count);
    const auto column = [&](int k) { return answers_.data() + k * count; };
    Forces<Sum> f;
    f.ax = column(0), f.ay = column(1), f.az = column(2), f.jx = column(3), f.jy = column(4), f.jz = column(5);
    f.potential = column(6);
    return f;
  }

  void deliver(const Forces<Sum>& from, const Forces<Sum>& to, unsigned want, std::int64_t count) const {
    launch("deliver forces", count, sums_.device().stream(), DeliverForces<Sum>{from, to, want});
  }

  /// A copy in the device's own memory.
  Buffer<double> fetch(const double* values, std::int64_t count) const {
    Buffer<double> copy(sums_.device(), count);
    if (count > 0)
      check(cudaMemcpyAsync(copy.data(), values, copy.bytes(), cudaMemcpyDefault, handle(sums_.device().stream())),
            "fetch");
    return copy;
  }

  DirectSums<P> sums_;
  NeighbourSearch<P> search_;
  Buffer<std::int64_t> bad_;
  Buffer<Sum> answers_;  // to points
};

template <Precision P>
void DirectCuda<P>::evaluate(const Points& points, unsigned want, const Forces<Sum>& forces) {
  if (sums_.softening().by_particle) throw softening_for_points();
  if (points.count <= 0) return;
  const PackedPoints<P> packed = sums_.take(points);
  if (want & (want_acceleration | want_jerk | want_potential)) {
    Targets targets;
    targets.index = packed.own;
    targets.count = targets.total = packed.count;
    // The force kernels write one number here, one there. Where the answers go to the host's memory, few numbers may
    // do so, and many are put in order first.
    const bool many = packed.count > 256;
    const Forces<Sum> collected = many ? in_own_memory(packed.count) : forces;
    sum(targets, packed.pack, sums_.softening_number(points.epsilon2), want, collected);
    if (many) deliver(collected, forces, want, packed.count);
  }
  if (want & want_nearest) search_.nearest(search_.by(packed), forces.nearest, forces.nearest_distance);
}

}  // namespace pergola::cuda
