#pragma once
#include <cstdint>
#include <vector>

#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "device/permute.hpp"
#include "particles/particles.hpp"
#include "particles/shown_state.hpp"
#include "time/integrator.hpp"
#include "time/leapfrog_loops.hpp"
#include "time/vector_buffer.hpp"

namespace pergola {

/// The particles of a leapfrog run on its device, with shared or with block steps.
template <class Real>
struct LeapfrogState {
  Device device;
  bool with_jerk = false;
  Buffer<std::uint64_t> id;  // in the order in which they were given
  Buffer<std::uint8_t> species;
  Buffer<Real> mass;
  VectorBuffer<Real> x, v, a;
  VectorBuffer<Real> j;         // empty unless with_jerk
  Buffer<std::uint32_t> place;  // where each particle stood in what was given; empty: all in that order
  double mass_quantum = 0;
  double start_time = 0;
  StepCounts counts;

  explicit LeapfrogState(const Device& on) : device(on) {}

  std::int64_t count() const { return id.size(); }
  /// Takes positions, velocities and masses; accelerations are zero.
  void take(const Particles& particles, double time);
  LeapfrogArrays<Real> arrays();
  Sources<Real> sources() const;

  /// The particles as `rule` brings them to a time; particles/shown_state.hpp.
  template <class Rule>
  std::unique_ptr<ShownParticles> show(const Rule& rule) const;
  /// The id of the particle at a place in memory.
  std::uint64_t id_at(std::int64_t at_place) const {
    return value_at(id, place.size() > 0 ? std::int64_t{value_at(place, at_place, device)} : at_place, device);
  }

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
template <class Rule>
std::unique_ptr<ShownParticles> LeapfrogState<Real>::show(const Rule& rule) const {
  Buffer<std::uint32_t> place_of(device, place.size());
  if (place.size() > 0) invert(device, count(), place.data(), place_of.data());
  const StateArrays<Real> arrays{x.x.data(), x.y.data(),  x.z.data(),     v.x.data(), v.y.data(),
                                 v.z.data(), mass.data(), species.data(), id.data(),  nullptr};
  return std::make_unique<ShownState<Real, Rule>>(device, count(), arrays, rule, std::move(place_of));
}

}  // namespace pergola
