#include "time/leapfrog_state.hpp"

#include <fmt/core.h>

#include <type_traits>

#include "gravity/mesh.hpp"
#include "time/particle_failure.hpp"

namespace pergola {

namespace {

template <class Real>
double quantum_of(const std::vector<Real>& mass) {
  return mass_quantum(std::vector<double>(mass.begin(), mass.end()), std::is_same_v<Real, float>);
}

}  // namespace

template <class Real>
void LeapfrogState<Real>::take(const Particles& particles, double time) {
  const std::int64_t n = particles.size();
  id = Buffer<std::uint64_t>(device, particles.id);
  species = Buffer<std::uint8_t>(device, particles.species);
  const std::vector<Real> given(particles.mass.begin(), particles.mass.end());
  mass = Buffer<Real>(device, given);
  mass_quantum = quantum_of(given);
  x = VectorBuffer<Real>(device, particles.x, particles.y, particles.z);
  v = VectorBuffer<Real>(device, particles.vx, particles.vy, particles.vz);
  a = VectorBuffer<Real>(device, n);
  j = VectorBuffer<Real>(device, with_jerk ? n : 0);
  a.zero();
  place = Buffer<std::uint32_t>();
  start_time = time;
  counts = {};
}

template <class Real>
LeapfrogArrays<Real> LeapfrogState<Real>::arrays() {
  LeapfrogArrays<Real> arrays;
  arrays.count = count();
  arrays.x = x.x.data(), arrays.y = x.y.data(), arrays.z = x.z.data();
  arrays.vx = v.x.data(), arrays.vy = v.y.data(), arrays.vz = v.z.data();
  arrays.ax = a.x.data(), arrays.ay = a.y.data(), arrays.az = a.z.data();
  arrays.jx = j.x.data(), arrays.jy = j.y.data(), arrays.jz = j.z.data();
  arrays.species = species.data();
  return arrays;
}

template <class Real>
Sources<Real> LeapfrogState<Real>::sources() const {
  Sources<Real> sources;
  sources.count = count();
  sources.x = x.x.data(), sources.y = x.y.data(), sources.z = x.z.data();
  sources.vx = v.x.data(), sources.vy = v.y.data(), sources.vz = v.z.data();
  sources.mass = mass.data();
  sources.species = species.data();
  sources.mass_quantum = mass_quantum;
  return sources;
}

template <class Real>
void LeapfrogState<Real>::save(StateBlocks& blocks) const {
  const auto places = place.to_host();
  blocks.put_value("count", count());
  blocks.put("id", id.to_host());
  blocks.put("species", as_given(species, places));
  blocks.put("mass", as_given(mass, places));
  const auto put = [&](const char* name, const VectorBuffer<Real>& vector) {
    blocks.put(fmt::format("{}.x", name), as_given(vector.x, places));
    blocks.put(fmt::format("{}.y", name), as_given(vector.y, places));
    blocks.put(fmt::format("{}.z", name), as_given(vector.z, places));
  };
  put("position", x), put("velocity", v), put("acceleration", a);
  blocks.put_value("start_time", start_time);
  blocks.put_value("counts", counts);
}

template <class Real>
void LeapfrogState<Real>::restore(const StateBlocks& blocks) {
  const auto n = static_cast<std::size_t>(blocks.get_value<std::int64_t>("count"));
  id = Buffer<std::uint64_t>(device, blocks.get<std::uint64_t>("id", n));
  species = Buffer<std::uint8_t>(device, blocks.get<std::uint8_t>("species", n));
  const auto saved = blocks.get<Real>("mass", n);
  mass = Buffer<Real>(device, saved);
  mass_quantum = quantum_of(saved);
  x.restore(blocks, "position", device, n);
  v.restore(blocks, "velocity", device, n);
  a.restore(blocks, "acceleration", device, n);
  j = VectorBuffer<Real>(device, with_jerk ? count() : 0);
  place = Buffer<std::uint32_t>();
  start_time = blocks.get_value<double>("start_time");
  counts = blocks.get_value<StepCounts>("counts");
}

template <class Real>
void LeapfrogState<Real>::fail(const char* reason, std::int64_t at_place, double time) const {
  ParticleState state;
  state.id = id_at(at_place);
  state.mass = value_at(mass, at_place, device);
  state.position = x.fetch(at_place, device), state.velocity = v.fetch(at_place, device);
  state.acceleration = a.fetch(at_place, device);
  state.time = time;
  throw ParticleFailure(reason, time, state);
}

template <class Real>
std::int64_t LeapfrogState<Real>::bytes_per_particle() const {
  const std::size_t vectors = with_jerk ? 4 : 3;
  return static_cast<std::int64_t>(sizeof(std::uint64_t) + sizeof(std::uint8_t) + sizeof(Real) +
                                   vectors * 3 * sizeof(Real));
}

template struct LeapfrogState<float>;
template struct LeapfrogState<double>;

}  // namespace pergola
