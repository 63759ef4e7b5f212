// The state of a Hermite run, shared by the CPU and CUDA integrators: particles with acceleration, jerk, tick of their
// last step and level. Positions and velocities of a particle are those of its own tick; sources_at() hands the solver
// what it needs to predict them. A level l means steps of step_max / 2^l; ticks are step_max / 2^deepest_level.
#include "time/hermite.hpp"
#include "comm/collectives.hpp"
#include "physics/block_steps.hpp"
#include "physics/hermite.hpp"
#include "time/block_steps.hpp"
#include "time/show_rules.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace pergola {

using physics::deepest_level;

namespace {

/// A copy of a three-vector array on the host.
struct HostVectors {
  std::vector<double> x, y, z;
  template <class Real>
  explicit HostVectors(const VectorBuffer<Real>& from) : x(widen(from.x)), y(widen(from.y)), z(widen(from.z)) {}
  template <class Real>
  HostVectors(const VectorField<Real>& from, std::int64_t count)
      : x(widen(from.x, count)), y(widen(from.y, count)), z(widen(from.z, count)) {}
  template <class Real>
  static std::vector<double> widen(const ParticleField<Real>& from, std::int64_t count) {
    std::vector<Real> values(static_cast<std::size_t>(count));
    from.to_host(0, count, values.data());
    return {values.begin(), values.end()};
  }
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
    : RunState<Real>(on), tick_length(std::ldexp(step_max, -deepest_level)) {}

/// Fields of the particles that this rank owns, at tick 0.
template <class Real>
void HermiteState<Real>::start(ParticleSource& particles, double time, Communicator* ranks) {
  RunState<Real>::start(particles, time, ranks);
  now = 0;
  offset = 0;
}

/// First accelerations and jerks, and from them the first levels. The first step may use the potential and G times the
/// total mass, which ranks add in turn, so that the sum has the bits of one rank.
template <class Real>
void HermiteState<Real>::set_first_forces(const VectorBuffer<Real>& first_a, const VectorBuffer<Real>& first_j,
                                          const Buffer<Real>& potential, const TimeOptions& options,
                                          const SolverOptions& gravity, Communicator* ranks) {
  const HostVectors new_a(first_a), new_j(first_j);
  const auto phi = potential.to_host();
  const std::int64_t n = this->count();
  std::vector<Real> masses(static_cast<std::size_t>(n));
  this->mass.to_host(0, n, masses.data());
  double gm = 0;
  const auto add_own = [&](double& sum) {
    for (const Real m : masses) sum += gravity.gravitational_constant * static_cast<double>(m);
  };
  if (ranks)
    gm = add_in_turn(*ranks, gm, add_own);
  else
    add_own(gm);
  std::vector<physics::ExternalLaw<double>> laws;
  for (const auto& potential_of : gravity.external)
    laws.push_back(external_law(potential_of, gravity.gravitational_constant));
  const bool in_field = !laws.empty() || !gravity.user_forces.empty();
  const HostVectors places(this->x, in_field ? n : 0), ways(this->v, in_field ? n : 0);
  const auto wanted_by = [&](std::size_t i) {
    const double eta = options.eta_start;
    Vec3<double> own_a = new_a.at(i), own_j = new_j.at(i);
    auto own_potential = static_cast<double>(phi[i]);
    if (!in_field) return physics::starting_step(eta, own_a, own_j, own_potential, gm);
    const Vec3<double> place = places.at(i), way = ways.at(i);
    const auto motion = [&](const Vec3<double>& along) {
      const auto field = physics::external_motion(laws.data(), std::ssize(laws), place, along);
      return std::pair{Vec3<double>{field.x.value, field.y.value, field.z.value},
                       Vec3<double>{field.x.rate, field.y.rate, field.z.rate}};
    };
    const auto [field, jerk] = motion(way);
    const double given = physics::starting_step(eta, way, field, jerk, motion(own_a).second);
    own_a = own_a - field, own_j = own_j - jerk;
    own_potential -= external_field_at(gravity.external, gravity.gravitational_constant, place).potential;
    double own = physics::starting_step(eta, own_a, own_j, own_potential, gm);
    if (!(own > 0)) own = physics::starting_step(eta, way, own_a, own_j, Vec3<double>{0, 0, 0});  // without any mass
    if (std::isinf(own) && !gravity.user_forces.empty()) own = eta * options.step_max;  // nothing tells a time
    return std::min(given, own);
  };
  std::vector<std::int8_t> levels(static_cast<std::size_t>(n));
  const auto choose = [&](std::size_t i) {
    if (!is_finite(new_a.at(i)) || !is_finite(new_j.at(i))) return StepFault::force_not_finite;
    const int first = physics::first_level(wanted_by(i), options.step_max, 0);
    if (first > deepest_level) return StepFault::step_too_short;
    levels[i] = static_cast<std::int8_t>(first);
    return StepFault::none;
  };
  StepFault fault = StepFault::none;
  std::int64_t chosen = 0;
  while (chosen < n && (fault = choose(static_cast<std::size_t>(chosen))) == StepFault::none) ++chosen;
  fail_where(fault == StepFault::none ? -1 : chosen, fault, start_time, ranks);
  const auto copy = [&](const Buffer<Real>& from, ParticleField<Real>& to) {
    if (n > 0) this->device().memory().copy(to.data(), from.data(), from.bytes());
  };
  copy(first_a.x, a.x), copy(first_a.y, a.y), copy(first_a.z, a.z);
  copy(first_j.x, j.x), copy(first_j.y, j.y), copy(first_j.z, j.z);
  level.from_host(0, n, levels.data());
}

template <class Real>
Sources<Real> HermiteState<Real>::sources() const {
  Sources<Real> s = RunState<Real>::sources();
  s.moment = start_time;
  s.longest_step = std::ldexp(tick_length, deepest_level);
  return s;
}

/// The same sources, with what it takes to predict them to a tick and beyond.
template <class Real>
Sources<Real> HermiteState<Real>::sources_at(std::int64_t to_tick, double to_offset) const {
  Sources<Real> s = sources();
  s.ax = a.x.data(), s.ay = a.y.data(), s.az = a.z.data();
  s.jx = j.x.data(), s.jy = j.y.data(), s.jz = j.z.data();
  s.tick = tick.data();
  s.now = to_tick;
  s.tick_length = tick_length;
  s.offset = to_offset;
  s.moment = time_of(to_tick) + to_offset;
  return s;
}

/// An output view: each particle is predicted to the time `at` by its own polynomial.
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
  RunState<Real>::save(to);
  to.put_value("now", now);
  to.put_value("offset", offset);
}

template <class Real>
void HermiteState<Real>::restore(StateInput& from, Communicator* ranks) {
  RunState<Real>::restore(from, ranks);
  now = from.get_value<std::int64_t>("now");
  offset = from.get_value<double>("offset");
}

/// The last state of one particle, for an error message.
template <class Real>
ParticleState HermiteState<Real>::particle_at(std::int64_t i) const {
  ParticleState state;
  state.id = this->id_at(i);
  state.mass = this->mass.fetch(i);
  state.position = this->x.fetch(i), state.velocity = this->v.fetch(i);
  state.acceleration = a.fetch(i), state.jerk = j.fetch(i);
  state.time = time_of(tick.fetch(i));
  return state;
}

template <class Real>
void HermiteState<Real>::fail(std::int64_t i, StepFault fault, double at) const {
  throw ParticleFailure(step_fault_text(fault), at, particle_at(i));
}

template <class Real>
void HermiteState<Real>::fail_where(std::int64_t i, StepFault fault, double at, Communicator* ranks) const {
  pergola::fail_where(
      {i, static_cast<std::int64_t>(fault), at},
      [](std::int64_t kind) { return step_fault_text(static_cast<StepFault>(kind)); }, [&] { return particle_at(i); },
      ranks);
}

template struct HermiteState<float>;
template struct HermiteState<double>;

}  // namespace pergola
