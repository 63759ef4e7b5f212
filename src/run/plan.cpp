#include "run/plan.hpp"
#include "run/process_memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.hpp"
#include "device/opening.hpp"
#include "gravity/solver_entry.hpp"
#include "models/model_source.hpp"
#include "outputs/output.hpp"
#include "outputs/radii_output.hpp"
#include "run/plan_parts.hpp"
#include "run/plan_sample.hpp"
#include "sim/gravity_system.hpp"
#include "sim/open_particles.hpp"
#include "time/integrator_entry.hpp"

namespace pergola {

namespace {

/// The first look, which says how large the trial may be.
constexpr std::int64_t probe_particles = 2048;
/// A trial has its particles made and their first forces within the first of these; a larger one that could take more
/// than the second is not tried.
constexpr double longest_start_seconds = 1.5, most_start_seconds = 4;
constexpr std::int64_t fewest_pilot_particles = 128, most_pilot_particles = 4096;
/// Meshes up to so many cells a side are tried as they are.
constexpr int most_side_cpu = 192, most_side_gpu = 512;
constexpr std::int64_t most_mesh_particles_cpu = 1 << 21, most_mesh_particles_gpu = 1 << 24;
constexpr int fewest_side = 16;

/// In the periodic box that comes with the particles, where the configuration leaves it open.
RunConfig with_stated_box(RunConfig config, double side) {
  if (side > 0 && !box_of(config.gravity).given())
    if (const Box box = find_solver_box(config, Particles(), side); box.periodic()) set_box(config.gravity, box);
  return config;
}

/// How steps of a trial and of the run compare.
struct Scale {
  double particles = 1;  // of the run to those of the trial
  double cells = 1;
};

/// One plan of a run under gravity with a trial.
class GravityTrial {
 public:
  GravityTrial(RunPlan& plan, const RunConfig& config, const Device& device, const Count& count,
               const PlanOptions& options)
      : plan_(plan),
        config_(config),
        device_(device),
        count_(count),
        options_(options),
        solver_(solver_entry(config.gravity.solver)),
        integrator_(integrator_entry(config.time.integrator)),
        length_(std::max(0.0, config.length_between(count.start_time, config.run.end_time))) {}

  void make();

 private:
  void begins(const std::string& part) const {
    if (options_.begins) options_.begins("a trial: " + part);
  }
  double left() const { return longest_trial_seconds - seconds_since(begin_); }
  bool steps_vary() const { return integrator_.in_blocks(config_.time) || config_.time.adaptive; }
  bool pairs() const { return solver_.cost == StepCost::pairs; }
  bool fits(std::int64_t n) const {
    const double free = trial_memory * plan_.host_free_bytes, device_free = trial_memory * plan_.device_free_bytes;
    const double device = device_bytes_of(trial_config_, device_, n), host = host_bytes_of(config_, device_, n);
    return device_.is_cuda() ? device <= device_free && host <= free : device + host <= free;
  }
  std::int64_t choose_size();
  std::int64_t shrink_mesh();
  std::unique_ptr<System> make_trial(std::int64_t n, Cost& start);
  Cost bring_up(std::int64_t n);
  void try_pilot(double whole_seconds);
  void take_remarks(const std::vector<Remark>& remarks);
  void foretell();
  void say_what_was_done();
  PartCosts scaled_costs() const;

  RunPlan& plan_;
  const RunConfig& config_;
  const Device& device_;
  const Count count_;
  const PlanOptions& options_;
  const SolverEntry& solver_;
  const IntegratorEntry& integrator_;
  const double length_;
  const Clock::time_point begin_ = Clock::now();

