#include "time/hermite_state.hpp"

#include <cmath>

#include "physics/block_steps.hpp"
#include "physics/hermite.hpp"
#include "time/show_rules.hpp"

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
    : device(on), tick_length(std::ldexp(step_max, -deepest_level)) {}

template <class Real>
void HermiteState<Real>::take(const Particles& particles, double time) {
  const std::int64_t n = particles.size();
  id = Buffer<std::uint64_t>(device, particles.id);
  species = Buffer<std::uint8_t>(device, particles.species);
  mass = Buffer<Real>(device, std::vector<Real>(particles.mass.begin(), particles.mass.end()));
  x = VectorBuffer<Real>(device, particles.x, particles.y, particles.z);
  v = VectorBuffer<Real>(device, particles.vx, particles.vy, particles.vz);
  a = VectorBuffer<Real>(device, n);
  j = VectorBuffer<Real>(device, n);
  for (auto* array : {&a.x, &a.y, &a.z, &j.x, &j.y, &j.z}) array->zero();
  tick = Buffer<std::int64_t>(device, n);
  tick.zero();
  level = Buffer<std::int8_t>(device, n);
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
  double gm = 0;
  for (const Real m : mass.to_host()) gm += gravitational_constant * static_cast<double>(m);
  std::vector<std::int8_t> levels(static_cast<std::size_t>(count()));
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    if (!is_finite(new_a.at(i)) || !is_finite(new_j.at(i))) fail(place, StepFault::force_not_finite, start_time);
    const double wanted =
        physics::starting_step<double>(options.eta_start, new_a.at(i), new_j.at(i), static_cast<double>(phi[i]), gm);
    const int chosen = physics::first_level(wanted, options.step_max, 0);
    if (chosen > deepest_level) fail(place, StepFault::step_too_short, start_time);
    levels[i] = static_cast<std::int8_t>(chosen);
  }
  a = VectorBuffer<Real>(device, new_a.x, new_a.y, new_a.z);
  j = VectorBuffer<Real>(device, new_j.x, new_j.y, new_j.z);
  level = Buffer<std::int8_t>(device, levels);
}

template <class Real>
Sources<Real> HermiteState<Real>::sources() const {
  Sources<Real> s;
  s.count = count();
  s.x = x.x.data(), s.y = x.y.data(), s.z = x.z.data();
  s.vx = v.x.data(), s.vy = v.y.data(), s.vz = v.z.data();
  s.mass = mass.data();
  s.species = species.data();
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
std::unique_ptr<ShownParticles> HermiteState<Real>::show(double at) const {
  const StateArrays<Real> arrays{x.x.data(), x.y.data(),  x.z.data(),     v.x.data(), v.y.data(),
                                 v.z.data(), mass.data(), species.data(), id.data(),  nullptr};
  const ShowHermite<Real> rule{a.x.data(), a.y.data(),  a.z.data(),      j.x.data(),  j.y.data(),
                               j.z.data(), tick.data(), at - start_time, tick_length, offset};
  return std::make_unique<ShownState<Real, ShowHermite<Real>>>(device, count(), arrays, rule);
}

template <class Real>
StateBlocks HermiteState<Real>::save() const {
  StateBlocks blocks;
  blocks.put_value("count", count());
  blocks.put("id", id.to_host());
  blocks.put("species", species.to_host());
  blocks.put("mass", mass.to_host());
  x.save(blocks, "position");
  v.save(blocks, "velocity");
  a.save(blocks, "acceleration");
  j.save(blocks, "jerk");
  blocks.put("tick", tick.to_host());
  blocks.put("level", level.to_host());
  blocks.put_value("now", now);
  blocks.put_value("offset", offset);
  blocks.put_value("start_time", start_time);
  blocks.put_value("counts", counts);
  return blocks;
}

template <class Real>
void HermiteState<Real>::restore(const StateBlocks& blocks) {
  const auto n = static_cast<std::size_t>(blocks.get_value<std::int64_t>("count"));
  id = Buffer<std::uint64_t>(device, blocks.get<std::uint64_t>("id", n));
  species = Buffer<std::uint8_t>(device, blocks.get<std::uint8_t>("species", n));
  mass = Buffer<Real>(device, blocks.get<Real>("mass", n));
  x.restore(blocks, "position", device, n);
  v.restore(blocks, "velocity", device, n);
  a.restore(blocks, "acceleration", device, n);
  j.restore(blocks, "jerk", device, n);
  tick = Buffer<std::int64_t>(device, blocks.get<std::int64_t>("tick", n));
  level = Buffer<std::int8_t>(device, blocks.get<std::int8_t>("level", n));
  now = blocks.get_value<std::int64_t>("now");
  offset = blocks.get_value<double>("offset");
  start_time = blocks.get_value<double>("start_time");
  counts = blocks.get_value<StepCounts>("counts");
}

template <class Real>
void HermiteState<Real>::fail(std::int64_t i, StepFault fault, double at) const {
  ParticleState state;
  state.id = id_at(i);
  state.mass = value_at(mass, i, device);
  state.position = x.fetch(i, device), state.velocity = v.fetch(i, device);
  state.acceleration = a.fetch(i, device), state.jerk = j.fetch(i, device);
  state.time = time_of(value_at(tick, i, device));
  throw ParticleFailure(step_fault_text(fault), at, state);
}

template <class Real>
std::int64_t HermiteState<Real>::bytes_per_particle() {
  return static_cast<std::int64_t>(sizeof(std::uint64_t) + sizeof(std::uint8_t) + sizeof(Real) + 4 * 3 * sizeof(Real) +
                                   sizeof(std::int64_t) + sizeof(std::int8_t));
}

template struct HermiteState<float>;
template struct HermiteState<double>;

}  // namespace pergola
