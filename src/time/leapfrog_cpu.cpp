#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "device/parallel.hpp"
#include "physics/hermite.hpp"
#include "physics/leapfrog.hpp"
#include "time/leapfrog_loops.hpp"

namespace pergola {

namespace {

constexpr std::int64_t chunk = 1024;

template <class Real>
class LeapfrogLoopsCpu final : public LeapfrogLoops<Real> {
 public:
  explicit LeapfrogLoopsCpu(const Device& device) : threads_(device.threads()) {}

  void kick(const LeapfrogArrays<Real>& s, double dt) override {
    for_each(s, [&](std::int64_t i) {
      Vec3<Real> v{s.vx[i], s.vy[i], s.vz[i]};
      physics::kick<Real>(static_cast<Real>(dt), v, {s.ax[i], s.ay[i], s.az[i]});
      s.vx[i] = v.x, s.vy[i] = v.y, s.vz[i] = v.z;
    });
  }

  void drift(const LeapfrogArrays<Real>& s, double dt) override {
    for_each(s, [&](std::int64_t i) {
      Vec3<Real> x{s.x[i], s.y[i], s.z[i]};
      physics::drift<Real>(static_cast<Real>(dt), x, {s.vx[i], s.vy[i], s.vz[i]});
      s.x[i] = x.x, s.y[i] = x.y, s.z[i] = x.z;
    });
  }

  double minimum_step(const LeapfrogArrays<Real>& s, double eta, const Softening& softening) override {
    std::vector<double> least(static_cast<std::size_t>((s.count + chunk - 1) / chunk),
                              std::numeric_limits<double>::infinity());
    parallel_chunks(threads_, s.count, chunk, [&](std::int64_t begin, std::int64_t end) {
      double& mine = least[static_cast<std::size_t>(begin / chunk)];
      for (std::int64_t i = begin; i < end; ++i) {
        const Vec3<double> a{s.ax[i], s.ay[i], s.az[i]};
        const double epsilon = softening.epsilon[s.species[i]];
        mine = std::min(mine, epsilon > 0 ? physics::acceleration_step<double>(eta, epsilon, a)
                                          : physics::starting_step<double>(eta, a, {s.jx[i], s.jy[i], s.jz[i]}));
      }
    });
    double result = std::numeric_limits<double>::infinity();
    for (const double value : least) result = std::min(result, value);
    return result;
  }

  std::int64_t first_not_finite(const LeapfrogArrays<Real>& s) override {
    std::vector<std::int64_t> found(static_cast<std::size_t>((s.count + chunk - 1) / chunk), -1);
    parallel_chunks(threads_, s.count, chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        for (const Real value : {s.x[i], s.y[i], s.z[i], s.vx[i], s.vy[i], s.vz[i], s.ax[i], s.ay[i], s.az[i]})
          if (!std::isfinite(value)) {
            found[static_cast<std::size_t>(begin / chunk)] = i;
            return;
          }
    });
    for (const std::int64_t i : found)
      if (i >= 0) return i;
    return -1;
  }

 private:
  template <class Body>
  void for_each(const LeapfrogArrays<Real>& s, const Body& body) {
    parallel_chunks(threads_, s.count, chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(i);
    });
  }

  int threads_;
};

}  // namespace

template <class Real>
std::unique_ptr<LeapfrogLoops<Real>> make_leapfrog_loops_cpu(const Device& device) {
  return std::make_unique<LeapfrogLoopsCpu<Real>>(device);
}
template std::unique_ptr<LeapfrogLoops<float>> make_leapfrog_loops_cpu(const Device& device);
template std::unique_ptr<LeapfrogLoops<double>> make_leapfrog_loops_cpu(const Device& device);

}  // namespace pergola
