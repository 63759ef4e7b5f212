// GravitySystem: how it is made from a configuration, particles or a saved state; its steps; its state for readers.
//
// Times: the run's time is the time, or the scale factor a; the integrator's is the time, or ln a (inner(), outer()).
// Order: the box is found first, then solver and integrator are made in it, then particles are read, on each rank its
// own range if the integrator is distributed.
#include "sim/gravity_system.hpp"
#include "analysis/energy.hpp"
#include "analysis/shown_potential.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "comm/shares.hpp"
#include "config/config.hpp"
#include "gravity/solver_entry.hpp"
#include "particles/particle_source.hpp"
#include "particles/sample.hpp"
#include "particles/shown_particles.hpp"
#include "physics/block_steps.hpp"
#include "sim/gravity_start.hpp"
#include "sim/open_particles.hpp"
#include "sim/spread_view.hpp"
#include "sim/system.hpp"
#include "sim/system_entry.hpp"
#include "time/integrator_entry.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace pergola {

/// What the system consists of. It stays in one place in memory when the system is moved.
struct GravitySystem::Parts {
  Parts(const RunConfig& config_used, std::shared_ptr<Communicator> ranks)
      : config(checked(config_used)),
        communicator(std::move(ranks)),
        device(open_rank_device(config, *communicator)),
        gravity(config.solver_options()) {}

  /// The box is known: the parts that live in it can be made.
  void make(const Box& box) {
    set_box(gravity, box);
    gravity.external = config.gravity.external;
    if (config.cosmology && !box_of(gravity).periodic()) gravity.external.push_back(homogeneous_background(config));
    integrator = make_integrator(config.time_options(), gravity, {device, communicator, &profile});
  }

  /// Times of the integrator, which are ln a in an expanding universe, and those of the run.
  double inner(double at) const { return config.cosmology ? std::log(at) : at; }
  double outer(double at) const { return config.cosmology ? std::exp(at) : at; }
  /// A limit that was the time of a step is not before it.
  double inner_limit(double at) const { return config.cosmology ? std::log(at) + 1e-13 : at; }

  bool in_box() const { return solver_entry(gravity.solver).box != nullptr; }

  /// Calls use(solver) with the integrator's own where it lends it, else with one for this use.
  template <class Use>
  auto with_solver(const Use& use) const {
    if (AnySolver* idle = idle_solver()) return use(*idle);
    const auto solver = make_solver(gravity_at(time), device);
    return use(*solver);
  }

  /// With the softening lengths of a scale factor, where they change.
  SolverOptions gravity_at(double scale_factor) const {
    SolverOptions now = gravity;
    if (config.cosmology) now.softening = gravity.softening.at(scale_factor);
    return now;
  }
  /// The integrator's, with the softening of the run's time.
  AnySolver* idle_solver() const {
    AnySolver* const idle = integrator->idle_solver();
    if (idle && config.cosmology && gravity.softening.changes() && !idle->info().smooths)
      idle->set_softening(gravity_at(time).softening);
    return idle;
  }

  /// Refuses particles that do not fit on the device, before they are read; with what measuring energies takes.
  void check_memory() const {
    const std::int64_t n = shares().count(communicator->rank());
    const DeviceNeed need = device_need(*integrator, gravity, device, n);
    const auto needed = static_cast<double>(need.steps);
    const auto free = static_cast<double>(device.memory().free_bytes());
    if (needed > free)
      throw Error(ErrorKind::device, fmt::format("{}: {} particles need {}, {} is free", device.spec(), n,
                                                 bytes_text(needed), bytes_text(free)));
    const auto measured = static_cast<double>(need.energies);
    if (needed + measured > free)
      throw Error(ErrorKind::device,
                  fmt::format("{}: {} particles need {}, and {} more when energies are measured, {} "
                              "is free",
                              device.spec(), n, bytes_text(needed), bytes_text(measured), bytes_text(free)));
  }

  /// A box that is found from the particles takes a look at all of them.
  Box find_box(ParticleSource& particles, double box_side) const {
    return in_box() ? find_solver_box(config, particles, box_side) : box_of(gravity);
  }

  Shares shares() const { return {size, communicator->size()}; }
  bool alone() const { return communicator->size() == 1; }

