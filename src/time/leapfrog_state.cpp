#include "time/leapfrog_state.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "gravity/mesh.hpp"
#include "time/particle_failure.hpp"

namespace pergola {

namespace {

/// Read back in pieces, in the order of the input.
template <class Real>
double quantum_of(const ParticleField<Real>& mass, std::int64_t count) {
  constexpr std::int64_t piece = std::int64_t{1} << 22;
  MassRange range;
  std::vector<Real> values;
  for (std::int64_t first = 0; first < count; first += piece) {
    values.resize(static_cast<std::size_t>(std::min(piece, count - first)));
    mass.to_host(first, static_cast<std::int64_t>(values.size()), values.data());
    for (const Real one : values) range.add(static_cast<double>(one));
  }
  return mass_quantum(range, std::is_same_v<Real, float>);
}

}  // namespace

template <class Real>
void LeapfrogState<Real>::start(ParticleSource& particles, double time) {
  this->take(particles);
  mass_quantum = quantum_of(this->mass, this->count());
  start_time = time;
  counts = {};
}

template <class Real>
LeapfrogArrays<Real> LeapfrogState<Real>::arrays() {
  auto &place = this->x, &speed = this->v;
  LeapfrogArrays<Real> arrays;
  arrays.count = this->count();
  arrays.x = place.x.data(), arrays.y = place.y.data(), arrays.z = place.z.data();
  arrays.vx = speed.x.data(), arrays.vy = speed.y.data(), arrays.vz = speed.z.data();
  arrays.ax = a.x.data(), arrays.ay = a.y.data(), arrays.az = a.z.data();
  arrays.jx = j.x.data(), arrays.jy = j.y.data(), arrays.jz = j.z.data();
  arrays.species = this->species.data();
  return arrays;
}

template <class Real>
Sources<Real> LeapfrogState<Real>::sources() const {
  const auto &place = this->x, &speed = this->v;
  Sources<Real> sources;
  sources.count = this->count();
  sources.x = place.x.data(), sources.y = place.y.data(), sources.z = place.z.data();
  sources.vx = speed.x.data(), sources.vy = speed.y.data(), sources.vz = speed.z.data();
  sources.mass = this->mass.data();
  sources.species = this->species.data();
  sources.mass_quantum = mass_quantum;
  return sources;
}

template <class Real>
void LeapfrogState<Real>::save(StateSource& to) const {
  this->FieldList::save(to);
  to.put_value("start_time", start_time);
  to.put_value("counts", counts);
}

template <class Real>
void LeapfrogState<Real>::restore(StateInput& from) {
  this->FieldList::restore(from);
  mass_quantum = quantum_of(this->mass, this->count());
  start_time = from.get_value<double>("start_time");
  counts = from.get_value<StepCounts>("counts");
}

template <class Real>
void LeapfrogState<Real>::fail(const char* reason, std::int64_t place, double time) const {
  ParticleState state;
  state.id = this->id_at(place);
  state.mass = this->mass.fetch(place);
  state.position = this->x.fetch(place), state.velocity = this->v.fetch(place);
  state.acceleration = a.fetch(place);
  state.time = time;
  throw ParticleFailure(reason, time, state);
}

template struct LeapfrogState<float>;
template struct LeapfrogState<double>;

}  // namespace pergola
