#include <fmt/core.h>

#include <cmath>
#include <vector>

#include "device/parallel.hpp"
#include "gravity/direct.hpp"
#include "physics/hermite.hpp"
#include "physics/pair.hpp"

namespace pergola {

namespace {

/// Sources at the time of prepare(), in double precision.
struct Prepared {
  std::vector<double> x, y, z, vx, vy, vz, mass, epsilon2;
  std::int64_t size() const { return static_cast<std::int64_t>(x.size()); }
};

class DirectCpu final : public Solver {
 public:
  DirectCpu(const SolverOptions& options, const Device& device) : options_(options), device_(device) {}
  const SolverInfo& info() const override { return info_; }
  void prepare(const Sources<float>& sources) override { take(sources); }
  void prepare(const Sources<double>& sources) override { take(sources); }
  void evaluate(const Targets& targets, unsigned want, const Forces<float>& forces) override {
    sum(targets, want, forces);
  }
  void evaluate(const Targets& targets, unsigned want, const Forces<double>& forces) override {
    sum(targets, want, forces);
  }
  NeighbourLists neighbour_lists(const Targets& targets, double radius) override;
  std::int64_t device_bytes(std::int64_t n) const override { return n * 8 * static_cast<std::int64_t>(sizeof(double)); }

 private:
  template <class Real>
  void take(const Sources<Real>& sources);
  template <class Real>
  void sum(const Targets& targets, unsigned want, const Forces<Real>& forces) const;

  SolverInfo info_{"direct", false, true, true, true, true, true};
  SolverOptions options_;
  Device device_;
  Prepared prepared_;
};

template <class Real>
void DirectCpu::take(const Sources<Real>& s) {
  auto& p = prepared_;
  for (auto* array : {&p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz, &p.mass, &p.epsilon2})
    array->resize(static_cast<std::size_t>(s.count));
  parallel_chunks(device_.threads(), s.count, 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto k = static_cast<std::size_t>(i);
      Vec3<double> x{s.x[i], s.y[i], s.z[i]}, v{};
      if (s.vx) v = {s.vx[i], s.vy[i], s.vz[i]};
      if (s.ax) {
        const double dt = static_cast<double>(s.now - s.tick[i]) * s.tick_length + s.offset;
        physics::hermite_predict<double>(dt, x, v, {s.ax[i], s.ay[i], s.az[i]}, {s.jx[i], s.jy[i], s.jz[i]});
      }
      p.x[k] = x.x, p.y[k] = x.y, p.z[k] = x.z;
      p.vx[k] = v.x, p.vy[k] = v.y, p.vz[k] = v.z;
      p.mass[k] = options_.gravitational_constant * s.mass[i];
      const double epsilon = options_.softening.epsilon[s.species ? s.species[i] : 0];
      p.epsilon2[k] = epsilon * epsilon;
    }
  });
}

template <class Real>
void DirectCpu::sum(const Targets& targets, unsigned want, const Forces<Real>& out) const {
  const auto& p = prepared_;
  parallel_chunks(device_.threads(), targets.count, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t i = targets.index ? targets.index[t] : t;
      const auto k = static_cast<std::size_t>(i);
      physics::PairSum<double> sum{};
      std::int64_t nearest = -1;
      double nearest2 = INFINITY;
      for (std::size_t j = 0; j < p.x.size(); ++j) {
        if (j == k) continue;
        const Vec3<double> d{p.x[j] - p.x[k], p.y[j] - p.y[k], p.z[j] - p.z[k]};
        const Vec3<double> w{p.vx[j] - p.vx[k], p.vy[j] - p.vy[k], p.vz[j] - p.vz[k]};
        const double square = physics::softened_square(d, std::max(p.epsilon2[j], p.epsilon2[k]));
        if (square == 0)
          throw CoincidentParticles(
              i, static_cast<std::int64_t>(j),
              fmt::format("direct: two particles in one place with zero softening (places {} and {})", k, j));
        physics::add_pair<true, true>(d, w, p.mass[j], physics::rsqrt(square), sum);
        const double distance2 = dot(d, d);
        if (distance2 < nearest2) nearest2 = distance2, nearest = static_cast<std::int64_t>(j);
      }
      if (want & want_acceleration)
        out.ax[t] = static_cast<Real>(sum.ax), out.ay[t] = static_cast<Real>(sum.ay),
        out.az[t] = static_cast<Real>(sum.az);
      if (want & want_jerk)
        out.jx[t] = static_cast<Real>(sum.jx), out.jy[t] = static_cast<Real>(sum.jy),
        out.jz[t] = static_cast<Real>(sum.jz);
      if (want & want_potential) out.potential[t] = static_cast<Real>(sum.pot);
      if (want & want_nearest) {
        out.nearest[t] = nearest;
        if (out.nearest_distance) out.nearest_distance[t] = static_cast<Real>(std::sqrt(nearest2));
      }
    }
  });
}

NeighbourLists DirectCpu::neighbour_lists(const Targets& targets, double radius) {
  const auto& p = prepared_;
  NeighbourLists lists;
  lists.begin.push_back(0);
  for (std::int64_t t = 0; t < targets.count; ++t) {
    const auto k = static_cast<std::size_t>(targets.index ? targets.index[t] : t);
    for (std::size_t j = 0; j < p.x.size(); ++j) {
      const Vec3<double> d{p.x[j] - p.x[k], p.y[j] - p.y[k], p.z[j] - p.z[k]};
      if (j != k && dot(d, d) < radius * radius) lists.index.push_back(static_cast<std::int64_t>(j));
    }
    lists.begin.push_back(static_cast<std::int64_t>(lists.index.size()));
  }
  return lists;
}

}  // namespace

std::unique_ptr<Solver> make_direct_cpu(const SolverOptions& options, const Device& device) {
  return std::make_unique<DirectCpu>(options, device);
}

double potential_energy_cpu(const Device& device, const Sources<double>& s, const SolverOptions& options) {
  constexpr std::int64_t chunk = 64;
  std::vector<double> partial(static_cast<std::size_t>((s.count + chunk - 1) / chunk));
  parallel_chunks(device.threads(), s.count, chunk, [&](std::int64_t begin, std::int64_t end) {
    double total = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      double pot = 0;
      const double epsilon_i = options.softening.epsilon[s.species ? s.species[i] : 0];
      for (std::int64_t j = i + 1; j < s.count; ++j) {
        const double epsilon = std::max(epsilon_i, options.softening.epsilon[s.species ? s.species[j] : 0]);
        const Vec3<double> d{s.x[j] - s.x[i], s.y[j] - s.y[i], s.z[j] - s.z[i]};
        physics::add_pair_potential(s.mass[j], physics::rsqrt(physics::softened_square(d, epsilon * epsilon)), pot);
      }
      total += s.mass[i] * pot;
    }
    partial[static_cast<std::size_t>(begin / chunk)] = total;
  });
  double sum = 0;
  for (double value : partial) sum += value;
  return options.gravitational_constant * sum;
}

}  // namespace pergola
