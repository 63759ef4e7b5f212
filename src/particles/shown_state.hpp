#pragma once
#include <cstdint>
#include <utility>

#include "base/vec.hpp"
#include "device/parallel.hpp"
#include "particles/shown_particles.hpp"

namespace pergola {

/// A state on a device as it is shown. Particle k of the input lies at place_of[k]; null: at k.
template <class Real>
struct StateArrays {
  const Real *x = nullptr, *y = nullptr, *z = nullptr;
  const Real *vx = nullptr, *vy = nullptr, *vz = nullptr;
  const Real* mass = nullptr;
  const std::uint8_t* species = nullptr;
  const std::uint64_t* id = nullptr;  // in the order of the input
  const std::uint32_t* place_of = nullptr;
};

/// What is done for one shown particle; looped over on the CPU and on CUDA. `rule(place, x, v)` brings position and
/// velocity to the time that is shown; `rule.moves()`: other places than those of the state may be shown.
template <class Real, class Out, class Rule>
struct ShowParticle {
  StateArrays<Real> state;
  Rule rule;
  std::int64_t first = 0;
  ShownArrays<Out> to;
  const std::uint32_t* chosen = nullptr;  // these places of the input in place of those from `first` on

  PERGOLA_HD void operator()(std::int64_t t) const {
    const std::int64_t k = chosen ? std::int64_t{chosen[t]} : first + t;
    const std::int64_t i = state.place_of ? std::int64_t{state.place_of[k]} : k;
    if (to.x || to.vx) {
      Vec3<double> x{state.x[i], state.y[i], state.z[i]}, v{state.vx[i], state.vy[i], state.vz[i]};
      rule(i, x, v);
      if (to.x) to.x[t] = static_cast<Out>(x.x), to.y[t] = static_cast<Out>(x.y), to.z[t] = static_cast<Out>(x.z);
      if (to.vx) to.vx[t] = static_cast<Out>(v.x), to.vy[t] = static_cast<Out>(v.y), to.vz[t] = static_cast<Out>(v.z);
    }
    if (to.mass) to.mass[t] = static_cast<Out>(state.mass[i]);
    if (to.species) to.species[t] = state.species[i];
    if (to.id) to.id[t] = state.id[k];
  }
};

/// The rule of particles that are shown as they are.
struct ShowAsIs {
  bool moves() const { return false; }
  PERGOLA_HD void operator()(std::int64_t, Vec3<double>&, Vec3<double>&) const {}
};

/// Present if cuda_built is true, in a .cu file beside each rule.
template <class Real, class Out, class Rule>
void show_cuda(const Device& device, std::int64_t n, const ShowParticle<Real, Out, Rule>& body);

/// Particles that may lie in memory as they are shown. Then a reader of places and masses needs no copy.
template <class Real>
class StoredParticles {
 public:
  virtual ~StoredParticles() = default;
  /// The state; null if its places are not the shown ones. The shown velocities may differ from its own.
  virtual const StateArrays<Real>* stored_places() const = 0;
};

/// The state that `arrays` name, shown by a rule.
template <class Real, class Rule>
class ShownState final : public ShownParticles, public StoredParticles<Real> {
 public:
  /// `place_of`: what arrays.place_of points at, if there is one.
  ShownState(const Device& device, std::int64_t count, const StateArrays<Real>& arrays, const Rule& rule,
             Buffer<std::uint32_t> place_of = {})
      : device_(device), count_(count), arrays_(arrays), rule_(rule), place_of_(std::move(place_of)) {
    arrays_.place_of = place_of_.data();
  }
  const Device& device() const override { return device_; }
  std::int64_t count() const override { return count_; }
  void show(std::int64_t first, std::int64_t n, const ShownArrays<float>& to) const override {
    loop(n, ShowParticle<Real, float, Rule>{arrays_, rule_, first, to});
  }
  void show(std::int64_t first, std::int64_t n, const ShownArrays<double>& to) const override {
    loop(n, ShowParticle<Real, double, Rule>{arrays_, rule_, first, to});
  }
  void show_any(std::int64_t first, std::int64_t n, const ShownArrays<float>& to) const override {
    loop(n, ShowParticle<Real, float, Rule>{in_memory_order(), rule_, first, to});
  }
  void show_any(std::int64_t first, std::int64_t n, const ShownArrays<double>& to) const override {
    loop(n, ShowParticle<Real, double, Rule>{in_memory_order(), rule_, first, to});
  }
  void show_at(const std::uint32_t* places, std::int64_t n, const ShownArrays<double>& to) const override {
    loop(n, ShowParticle<Real, double, Rule>{arrays_, rule_, 0, to, places});
  }
  const StateArrays<Real>* stored_places() const override { return rule_.moves() ? nullptr : &arrays_; }

 private:
  StateArrays<Real> in_memory_order() const {
    StateArrays<Real> arrays = arrays_;
    arrays.place_of = nullptr;
    return arrays;
  }
  /// Small: energies and hashes ask for pieces of some 65536 particles, and all threads have a part of each.
  static constexpr std::int64_t chunk = 1024;
  template <class Body>
  void loop(std::int64_t n, const Body& body) const {
    if (device_.is_cuda()) {
      if constexpr (cuda_built) return show_cuda(device_, n, body);
    }
    parallel_chunks(device_.threads(), n, chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) body(t);
    });
  }

  Device device_;
  std::int64_t count_;
  StateArrays<Real> arrays_;
  Rule rule_;
  Buffer<std::uint32_t> place_of_;
};

}  // namespace pergola
