#include "time/leapfrog_state.hpp"

#include <utility>

#include "domain/share_source.hpp"
#include "gravity/mesh.hpp"

namespace pergola {

template <class Real>
void LeapfrogState<Real>::start(ParticleSource& particles, double time, const Expansion& expansion,
                                Communicator* ranks) {
  take_share(particles, ranks, [&](ParticleSource& own) {
    if (!expansion.given()) return this->take(own);
    ScaledVelocities momenta(own, 1 / expansion.shown_velocity(time));
    this->take(momenta);
  });
  mass_quantum = pergola::mass_quantum(this->device(), std::as_const(this->mass).data(), this->count(), ranks);
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
void LeapfrogState<Real>::restore(StateInput& from, Communicator* ranks) {
  this->FieldList::restore(from, ranks ? ranks->rank() : 0, ranks ? ranks->size() : 1);
  mass_quantum = pergola::mass_quantum(this->device(), std::as_const(this->mass).data(), this->count(), ranks);
  start_time = from.get_value<double>("start_time");
  counts = from.get_value<StepCounts>("counts");
}

template <class Real>
ParticleState LeapfrogState<Real>::particle_at(std::int64_t place, double time) const {
  ParticleState state;
  state.id = this->id_at(place);
  state.mass = this->mass.fetch(place);
  state.position = this->x.fetch(place), state.velocity = this->v.fetch(place);
  state.acceleration = a.fetch(place);
  state.time = time;
  return state;
}

template <class Real>
void LeapfrogState<Real>::fail_where(std::int64_t place, std::int64_t kind, const char* (*reason)(std::int64_t kind),
                                     double time, Communicator* ranks) const {
  pergola::fail_where(
      {place, kind, time}, reason, [&] { return particle_at(place, time); }, ranks);
}

template struct LeapfrogState<float>;
template struct LeapfrogState<double>;

}  // namespace pergola
