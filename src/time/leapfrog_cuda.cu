// The loops of the leapfrog with one step on a GPU, one thread per particle. Passes are queued without waiting; only
// take_not_finite(), minimum_step() and first_not_finite() wait for the device. Minima are found by atomicMin on whole
// numbers, so they have no order; the formulas are those of the CPU (physics/leapfrog.hpp).
#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "physics/leapfrog.hpp"
#include "time/leapfrog_loops.hpp"

namespace pergola {

namespace {

constexpr unsigned long long none = ~0ull;
constexpr int pass_shift = 40;  // places below, passes above

/// One particle: both kicks and the drift. The first fault is kept as pass and place in one number, by atomicMin.
template <class Real>
struct KickAndDrift {
  LeapfrogArrays<Real> s;
  Real first, second, dt;
  bool periodic;
  Vec3<Real> corner, side;
  unsigned long long pass;
  unsigned long long* not_finite;

  __device__ bool advance(Real* x, Real* v, Real a, Real low, Real length) const {
    Real place = *x, speed = *v;
    physics::kick_drift_axis(first, second, dt, place, speed, a);
    const bool finite = isfinite(place);
    if (periodic) place = wrap(place, low, length);
    *x = place, *v = speed;
    return finite;
  }
  __device__ void operator()(std::int64_t i) const {
    const bool x = advance(s.x + i, s.vx + i, s.ax[i], corner.x, side.x);
    const bool y = advance(s.y + i, s.vy + i, s.ay[i], corner.y, side.y);
    const bool z = advance(s.z + i, s.vz + i, s.az[i], corner.z, side.z);
    if (!(x && y && z)) atomicMin(not_finite, pass << pass_shift | static_cast<unsigned long long>(i));
  }
};

/// The smallest step so far, as bits: positive doubles sort like their bit patterns, and the minimum has no order.
template <class Real>
struct WantedStep {
  LeapfrogArrays<Real> s;
  StepWish wish;
  double epsilon[species_count];
  unsigned long long* least;
  __device__ void operator()(std::int64_t i) const {
    const double step = wanted_step(s, i, wish, epsilon[s.species[i]], wish.pending_kick);
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(step));
    if (bits < *least) atomicMin(least, bits);
  }
};

/// A sum is not finite if a term is not; a sum that overflows counts as a fault too.
template <class Real>
struct MarkNotFinite {
  LeapfrogArrays<Real> s;
  unsigned long long* lowest;
  __device__ void operator()(std::int64_t i) const {
    const Real sum = s.x[i] + s.y[i] + s.z[i] + s.vx[i] + s.vy[i] + s.vz[i] + s.ax[i] + s.ay[i] + s.az[i];
    if (!isfinite(sum)) atomicMin(lowest, static_cast<unsigned long long>(i));
  }
};

/// Passes are queued and not waited for; take_not_finite() and the minima wait.
template <class Real>
class LeapfrogLoopsCuda final : public LeapfrogLoops<Real> {
 public:
  explicit LeapfrogLoopsCuda(const Device& device) : device_(device), least_(device, 1), not_finite_(device, 1) {
    clear_not_finite();
  }

  void kick_drift(const LeapfrogArrays<Real>& s, const KickDrift& pass) override {
    const auto real = [](const Vec3<double>& v) {
      return Vec3<Real>{static_cast<Real>(v.x), static_cast<Real>(v.y), static_cast<Real>(v.z)};
    };
    device_.make_current();
    cuda::launch("kick and drift", s.count, device_.stream(),
                 KickAndDrift<Real>{s, static_cast<Real>(pass.first_kick), static_cast<Real>(pass.second_kick),
                                    static_cast<Real>(pass.drift), pass.box.periodic(), real(pass.box.corner),
                                    real(pass.box.side), passes_++, not_finite_.data()});
  }
  std::optional<NotFinite> take_not_finite() override {
    passes_ = 0;
    const unsigned long long found = not_finite_.to_host()[0];
    if (found == none) return std::nullopt;
    clear_not_finite();
    constexpr unsigned long long places = (1ull << pass_shift) - 1;
    return NotFinite{static_cast<std::int64_t>(found >> pass_shift), static_cast<std::int64_t>(found & places)};
  }
  double minimum_step(const LeapfrogArrays<Real>& s, const StepWish& wish) override {
    WantedStep<Real> body{s, wish, {}, least_.data()};
    for (std::size_t k = 0; k < wish.softening.epsilon.size(); ++k) body.epsilon[k] = wish.softening.epsilon[k];
    constexpr unsigned long long infinity = 0x7ff0000000000000ull;
    return __builtin_bit_cast(double, minimum("minimum step", s.count, body, infinity));
  }
  std::int64_t first_not_finite(const LeapfrogArrays<Real>& s) override {
    const auto found = minimum("look for NaN", s.count, MarkNotFinite<Real>{s, least_.data()}, none);
    return found == none ? -1 : static_cast<std::int64_t>(found);
  }

 private:
  /// Runs `body`, which lowers least_, from `start`. Waits for the device.
  template <class Body>
  unsigned long long minimum(const char* name, std::int64_t count, const Body& body, unsigned long long start) {
    device_.make_current();
    least_.from_host(&start);
    cuda::launch(name, count, device_.stream(), body);
    return least_.to_host()[0];
  }

  void clear_not_finite() { not_finite_.from_host(&none); }

  Device device_;
  Buffer<unsigned long long> least_;
  Buffer<unsigned long long> not_finite_;  // the pass and place of the first, in one number
  unsigned long long passes_ = 0;
};

}  // namespace

template <class Real>
std::unique_ptr<LeapfrogLoops<Real>> make_leapfrog_loops_cuda(const Device& device) {
  return std::make_unique<LeapfrogLoopsCuda<Real>>(device);
}
template std::unique_ptr<LeapfrogLoops<float>> make_leapfrog_loops_cuda(const Device& device);
template std::unique_ptr<LeapfrogLoops<double>> make_leapfrog_loops_cuda(const Device& device);

}  // namespace pergola