  RunConfig trial_config_;
  std::int64_t n_ = 0;  // of the trial
  Scale scale_;
  Cost bring_up_, start_;
  TrialSteps steps_;
  TrialOutputs outputs_;
  std::optional<TrialSteps> pilot_;
  std::int64_t pilot_n_ = 0;
};

std::unique_ptr<System> GravityTrial::make_trial(std::int64_t n, Cost& start) {
  const CostClock clock;
  std::unique_ptr<System> system;
  RunConfig config = trial_config_;
  if (n == count_.n || thin_models(config, n)) {
    system = make_system(config, serial_communicator());
  } else {
    const Sample sample = thinned(config, n, device_.threads());
    system = std::make_unique<GravitySystem>(config, sample.particles, sample.time);
  }
  start = clock.passed();
  return system;
}

/// A mesh that is too large for a trial, or has too many particles, is made smaller, with as many particles per cell.
/// Returns how many there are.
std::int64_t GravityTrial::shrink_mesh() {
  const std::int64_t most = device_.is_cuda() ? most_mesh_particles_gpu : most_mesh_particles_cpu;
  std::int64_t n = std::min(count_.n, most);
  double most_fewer = 1;
  solver_.trial(config_.gravity, fewest_side, most_fewer);
  if (most_fewer == 1) return n;  // small, or chosen by the number of particles
  for (int side = device_.is_cuda() ? most_side_gpu : most_side_cpu; side >= fewest_side; side /= 2) {
    double fewer = 1;
    const SolverOptions smaller = solver_.trial(config_.gravity, side, fewer);
    if (fewer > 1) {
      trial_config_.gravity = smaller, scale_.cells = fewer;
      n = std::min<std::int64_t>(most, std::llround(static_cast<double>(count_.n) / fewer));
    }
    if (fewer * static_cast<double>(most) >= static_cast<double>(count_.n) && fits(n)) break;
  }
  return std::max<std::int64_t>(n, 1);
}

/// The first forces of all also bring the device up, which says nothing about more particles. Returns what those take
/// that come after them.
Cost GravityTrial::bring_up(std::int64_t n) {
  Cost first, start;
  make_trial(n, first);
  make_trial(n, start);
  bring_up_ = {std::max(0.0, first.wall - start.wall), std::max(0.0, first.processor - start.processor)};
  return start;
}

/// As many particles as memory and time allow.
std::int64_t GravityTrial::choose_size() {
  std::int64_t n = count_.n;
  if (solver_.cost == StepCost::cells) {
    n = shrink_mesh();
    if (n < count_.n && device_.is_cuda()) bring_up(n);
  } else if (n > probe_particles) {
    std::int64_t probe = probe_particles;
    Cost start = bring_up(probe);
    constexpr std::int64_t more = 8;
    const double longest = pairs() ? more * more : more;  // that eight times as many can take, over what these took
    // At first that is what is expected, but of a GPU, where few particles take the time of many; then twice what was
    // seen.
    double expected = device_.is_cuda() ? 1 : 2 * longest;
    while (more * probe < n && fits(more * probe) && expected * start.wall < longest_start_seconds &&
           longest * start.wall < most_start_seconds) {
      const double before = start.wall;
      make_trial(probe *= more, start);
      expected = std::min(2 * longest, 2 * std::max(1.0, start.wall / std::max(before, 1e-6)));
    }
    const double room = std::max(1.0, longest_start_seconds / std::max(start.wall, 1e-6));
    const double most = static_cast<double>(probe) * std::pow(room, pairs() ? 0.5 : 1.0);
    if (most < static_cast<double>(n)) n = static_cast<std::int64_t>(most);
  }
  while (n > probe_particles && !fits(n)) n /= 2;
  return n;
}

/// A thinned sample, small enough to come to the end in its time.
void GravityTrial::try_pilot(double whole_seconds) {
  constexpr double margin = 4;  // for what the clustering adds
  const double room = std::min(longest_pilot_seconds, left() - 0.5);
  const double share = std::min(1.0, room / (margin * std::max(whole_seconds, 1e-9)));
  const double n = static_cast<double>(n_) * std::pow(share, pairs() ? 1 / 2.2 : 1.0);
  pilot_n_ = std::clamp(static_cast<std::int64_t>(n), std::min(fewest_pilot_particles, n_),
                        std::min(most_pilot_particles, n_));
  if (room <= 0 || pilot_n_ < 2) return;
  begins(fmt::format("a thinned sample of {} particles", pilot_n_));
  RunConfig config = trial_config_;
  const Sample sample = thinned(config, pilot_n_, device_.threads());
  GravitySystem pilot(config, sample.particles, sample.time);
  pilot_n_ = pilot.size();
  pilot_ = try_steps(pilot, config, room);
}

void GravityTrial::foretell() {
  const auto n = static_cast<double>(n_), all = static_cast<double>(count_.n);
  const WorkGrowth growth{integrator_.growth.particle_steps, integrator_.growth.steps};
  WorkPoint work = steps_.complete ? WorkPoint{length_, static_cast<double>(steps_.counts.steps),
                                               static_cast<double>(steps_.counts.particle_steps) / n}
                   : pilot_
                       ? foretell_work(steps_.curve, n, pilot_->curve, static_cast<double>(pilot_n_), growth, length_)
                       : steps_.curve.at(length_);
  if (const double step = integrator_.step_of(config_.time); step > 0)
    work.steps = work.particle_steps = std::ceil(length_ / step * (1 - 1e-12));
  work.steps *= std::pow(all / n, growth.steps);
  work.particle_steps *= std::pow(all / n, growth.particle_steps);
  plan_.steps = std::ceil(work.steps);
  plan_.particle_steps = work.particle_steps * all;
}

/// The parts of the run from those of the trial.
PartCosts GravityTrial::scaled_costs() const {
  const double more = scale_.particles, squared = more * more;
  const bool cells = solver_.cost == StepCost::cells;
  const StepFit::Parts fit = steps_.fit.parts();
  // Of a sum over pairs a particle's step grows with the others; of a tree all are looked at in every step.
  double seconds = pairs() ? plan_.steps * fit.per_step + plan_.particle_steps * more * fit.per_particle_step
                           : plan_.steps * fit.per_step * more + plan_.particle_steps * fit.per_particle_step;
  if (cells) seconds *= std::max(1.0, scale_.cells / more);
  if (pilot_ && !pairs())
    seconds *= cost_growth(pilot_->curve, pilot_->fit.parts(), static_cast<double>(pilot_n_), steps_.length, length_);
  const double measured = device_.is_cuda() ? steps_.cost.wall : steps_.cost.processor;
  PartCosts costs;
  costs.steps = (seconds / std::max(measured, 1e-12)) * steps_.cost;
  const double grid = cells ? std::max(more, scale_.cells) : 1;
  costs.start = (pairs() ? squared : cells ? grid : more) * start_;
  costs.start += bring_up_;
  costs.start += Cost{opening_seconds(device_), opening_seconds(device_)};
  const std::int64_t by_pairs = box_of(config_.gravity).periodic() ? 0 : solver_.energy.pairs_up_to;
  costs.energy = (count_.n <= by_pairs ? squared : cells ? grid : more) * outputs_.energy;
  if (count_.n > by_pairs && n_ <= by_pairs && !cells) costs.energy = more * start_;
  const auto sampled = [](std::int64_t n) { return static_cast<double>(std::min(n, most_particles_for_radii)); };
  costs.radii = (sampled(count_.n) / sampled(n_)) * outputs_.radii;
  costs.snapshot = (pairs() ? squared : cells ? grid : more) * outputs_.snapshot;
  if (const std::int64_t most = config_.output.particles_most; most > 0 && most < count_.n)  // without potentials
    costs.snapshot = (static_cast<double>(most) / static_cast<double>(std::min(most, n_))) * outputs_.snapshot;
  costs.checkpoint = more * outputs_.checkpoint;
  costs.audit = more * outputs_.audit;
  return costs;
}

void GravityTrial::say_what_was_done() {
  const bool whole = n_ == count_.n && scale_.cells == 1;
  plan_.tried.push_back(fmt::format("{} of {} particles made, {} steps over {:.3g} of {:.3g} time units in {:.1f} s",
                                    n_ == count_.n ? fmt::format("all") : fmt::format("{}", n_), count_.n,
                                    steps_.counts.steps, steps_.length, length_, steps_.cost.wall));
  if (pilot_)
    plan_.tried.push_back(fmt::format("a thinned sample of {} particles over {:.3g} time units, for how the work grows",
                                      pilot_n_, pilot_->length));
  plan_.tried.push_back(
      outputs_.not_written.empty()
          ? "one line of each log, one snapshot and one checkpoint, written to the folder for temporary files"
          : fmt::format("one line of each log; no file: {}", outputs_.not_written));
  if (scale_.cells > 1)
    plan_.assumed.push_back(
        fmt::format("the time grows with the cells: the mesh was tried with {:.3g} times fewer", scale_.cells));
  if (n_ < count_.n) plan_.assumed.push_back(fmt::format("what {} particles took grows to that of {}", n_, count_.n));
  if (!steps_.complete)
    plan_.assumed.push_back(
        !steps_vary() ? "all steps take as long as those of the trial"
        : pilot_ && pilot_->length > steps_.length
            ? "the work of all particles, and the seconds that it takes, grow in time as those of the sample"
            : "the work goes on as at the end of the trial");
  if (pilot_ && !pilot_->complete)
    plan_.assumed.push_back(fmt::format("from time {:.3g} on the work goes on as just before", pilot_->length));
  plan_.steps_basis = integrator_.step_of(config_.time) > 0 ? "exact: a fixed step"
                      : steps_.complete && whole            ? "measured: the trial reached the end"
                      : pilot_ ? "measured in a trial from the start, and to the end with a thinned sample"
                               : "measured in a trial from the start";
  plan_.rate_basis = fmt::format("measured in a trial on {}", device_.spec());
  set_range(plan_, steps_.complete && whole ? 1.2 : !whole ? 2 : steps_vary() ? 1.5 : 1.3);
}

void GravityTrial::take_remarks(const std::vector<Remark>& remarks) {
  for (const Remark& remark : remarks) {
    if (scale_.cells > 1 && remark.text.starts_with("gravity.mesh.cells")) continue;  // not those of the run
    if (remark.level == LogLevel::warning)
      plan_.warnings.push_back(remark.text);
    else
      plan_.chosen.push_back(n_ == count_.n ? remark.text
                                            : fmt::format("{} (by the trial with {} particles)", remark.text, n_));
  }
}

void GravityTrial::make() {
  trial_config_ = config_;
  begins("how many particles it may have");
  n_ = choose_size();
  begins(fmt::format("{} particles and their first forces", n_));
  auto system = make_trial(n_, start_);
  n_ = system->size();
  scale_.particles = static_cast<double>(count_.n) / static_cast<double>(n_);
  take_remarks(system->remarks());
  const double most = steps_vary() ? longest_steps_seconds : longest_fixed_steps_seconds;
  begins(fmt::format("steps of {} particles", n_));
  steps_ = try_steps(*system, trial_config_, std::clamp(left() - 0.5, 0.1, most));
  plan_.stages = stages_of(steps_);
  begins(fmt::format("one output of each kind, with {} particles", n_));
  outputs_ = try_outputs(*system, config_, left() - 1);
  const double program_and_run = most_resident_bytes();
  system.reset();
  const double covered = steps_.length > 0 ? steps_.length / length_ : 1e-300;
  if (!steps_.complete && steps_vary()) try_pilot(steps_.cost.wall / covered);
  foretell();
  const PartCosts costs = scaled_costs();
  add_parts(plan_, config_, costs, length_);
  say_what_was_done();
  if (n_ == count_.n && scale_.cells == 1 && program_and_run > 0) {
    plan_.host_bytes = device_.is_cuda() ? program_and_run : std::max(0.0, program_and_run - plan_.device_bytes);
    plan_.host_bytes += outputs_.waiting_bytes;  // waits for its turn while a snapshot is written
    plan_.tried.push_back("its memory, measured");
  } else {
    // What the trial took beside its arrays the run takes too: the program, its libraries and threads.
    const double beside = program_and_run - host_bytes_of(config_, device_, n_) -
                          (device_.is_cuda() ? 0 : device_bytes_of(trial_config_, device_, n_));
    plan_.host_bytes = std::max(plan_.host_bytes, host_bytes_of(config_, device_, count_.n) + beside);
    plan_.assumed.push_back("memory from the sizes of all arrays");
  }
  if (!pairs()) return;
  plan_.interactions = plan_.particle_steps * static_cast<double>(count_.n) * config_.time.corrector_iterations;
  plan_.interactions_per_second = plan_.interactions / std::max(costs.steps.wall, 1e-9);
}

}  // namespace

double device_bytes_of(const RunConfig& config, const Device& device, std::int64_t n, int ranks) {
  const auto rank = ranks > 1 ? lone_rank_of(ranks) : serial_communicator();
  const auto integrator = make_integrator(config.time_options(), config.solver_options(), {device, rank, nullptr});
  return static_cast<double>(integrator->device_bytes(integrator->spread() ? (n + ranks - 1) / ranks : n));
}

namespace {

/// Of a particle on the host.
constexpr double host_particle_bytes = sizeof(std::uint64_t) + sizeof(std::uint8_t) + 8 * sizeof(double);

}  // namespace

double waiting_bytes_of(const RunConfig& config, std::int64_t n, int ranks) {
  const std::int64_t most = config.output.particles_most;
  const double written = host_particle_bytes * static_cast<double>(most > 0 ? std::min(n, most) : n);
  return std::min(written, static_cast<double>(most_bytes_waiting(ranks)));
}

double host_bytes_of(const RunConfig& config, const Device& device, std::int64_t n, int ranks) {
  constexpr double each = host_particle_bytes, piece = 1 << 22;
  const auto parts = config.particles.all();
  // Ranks that make a model together have their shares of it.
  const bool in_shares = ranks > 1 && parts.size() == 1 && parts[0].file.empty() &&
                         make_shared_model(parts[0].model, parts[0].options, 1) != nullptr;
  const bool on_device =
      parts.size() == 1 && parts[0].file.empty() && make_model_on(device, parts[0].model, parts[0].options) != nullptr;
  const bool whole =
      !on_device && (box_is_for_all(config.gravity) || std::any_of(parts.begin(), parts.end(), [](const auto& part) {
                       return part.file.empty() && !can_be_made_in_pieces(part.model);
                     }));
  const double all = static_cast<double>(n) * each, own = all / ranks;
  const double waiting = ranks == 1 ? waiting_bytes_of(config, n, 1) : 0;
  // All are looked at when it is over, by ranks each its own.
  const bool graded = config.cosmology && n <= config.output.structure_most;
  if ((graded && ranks == 1) || (whole && !in_shares)) return waiting + all;
  return waiting + (graded || whole ? own : std::min(own, piece * each));
}

double bytes_beyond_share(const RankPlan& rank, const RunPlan& one, double share) {
  const double host = rank.on_gpu ? 0 : rank.host_bytes - share * (one.host_bytes - one.program_bytes);
  return std::max(0.0, rank.device_bytes - share * one.device_bytes + host);
}

namespace {

/// What was found on another machine.
RunPlan plan_from(const MachineRates& rates, std::int64_t n) {
  if (rates.n != n)
    throw Error(ErrorKind::input,
                fmt::format("{}: expected the plan of a run with {} particles, found {}", rates.source, n, rates.n));
  RunPlan plan;
  plan.n = n, plan.device = rates.device, plan.device_name = rates.device_name;
  plan.device_bytes = rates.device_bytes, plan.device_free_bytes = rates.device_free_bytes;
  plan.host_bytes = rates.host_bytes, plan.host_free_bytes = rates.host_free_bytes;
  plan.program_bytes = rates.program_bytes;
  plan.steps = rates.steps, plan.particle_steps = rates.steps * static_cast<double>(n);
  plan.seconds = rates.steps * rates.step_seconds;
  plan.parts = {{"steps", rates.steps, plan.seconds, 0}};
  plan.stages = rates.stages;
  plan.steps_basis = plan.rate_basis = fmt::format("given: {}", rates.source);
  plan.tried.push_back(fmt::format("nothing here: seconds and memory of one process are those of {}", rates.source));
  set_range(plan, 1);
  return plan;
}

}  // namespace

RunPlan plan_gravity(const RunConfig& given, const PlanOptions& options) {
  given.check();
  given.require_particles();
  const Count count = count_particles(given);
  const RunConfig config = with_stated_box(given, count.box_side);
  const auto add_ranks = [&](RunPlan& plan) {
    std::map<std::int64_t, DryRun> of_one_rank;
    for (const int ranks : options.ranks) {
      if (options.begins) options.begins(fmt::format("what {} ranks send", ranks));
      plan.ranks.push_back(plan_gravity_ranks(config, plan, options, ranks, of_one_rank));
    }
    plan.universe = universe_resolution(config, count.n, count.start_time);
    plan.fits = plan.device.starts_with("cuda")
                    ? plan.device_bytes <= plan.device_free_bytes && plan.host_bytes <= plan.host_free_bytes
                    : plan.device_bytes + plan.host_bytes <= plan.host_free_bytes;
  };
  if (options.rates) {
    RunPlan plan = plan_from(*options.rates, count.n);
    add_ranks(plan);
    return plan;
  }
  const Device device = Device::open(config.run.device, config.run.threads);
  RunPlan plan;
  plan.n = count.n;
  plan.device = device.spec();
  plan.device_name = device.name();
  plan.device_bytes = device_bytes_of(config, device, count.n);
  plan.program_bytes = resident_bytes();
  plan.host_bytes = host_bytes_of(config, device, count.n) + plan.program_bytes;
  plan.device_free_bytes = static_cast<double>(device.memory().free_bytes());
  plan.host_free_bytes = static_cast<double>(Device::open("cpu").memory().free_bytes());
  if (options.trial)
    GravityTrial(plan, config, device, count, options).make();
  else
    guess_gravity(plan, config, device, std::max(0.0, config.length_between(count.start_time, config.run.end_time)));
  add_ranks(plan);
  return plan;
}

}  // namespace pergola