  /// The particles at time(), of all ranks.
  std::unique_ptr<ShownParticles> shown() const {
    if (view) return view->shown();
    require_all_here();
    return integrator->show(inner(time));
  }
  /// Those that this rank keeps; outside on_root(), for what all ranks do.
  std::unique_ptr<ShownParticles> own_shown() const {
    if (view)
      throw Error(ErrorKind::input,
                  "particles: expected a call of all ranks, found one within GravitySystem::on_root()");
    return integrator->show(inner(time));
  }
  void require_all_here() const {
    if (!alone())
      throw Error(ErrorKind::input,
                  "particles: expected a call within GravitySystem::on_root(), for each rank keeps its own, found one "
                  "outside");
  }

  /// Checks everything that depends on particles and configuration together, then begins.
  void start(ParticleSource& particles, double at, double box_side) {
    make(find_box(particles, box_side));
    if (config.cosmology) check_universe(config, gravity, particles, at, box_side);
    if (config.run.end_time <= at)
      throw Error(ErrorKind::input,
                  fmt::format("{}: run.end_time: expected more than the time of the particles, {}, found {}",
                              config.source, to_text(at), to_text(config.run.end_time)));
    // Block times are counted in 64 bits: 2^22 of the longest steps, with 2^40 ticks each.
    const double longest = std::ldexp(config.time.step_max, 62 - physics::deepest_level);
    const bool blocks = integrator_entry(config.time.integrator).in_blocks(config.time);
    if (blocks && config.length_between(at, config.run.end_time) >= longest)
      throw Error(ErrorKind::input, fmt::format("{}: run.end_time: expected less than 2^22 steps of time.step_max, {}, "
                                                "after the start, found {}; raise time.step_max",
                                                config.source, to_text(longest), to_text(config.run.end_time)));
    check_step(at);
    said_at_start = {crowded_mesh_remark(gravity, particles)};
    const StartLook look = look_at_start(config, gravity, particles);
    size = particles.count();
    with_file_in_errors(config, [&] { begin(particles, at); });
    said_at_start.push_back(start_remark(look, shortest_step(), config.length_between(at, config.run.end_time)));
  }
  /// As far as the configuration says it.
  void check_step(double at) const {
    const IntegratorEntry& entry = integrator_entry(config.time.integrator);
    const bool adaptive = config.time.adaptive && !entry.in_blocks(config.time);
    check_shared_step(config, at, adaptive ? "time.step_max" : "time.step",
                      adaptive ? config.time.step_max : entry.step_of(config.time));
  }
  /// Of the next steps; 0: not known.
  double shortest_step() const {
    double shortest = integrator_entry(config.time.integrator).step_of(config.time);
    for (const StepClass& one : integrator->step_classes())
      shortest = shortest > 0 ? std::min(shortest, one.length) : one.length;
    return shortest;
  }
  /// Initial conditions may be made on the device itself (DeviceSource).
  void begin(ParticleSource& particles, double at) {
    check_memory();
    if (DeviceSource* const made = particles.device_source(); made && !alone()) {
      Profile::Scope scope(&profile, "initial conditions");
      made->make_shares(communicator);
    }
    Profile::Scope scope(&profile, "start");
    samples.clear();
    start_time = time = at;
    made_on = start_noted(*integrator, particles, inner(at), &profile) ? device.name() : "";
  }

  /// The reverse of save(): the integrator restores itself, the box and times are in blocks of their own.
  void restore(StateInput& state) {
    make(box_is_for_all(gravity) || state.has("box.side") ? get_box(state) : Box{});
    size = state.get_value<std::int64_t>("count");
    check_memory();
    // exp(ln a) may be another a
    start_time = state.get_value<double>(config.cosmology ? "shown_start_time" : "start_time");
    check_step(start_time);
    made_on = get_made_on(state);
    integrator->restore(state);
    time = std::min(outer(integrator->time()), config.run.end_time);
  }

