// The loops of the leapfrog with one step on the CPU. Threads take chunks of a fixed size; the first place of a fault
// and the smallest step are found per chunk and compared in order, so they are the same for any number of threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "device/parallel.hpp"
#include "physics/leapfrog.hpp"
#include "time/leapfrog_loops.hpp"

namespace pergola {

namespace {

constexpr std::int64_t chunk = 1024;

/// passes_ counts passes since the last look, so that a fault can be given its step.
template <class Real>
class LeapfrogLoopsCpu final : public LeapfrogLoops<Real> {
 public:
  explicit LeapfrogLoopsCpu(const Device& device) : threads_(device.threads()) {}

  /// Closing kick, opening kick and drift of each axis in one vectorised loop; each kick is rounded by itself.
  void kick_drift(const LeapfrogArrays<Real>& s, const KickDrift& pass) override {
    const auto first = static_cast<Real>(pass.first_kick), second = static_cast<Real>(pass.second_kick),
               dt = static_cast<Real>(pass.drift);
    std::vector<std::int64_t> found(chunks(s.count), -1);
    parallel_chunks(threads_, s.count, chunk, [&](std::int64_t begin, std::int64_t end) {
      const auto size = end - begin;
      const bool finite = advance_axis(size, s.x + begin, s.vx + begin, s.ax + begin, first, second, dt) &
                          advance_axis(size, s.y + begin, s.vy + begin, s.ay + begin, first, second, dt) &
                          advance_axis(size, s.z + begin, s.vz + begin, s.az + begin, first, second, dt);
      if (!finite) found[static_cast<std::size_t>(begin / chunk)] = first_in(s, begin, end);
      if (!pass.box.periodic()) return;
      wrap_axis(size, s.x + begin, pass.box.corner.x, pass.box.side.x);
      wrap_axis(size, s.y + begin, pass.box.corner.y, pass.box.side.y);
      wrap_axis(size, s.z + begin, pass.box.corner.z, pass.box.side.z);
    });
    for (const std::int64_t place : found)
      if (place >= 0 && !not_finite_) not_finite_ = NotFinite{passes_, place};
    ++passes_;
  }

  std::optional<NotFinite> take_not_finite() override {
    const auto found = not_finite_;
    not_finite_.reset();
    passes_ = 0;
    return found;
  }

  double minimum_step(const LeapfrogArrays<Real>& s, const StepWish& wish) override {
    std::vector<double> least(chunks(s.count), std::numeric_limits<double>::infinity());
    parallel_chunks(threads_, s.count, chunk, [&](std::int64_t begin, std::int64_t end) {
      double& mine = least[static_cast<std::size_t>(begin / chunk)];
      for (std::int64_t i = begin; i < end; ++i)
        mine = std::min(mine, wanted_step(s, i, wish, wish.softening.epsilon[s.species[i]], wish.pending_kick));
    });
    double result = std::numeric_limits<double>::infinity();
    for (const double value : least) result = std::min(result, value);
    return result;
  }

  std::int64_t first_not_finite(const LeapfrogArrays<Real>& s) override {
    std::vector<std::int64_t> found(chunks(s.count), -1);
    parallel_chunks(threads_, s.count, chunk, [&](std::int64_t begin, std::int64_t end) {
      found[static_cast<std::size_t>(begin / chunk)] = first_in(s, begin, end);
    });
    for (const std::int64_t i : found)
      if (i >= 0) return i;
    return -1;
  }

 private:
  static std::size_t chunks(std::int64_t count) { return static_cast<std::size_t>((count + chunk - 1) / chunk); }

  /// One axis of a chunk, in a form that the compiler vectorises; false where a number is not finite.
  static bool advance_axis(std::int64_t size, Real* __restrict x, Real* __restrict v, const Real* __restrict a,
                           Real first, Real second, Real dt) {
    constexpr Real largest = std::numeric_limits<Real>::max();
    int finite = 1;
    for (std::int64_t i = 0; i < size; ++i) {
      physics::kick_drift_axis(first, second, dt, x[i], v[i], a[i]);
      finite &= std::abs(x[i]) <= largest;
    }
    return finite;
  }

  /// Most chunks have no particle beyond the box: they are only looked through.
  static void wrap_axis(std::int64_t size, Real* x, double corner, double side) {
    const auto low = static_cast<Real>(corner), length = static_cast<Real>(side), high = low + length;
    int beyond = 0;
    for (std::int64_t i = 0; i < size; ++i) beyond |= (x[i] < low) | (x[i] >= high);
    if (!beyond) return;
    for (std::int64_t i = 0; i < size; ++i) x[i] = wrap(x[i], low, length);
  }

  /// The first place in a chunk with a number that is not finite; -1: none.
  static std::int64_t first_in(const LeapfrogArrays<Real>& s, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (const Real value : {s.x[i], s.y[i], s.z[i], s.vx[i], s.vy[i], s.vz[i], s.ax[i], s.ay[i], s.az[i]})
        if (!std::isfinite(value)) return i;
    return -1;
  }

  int threads_;
  std::int64_t passes_ = 0;
  std::optional<NotFinite> not_finite_;
};

}  // namespace

template <class Real>
std::unique_ptr<LeapfrogLoops<Real>> make_leapfrog_loops_cpu(const Device& device) {
  return std::make_unique<LeapfrogLoopsCpu<Real>>(device);
}
template std::unique_ptr<LeapfrogLoops<float>> make_leapfrog_loops_cpu(const Device& device);
template std::unique_ptr<LeapfrogLoops<double>> make_leapfrog_loops_cpu(const Device& device);

}  // namespace pergola
