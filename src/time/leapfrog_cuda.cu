
#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "physics/hermite.hpp"
#include "physics/leapfrog.hpp"
#include "time/leapfrog_loops.hpp"

namespace pergola {

namespace {

template <class Real>
struct Kick {
  LeapfrogArrays<Real> s;
  Real dt;
  __device__ void operator()(std::int64_t i) const {
    Vec3<Real> v{s.vx[i], s.vy[i], s.vz[i]};
    physics::kick<Real>(dt, v, {s.ax[i], s.ay[i], s.az[i]});
    s.vx[i] = v.x, s.vy[i] = v.y, s.vz[i] = v.z;
  }
};

template <class Real>
struct Drift {
  LeapfrogArrays<Real> s;
  Real dt;
  __device__ void operator()(std::int64_t i) const {
    Vec3<Real> x{s.x[i], s.y[i], s.z[i]};
    physics::drift<Real>(dt, x, {s.vx[i], s.vy[i], s.vz[i]});
    s.x[i] = x.x, s.y[i] = x.y, s.z[i] = x.z;
  }
};

/// The smallest step so far, as bits: positive doubles sort like their bit patterns, and the minimum has no order.
template <class Real>
struct WantedStep {
  LeapfrogArrays<Real> s;
  double eta;
  double epsilon[species_count];
  unsigned long long* least;
  __device__ void operator()(std::int64_t i) const {
    const Vec3<double> a{s.ax[i], s.ay[i], s.az[i]};
    const double softened = epsilon[s.species[i]];
    const double step = softened > 0 ? physics::acceleration_step<double>(eta, softened, a)
                                     : physics::starting_step<double>(eta, a, {s.jx[i], s.jy[i], s.jz[i]});
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(step));
    if (bits < *least) atomicMin(least, bits);
  }
};

template <class Real>
struct MarkNotFinite {
  LeapfrogArrays<Real> s;
  unsigned long long* lowest;
  __device__ void operator()(std::int64_t i) const {
    const Real sum = s.x[i] + s.y[i] + s.z[i] + s.vx[i] + s.vy[i] + s.vz[i] + s.ax[i] + s.ay[i] + s.az[i];
    if (!isfinite(sum)) atomicMin(lowest, static_cast<unsigned long long>(i));
  }
};

template <class Real>
class LeapfrogLoopsCuda final : public LeapfrogLoops<Real> {
 public:
  explicit LeapfrogLoopsCuda(const Device& device) : device_(device), least_(device, 1) {}

  void kick(const LeapfrogArrays<Real>& s, double dt) override {
    cuda::launch("kick", s.count, device_.stream(), Kick<Real>{s, static_cast<Real>(dt)});
  }
  void drift(const LeapfrogArrays<Real>& s, double dt) override {
    cuda::launch("drift", s.count, device_.stream(), Drift<Real>{s, static_cast<Real>(dt)});
  }
  double minimum_step(const LeapfrogArrays<Real>& s, double eta, const Softening& softening) override {
    WantedStep<Real> body{s, eta, {}, least_.data()};
    for (std::size_t k = 0; k < softening.epsilon.size(); ++k) body.epsilon[k] = softening.epsilon[k];
    constexpr unsigned long long infinity = 0x7ff0000000000000ull;
    return __builtin_bit_cast(double, minimum("minimum step", s.count, body, infinity));
  }
  std::int64_t first_not_finite(const LeapfrogArrays<Real>& s) override {
    constexpr unsigned long long none = ~0ull;
    const auto found = minimum("look for NaN", s.count, MarkNotFinite<Real>{s, least_.data()}, none);
    return found == none ? -1 : static_cast<std::int64_t>(found);
  }

 private:
  template <class Body>
  unsigned long long minimum(const char* name, std::int64_t count, const Body& body, unsigned long long start) {
    least_.from_host(&start);
    cuda::launch(name, count, device_.stream(), body);
    return least_.to_host()[0];
  }

  Device device_;
  Buffer<unsigned long long> least_;
};

}  // namespace

template <class Real>
std::unique_ptr<LeapfrogLoops<Real>> make_leapfrog_loops_cuda(const Device& device) {
  return std::make_unique<LeapfrogLoopsCuda<Real>>(device);
}
template std::unique_ptr<LeapfrogLoops<float>> make_leapfrog_loops_cuda(const Device& device);
template std::unique_ptr<LeapfrogLoops<double>> make_leapfrog_loops_cuda(const Device& device);

}  // namespace pergola