  RunConfig config;
  std::shared_ptr<Communicator> communicator;
  Device device;
  SolverOptions gravity;  // with the box
  Profile profile;
  std::unique_ptr<Integrator> integrator;
  std::int64_t size = 0;
  double start_time = 0, time = 0;
  std::string made_on;                             // the device that has made the particles; empty: none, the host
  std::vector<std::string> said_at_start;          // of particles, mesh and steps that do not fit; may be empty texts
  DistributedView* view = nullptr;                 // while rank 0 reads what the ranks have
  StepCounts counts_before;                        // of the particles before set_particles()
  std::map<std::int64_t, ParticleSample> samples;  // by their size
  SeenCounter counter;
  bool over = false;
};

GravitySystem::GravitySystem(const RunConfig& config, std::shared_ptr<Communicator> communicator)
    : parts_(std::make_unique<Parts>(with_file_units(config), std::move(communicator))) {
  StartingPoint begin;
  {
    Profile::Scope scope(&parts_->profile, "initial conditions");
    const bool several = parts_->communicator->size() > 1;
    begin = open_particles(parts_->config, parts_->device.threads(), !several && box_is_for_all(parts_->gravity),
                           &parts_->device, several);
  }
  parts_->start(*begin.particles, begin.time, begin.box_side);
  begin_report(nullptr);
}

GravitySystem::GravitySystem(const RunConfig& config, const Particles& particles, double time,
                             std::shared_ptr<Communicator> communicator)
    : parts_(std::make_unique<Parts>(config, std::move(communicator))) {
  particles.validate("particles");
  HostParticles source(particles);
  parts_->start(source, time, 0);
  begin_report(nullptr);
}

GravitySystem::GravitySystem(const RunConfig& config, ParticleSource& particles, double time,
                             std::shared_ptr<Communicator> communicator)
    : parts_(std::make_unique<Parts>(config, std::move(communicator))) {
  parts_->start(particles, time, 0);
  begin_report(nullptr);
}

GravitySystem::GravitySystem(const RunConfig& config, StateInput& state, std::shared_ptr<Communicator> communicator)
    : parts_(std::make_unique<Parts>(config, std::move(communicator))) {
  parts_->restore(state);
  begin_report(&state);
}

GravitySystem::GravitySystem(const RunConfig& config, const StateBlocks& state,
                             std::shared_ptr<Communicator> communicator)
    : parts_(std::make_unique<Parts>(config, std::move(communicator))) {
  BlocksInput input(state);
  parts_->restore(input);
  begin_report(&input);
}

GravitySystem::GravitySystem(GravitySystem&&) noexcept = default;
GravitySystem& GravitySystem::operator=(GravitySystem&&) noexcept = default;
GravitySystem::~GravitySystem() = default;

const RunConfig& GravitySystem::config() const { return parts_->config; }
const std::string& GravitySystem::made_on() const { return parts_->made_on; }
const std::vector<std::string>& GravitySystem::said_at_start() const { return parts_->said_at_start; }
const Device& GravitySystem::device() const { return parts_->device; }
const std::shared_ptr<Communicator>& GravitySystem::ranks() const { return parts_->communicator; }
Profile& GravitySystem::profile() { return parts_->profile; }
double GravitySystem::start_time() const { return parts_->start_time; }
double GravitySystem::time() const { return parts_->time; }
std::int64_t GravitySystem::size() const { return parts_->size; }
StepCounts GravitySystem::counts() const {
  StepCounts sum = parts_->integrator->counts();
  const StepCounts& before = parts_->counts_before;
  sum.steps += before.steps;
  sum.particle_steps += before.particle_steps;
  sum.interactions += before.interactions;
  return sum;
}
Box GravitySystem::box() const { return box_of(parts_->gravity); }
std::int64_t GravitySystem::outside() const { return parts_->integrator->outside(); }
std::vector<std::string> GravitySystem::choices() const { return parts_->integrator->choices(); }
std::string GravitySystem::remark() const { return parts_->integrator->remark(); }

// Rank 0 acts while the other ranks answer its reads: of particles, of the state, or of potentials, as `reading` says.
void GravitySystem::on_root(const std::function<void()>& action, Reading reading) const {
  auto& p = *parts_;
  if (p.alone()) return action();
  if (p.view) throw Error(ErrorKind::input, "on_root: expected no call within another one, found one");
  std::unique_ptr<StateSource> state;
  if (reading == Reading::particles) {
    p.integrator->save(*(state = std::make_unique<StateSource>()));
    save_start(*state);
  }
  DistributedView view(*p.communicator, p.shares(), p.integrator->show(p.inner(p.time)), std::move(state));
  if (reading == Reading::potentials) view.find_potentials(*p.idle_solver());
  struct Use {
    DistributedView*& place;
    ~Use() { place = nullptr; }
  } use{p.view};
  p.view = &view;
  view.on_root(action);
}

