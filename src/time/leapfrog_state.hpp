#pragma once
#include <cstdint>
#include <vector>

#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "particles/particles.hpp"
#include "time/integrator.hpp"
#include "time/leapfrog_loops.hpp"
#include "time/vector_buffer.hpp"

namespace pergola {

/// The particles of a leapfrog run on its device, with shared or with block steps.
template <class Real>
struct LeapfrogState {
  Device device;
  bool with_jerk = false;
  std::vector<std::uint64_t> id;  // as given
  Buffer<std::uint8_t> species;
  Buffer<Real> mass;
  VectorBuffer<Real> x, v, a;
  VectorBuffer<Real> j;         // empty unless with_jerk
  Buffer<std::uint32_t> place;  // where each particle stood in what was given; empty: all in that order
  double mass_quantum = 0;
  double start_time = 0;
  StepCounts counts;

  explicit LeapfrogState(const Device& on) : device(on) {}

  std::int64_t count() const { return static_cast<std::int64_t>(id.size()); }
  /// Takes positions, velocities and masses; accelerations are zero.
  void take(const Particles& particles, double time);
  LeapfrogArrays<Real> arrays();
  Sources<Real> sources() const;

  /// The particles on the host, in the order in which they were given. `predict(k, x, v, a)` brings position and
  /// velocity of particle k to the time that is asked for.
  template <class Predict>
  Particles particles(const Predict& predict) const;

  void save(StateBlocks& blocks) const;
  void restore(const StateBlocks& blocks);
  [[noreturn]] void fail(const char* reason, std::int64_t place, double time) const;
  std::int64_t bytes_per_particle() const;

 private:
  /// Particles that a thread takes at once in loops over host arrays.
  static constexpr std::int64_t host_chunk = 65536;
  template <class T>
  std::vector<T> as_given(const Buffer<T>& stored, const std::vector<std::uint32_t>& places) const;
};

/// Values on the host in the order in which the particles were given; `places` from `place`.
template <class Real>
template <class T>
std::vector<T> LeapfrogState<Real>::as_given(const Buffer<T>& stored, const std::vector<std::uint32_t>& places) const {
  std::vector<T> values = stored.to_host();
  if (places.empty()) return values;
  std::vector<T> result(values.size());
  parallel_chunks(device.threads(), stored.size(), host_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k)
      result[places[k]] = values[k];
  });
  return result;
}

template <class Real>
template <class Predict>
Particles LeapfrogState<Real>::particles(const Predict& predict) const {
  Particles result;
  result.resize(count());
  result.id = id;
  const auto places = place.to_host();
  result.species = as_given(species, places);
  const auto m = as_given(mass, places);
  const auto px = as_given(x.x, places), py = as_given(x.y, places), pz = as_given(x.z, places);
  const auto vx = as_given(v.x, places), vy = as_given(v.y, places), vz = as_given(v.z, places);
  const auto ax = as_given(a.x, places), ay = as_given(a.y, places), az = as_given(a.z, places);
  parallel_chunks(device.threads(), count(), host_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
      Vec3<double> at{px[k], py[k], pz[k]}, velocity{vx[k], vy[k], vz[k]};
      predict(k, at, velocity, Vec3<double>{ax[k], ay[k], az[k]});
      result.mass[k] = m[k];
      result.x[k] = at.x, result.y[k] = at.y, result.z[k] = at.z;
      result.vx[k] = velocity.x, result.vy[k] = velocity.y, result.vz[k] = velocity.z;
    }
  });
  return result;
}

}  // namespace pergola
