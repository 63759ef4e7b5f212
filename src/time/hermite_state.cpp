#include "time/hermite_state.hpp"

#include <cmath>

#include "physics/block_steps.hpp"
#include "physics/hermite.hpp"
#include "time/show_rules.hpp"
#include "time/step_classes.hpp"

namespace pergola {

using physics::deepest_level;

namespace {

/// A copy of a three-vector array on the host.
struct HostVectors {
  std::vector<double> x, y, z;
  template <class Real>
  explicit HostVectors(const VectorBuffer<Real>& from) : x(widen(from.x)), y(widen(from.y)), z(widen(from.z)) {}
  template <class Real>
  static std::vector<double> widen(const Buffer<Real>& from) {
    const auto values = from.to_host();
    return {values.begin(), values.end()};
  }
  Vec3<double> at(std::size_t i) const { return {x[i], y[i], z[i]}; }
};

}  // namespace

template <class Real>
HermiteState<Real>::HermiteState(const Device& on, double step_max)
    : ParticleStore<Real>(on), tick_length(std::ldexp(step_max, -deepest_level)) {}

template <class Real>
void HermiteState<Real>::start(ParticleSource& particles, double time) {
  this->take(particles);
  start_time = time;
  now = 0;
  offset = 0;
  counts = {};
}

template <class Real>
void HermiteState<Real>::set_first_forces(const VectorBuffer<Real>& first_a, const VectorBuffer<Real>& first_j,
                                          const Buffer<Real>& potential, const TimeOptions& options,
                                          double gravitational_constant) {
  const HostVectors new_a(first_a), new_j(first_j);
  const auto phi = potential.to_host();
  const std::int64_t n = this->count();
  std::vector<Real> masses(static_cast<std::size_t>(n));
  this->mass.to_host(0, n, masses.data());
  double gm = 0;
  for (const Real m : masses) gm += gravitational_constant * static_cast<double>(m);
  std::vector<std::int8_t> levels(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    if (!is_finite(new_a.at(i)) || !is_finite(new_j.at(i))) fail(place, StepFault::force_not_finite, start_time);
    const double wanted =
        physics::starting_step<double>(options.eta_start, new_a.at(i), new_j.at(i), static_cast<double>(phi[i]), gm);
    const int chosen = physics::first_level(wanted, options.step_max, 0);
    if (chosen > deepest_level) fail(place, StepFault::step_too_short, start_time);
    levels[i] = static_cast<std::int8_t>(chosen);
  }
  const auto copy = [&](const Buffer<Real>& from, ParticleField<Real>& to) {
    if (n > 0) this->device().memory().copy(to.data(), from.data(), from.bytes());
  };
  copy(first_a.x, a.x), copy(first_a.y, a.y), copy(first_a.z, a.z);
  copy(first_j.x, j.x), copy(first_j.y, j.y), copy(first_j.z, j.z);
  level.from_host(0, n, levels.data());
}

template <class Real>
Sources<Real> HermiteState<Real>::sources() const {
  const auto &place = this->x, &speed = this->v;
  Sources<Real> s;
  s.count = this->count();
  s.x = place.x.data(), s.y = place.y.data(), s.z = place.z.data();
  s.vx = speed.x.data(), s.vy = speed.y.data(), s.vz = speed.z.data();
  s.mass = this->mass.data();
  s.species = this->species.data();
  return s;
}

template <class Real>
Sources<Real> HermiteState<Real>::sources_at(std::int64_t to_tick, double to_offset) const {
  Sources<Real> s = sources();
  s.ax = a.x.data(), s.ay = a.y.data(), s.az = a.z.data();
  s.jx = j.x.data(), s.jy = j.y.data(), s.jz = j.z.data();
  s.tick = tick.data();
  s.now = to_tick;
  s.tick_length = tick_length;
  s.offset = to_offset;
  return s;
}

template <class Real>
std::unique_ptr<ShownParticles> HermiteState<Real>::show_at(double at) const {
  return this->show(ShowHermite<Real>{a.x.data(), a.y.data(), a.z.data(), j.x.data(), j.y.data(), j.z.data(),
                                      tick.data(), at - start_time, tick_length, offset});
}

template <class Real>
std::vector<StepClass> HermiteState<Real>::step_classes() const {
  std::vector<std::int8_t> levels(static_cast<std::size_t>(this->count()));
  level.to_host(0, this->count(), levels.data());
  std::int64_t population[deepest_level + 1] = {};
  for (const std::int8_t one : levels) ++population[one];
  return block_step_classes(population, tick_length);
}

template <class Real>
void HermiteState<Real>::save(StateSource& to) const {
  this->FieldList::save(to);
  to.put_value("now", now);
  to.put_value("offset", offset);
  to.put_value("start_time", start_time);
  to.put_value("counts", counts);
}

template <class Real>
void HermiteState<Real>::restore(StateInput& from) {
  this->FieldList::restore(from);
  now = from.get_value<std::int64_t>("now");
  offset = from.get_value<double>("offset");
  start_time = from.get_value<double>("start_time");
  counts = from.get_value<StepCounts>("counts");
}

template <class Real>
void HermiteState<Real>::fail(std::int64_t i, StepFault fault, double at) const {
  ParticleState state;
  state.id = this->id_at(i);
  state.mass = this->mass.fetch(i);
  state.position = this->x.fetch(i), state.velocity = this->v.fetch(i);
  state.acceleration = a.fetch(i), state.jerk = j.fetch(i);
  state.time = time_of(tick.fetch(i));
  throw ParticleFailure(step_fault_text(fault), at, state);
}

template struct HermiteState<float>;
template struct HermiteState<double>;

}  // namespace pergola