void GravitySystem::save(StateSource& to) {
  if (parts_->view) {
    parts_->view->save(to);
  } else {
    parts_->require_all_here();
    parts_->integrator->save(to);
    save_start(to);
  }
  if (parts_->in_box()) put_box(to, box_of(parts_->gravity));
  if (parts_->config.cosmology) to.put_value("shown_start_time", parts_->start_time);
  put_made_on(to, parts_->made_on);
  save_report(to);
}

bool GravitySystem::save_own(StateSource& to) {
  if (!is_distributed()) return false;
  parts_->integrator->save(to);
  save_start(to);
  return true;
}

StateBlocks GravitySystem::save() {
  StateSource source;
  save(source);
  return source.blocks();
}

// At run.end_time the integrator takes its last, shortened step; after that the system is over.
void GravitySystem::run_until(double time) {
  auto& p = *parts_;
  const double end = p.config.run.end_time;
  if (!(time >= p.time) || time > end)
    throw Error(ErrorKind::input, fmt::format("run_until: expected a time from {} to run.end_time = {}, found {}",
                                              to_text(p.time), to_text(end), to_text(time)));
  if (p.over) return;
  if (time < end) {
    p.integrator->advance(p.inner_limit(time), nullptr);
  } else {
    p.integrator->finish(p.inner(end));
    p.over = true;
  }
  p.time = time;
}

void GravitySystem::finish() { run_until(parts_->config.run.end_time); }
bool GravitySystem::advance(double limit, const std::function<bool()>& enough) {
  auto& p = *parts_;
  if (p.over) return true;
  limit = std::min(limit, p.config.run.end_time);
  const bool reached = p.integrator->advance(p.inner_limit(limit), enough);
  p.time = reached ? limit : std::min(limit, p.outer(p.integrator->time()));
  return reached;
}

double GravitySystem::step_time() const { return parts_->outer(parts_->integrator->time()); }
std::vector<StepClass> GravitySystem::step_classes() const { return parts_->integrator->step_classes(); }

double GravitySystem::measured_at(double due) const {
  return parts_->outer(parts_->integrator->measured_at(parts_->inner(due)));
}

std::unique_ptr<ShownParticles> GravitySystem::shown() const { return parts_->shown(); }
std::unique_ptr<ShownParticles> GravitySystem::own_shown() const {
  return is_distributed() ? parts_->own_shown() : nullptr;
}
std::unique_ptr<ShownParticles> GravitySystem::shown_here() const { return parts_->own_shown(); }

std::unique_ptr<ParticleSource> GravitySystem::particle_source() const {
  return std::make_unique<ShownSource>(parts_->shown());
}

std::unique_ptr<ParticleSource> GravitySystem::particles_with_potentials() const {
  if (parts_->view) return with_potentials(parts_->view->shown(), parts_->view->potentials());
  return parts_->with_solver([&](AnySolver& solver) { return with_potentials(parts_->own_shown(), solver); });
}

// Starts anew at the present time; counts and the start of the run stay.
void GravitySystem::set_particles(const Particles& particles) {
  auto& p = *parts_;
  if (p.over)
    throw Error(ErrorKind::input, "set_particles: expected a simulation before run.end_time, found one that is over");
  particles.validate("particles");
  HostParticles source(particles);
  const double began = p.start_time;
  const StepCounts before = counts();
  p.start(source, p.time, 0);
  p.start_time = began;
  p.counts_before = before;
  contents_.reset();
  note_start(nullptr);
  note_pairs(nullptr);
}

BorrowedParticles GravitySystem::lend() {
  if (parts_->config.cosmology)
    throw Error(ErrorKind::input, "arrays: expected a space at rest, found [cosmology]; particles() gives copies");
  auto borrowed = parts_->integrator->lend();
  if (!borrowed)
    throw Error(ErrorKind::input,
                fmt::format("arrays: expected an integrator with all particles at one time (time.integrator = "
                            "\"leapfrog\", time.steps = \"shared\"), found {} steps of {}; particles() gives copies",
                            parts_->config.time.steps, parts_->config.time.integrator));
  return *borrowed;
}

void GravitySystem::take_back() { parts_->integrator->take_back(); }
std::shared_ptr<void> GravitySystem::leave_borrowed() { return parts_->integrator->leave_borrowed(); }

Particles GravitySystem::sample(std::int64_t most) {
  const auto shown = parts_->shown();
  return parts_->samples.try_emplace(most, *shown, most).first->second.read(*shown);
}

SampledPoints GravitySystem::sample_points(std::int64_t most) {
  const auto shown = parts_->shown();
  return parts_->samples.try_emplace(most, *shown, most).first->second.points(*shown);
}

SeenDensity GravitySystem::density(const Sight& sight) { return parts_->counter.count(*parts_->shown(), sight); }

// Of the integrator's variables; in an expanding universe converted to peculiar velocities and proper lengths.
Energies GravitySystem::energies() const {
  const auto& p = *parts_;
  const SolverOptions gravity = p.gravity_at(p.time);
  Energies energies = measure_energies(*p.own_shown(), gravity, p.idle_solver(), p.communicator);
  if (!p.config.cosmology) return energies;
  const double a = p.time;
  energies.kinetic *= physics::peculiar_over_file_energy(a);
  energies.potential /= a;
  energies.momentum = physics::momentum_over_file_velocity(a) * energies.momentum;
  energies.angular_momentum = physics::momentum_over_file_velocity(a) * energies.angular_momentum;
  return energies;
}

LargeWaves GravitySystem::find_large_waves() const {
  return large_waves(*parts_->own_shown(), box().side.x, communicator());
}

bool GravitySystem::can_audit() const {
  return solver_entry(parts_->gravity.solver).audit != AuditReference::none && parts_->gravity.user_forces.empty();
}

bool GravitySystem::is_distributed() const { return !parts_->alone(); }
SolverOptions GravitySystem::gravity_of_step() const { return parts_->gravity_at(step_time()); }

// Forces of the last step where the integrator can give them again, else evaluated anew at the present places.
GravitySystem::AuditedForces GravitySystem::audited_forces(const std::vector<std::int64_t>& places) const {
  auto& p = *parts_;
  AuditedForces of;
  of.particles = p.integrator->probe_forces(places, of.forces);
  if (of.particles) return of;
  of.particles = p.integrator->show(p.integrator->time());
  const SolverOptions gravity = gravity_of_step();
  std::unique_ptr<AnySolver> own;
  AnySolver* solver = p.idle_solver();
  if (!solver) own = make_solver(gravity, p.device), solver = own.get();
  if (gravity.softening.changes() && !solver->info().smooths) solver->set_softening(gravity.softening);
  // No places would be all of them: a rank without one asks for its first particle.
  const bool none = places.empty() && of.particles->count() > 0;
  const auto asked = none ? std::vector<std::int64_t>{0} : places;
  of.forces = evaluate_forces(*solver, p.device, fetch(*of.particles), want_acceleration, asked);
  if (none) of.forces = {};
  return of;
}

void GravitySystem::pause_every(std::int64_t steps) { parts_->integrator->pause_every(steps); }

namespace {

/// A picture is named after what it shows.
std::string picture_name(const RunConfig& config) {
  if (config.cosmology) return "universe";
  if (!config.particles.parts.empty()) return "collision";
  return config.particles.file.empty() ? config.particles.model : "particles";
}

std::unique_ptr<System> make_gravity(const RunConfig& config, std::shared_ptr<Communicator> communicator,
                                     StateInput* state) {
  if (state) return std::make_unique<GravitySystem>(config, *state, std::move(communicator));
  return std::make_unique<GravitySystem>(config, std::move(communicator));
}

}  // namespace

SystemEntry gravity_system_entry() {
  return {.kind = "gravity",
          .snapshots = "snap_#.hdf5",
          .picture = picture_name,
          .starts_from_snapshots = true,
          .make = make_gravity};
}

}  // namespace pergola
