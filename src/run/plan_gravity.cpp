#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "device/device.hpp"
#include "gravity/solver_entry.hpp"
#include "io/snapshot.hpp"
#include "models/model_source.hpp"
#include "outputs/output.hpp"
#include "run/plan_parts.hpp"
#include "run/rank_report.hpp"
#include "sim/gravity_start.hpp"
#include "sim/gravity_system.hpp"
#include "sim/hard_pairs.hpp"
#include "sim/open_particles.hpp"
#include "time/integrator_entry.hpp"

// The plan of a run under gravity. GravityTrial measures a run of the same kind that is small enough for a few seconds;
// guess_gravity() uses typical rates instead. Laws by which costs grow with the number of particles n:
// sums over pairs as n² for all particles, trees as n, meshes as the larger of particles and cells.
// The number of steps grows by the powers that the integrator's entry states (StepGrowth).
// Units: times in those of the configuration, costs in seconds.
namespace pergola {

namespace {

/// What a configuration names, known without its particles.
struct Count {
  std::int64_t n = 0;
  double start_time = 0;
  double box_side = 0;  // as the file or the model states it; 0: none
};

Count count_part(const RunConfig::ParticlesPart& part) {
  if (part.file.empty()) {
    const auto start = model_cosmology(part.model, part.options);
    return {model_count(find_model(part.model), part.options.n), start ? start->scale_factor : 0,
            model_box_side(part.model, part.options)};
  }
  const auto summary = inspect_snapshot(part.file);
  Count count{0, summary.header.time, summary.header.box_size};
  for (const std::int64_t species : summary.counts) count.n += species;
  return count;
}

/// Only headers of files are read, and no model is made.
Count count_particles(const RunConfig& config) {
  if (config.particles.parts.empty()) return count_part(config.particles);
  Count count;  // two systems on an orbit begin at time 0
  for (const auto& part : config.particles.parts) count.n += count_part(part).n;
  return count;
}

/// Makes the models of a configuration smaller, about n particles in all; false, and nothing is changed, if there is a
/// file. The box of a universe becomes smaller too, so that particles are as far from each other as the run's, and
/// cluster as these do.
bool thin_models(RunConfig& config, std::int64_t n) {
  const auto parts = config.particles.all();
  if (!std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part.file.empty(); })) return false;
  const double all = static_cast<double>(count_particles(config).n);
  for (auto& part : config.particles.all()) {  // each with its share of n
    const ModelInfo& model = find_model(part.model);
    if (!model.any_n) continue;
    const double share = static_cast<double>(model_count(model, part.options.n)) / all;
    const auto fewer = static_cast<std::int64_t>(std::llround(static_cast<double>(n) * share));
    const auto side = static_cast<std::int64_t>(std::cbrt(static_cast<double>(fewer)) + 1e-9);
    const double before = static_cast<double>(model_count(model, part.options.n));
    part.options.n = std::max(model.cube ? side * side * side : fewer, model.min_n);
    const double factor = std::cbrt(static_cast<double>(part.options.n) / before);
    if (!config.cosmology || !scale_model_box(part.model, part.options, factor)) continue;
    if (Box box = box_of(config.gravity); box.periodic() && box.given()) {
      box.side = factor * box.side;
      set_box(config.gravity, box);
    }
  }
  return true;
}

/// Particles for a pilot, and the time at which they start.
struct Sample {
  Particles particles;
  double time = 0;
};

/// About n of the particles that a configuration names, with all of their mass. Models are made smaller, in `config`
/// too; of a file every stride-th particle is taken.
Sample thinned(RunConfig& config, std::int64_t n, int threads) {
  const bool thin = thin_models(config, n);
  StartingPoint begin = open_particles(config, threads);
  ParticleSource& all = *begin.particles;
  Sample sample{{}, begin.time};
  if (thin) {
    all.read(0, all.count(), sample.particles);
    return sample;
  }
  const std::int64_t stride = std::max<std::int64_t>(1, (all.count() + n - 1) / n), piece = std::int64_t{1} << 16;
  constexpr std::int64_t dense = 1024;  // beyond this stride single reads are cheaper than reading pieces
  Particles part, one;
  for (std::int64_t at = 0; at < all.count(); at += stride) {
    if (stride > dense || at / piece != (at - stride) / piece || at == 0) {
      const std::int64_t first = stride > dense ? at : at / piece * piece;
      all.read(first, std::min(stride > dense ? 1 : piece, all.count() - first), part);
    }
    const auto k = static_cast<std::size_t>(stride > dense ? 0 : at % piece);
    one.resize(1);
    one.id[0] = part.id[k], one.species[0] = part.species[k];
    one.mass[0] = part.mass[k] * static_cast<double>(stride);
    one.x[0] = part.x[k], one.y[0] = part.y[k], one.z[0] = part.z[k];
    one.vx[0] = part.vx[k], one.vy[0] = part.vy[k], one.vz[0] = part.vz[k];
    sample.particles.append(one);
  }
  return sample;
}

/// What the solver chooses itself for n particles; empty: nothing, or only with the particles.
std::string choice_of(const RunConfig& config, std::int64_t n) {
  const auto choice = solver_entry(config.gravity.solver).choice;
  return choice ? choice(config.solver_options(), n) : "";
}

/// Bytes of the integrator and its solver for n particles, with what energies take beside them.
double device_bytes_of(const RunConfig& config, const Device& device, std::int64_t n) {
  const SolverOptions gravity = config.solver_options();
  const auto integrator = make_integrator(config.time_options(), gravity, {device, serial_communicator(), nullptr});
  return static_cast<double>(device_need(*integrator, gravity, device, n).all());
}

/// Bytes of particles on the host, each with id, species and eight reals: a piece on its way to the device, and what
/// waits to be written. All particles count if a box is found from the whole, or if the model is made neither in pieces
/// nor on the device.
double host_bytes_of(const RunConfig& config, const Device& device, std::int64_t n) {
  constexpr double each = sizeof(std::uint64_t) + sizeof(std::uint8_t) + 8 * sizeof(double), piece = 1 << 22;
  const double all = static_cast<double>(n) * each;
  const std::int64_t most = config.output.particles_most;
  const double written = each * static_cast<double>(most > 0 ? std::min(n, most) : n);
  const double waiting = std::min(written, static_cast<double>(most_bytes_waiting()));
  const auto parts = config.particles.all();
  const bool on_device =
      parts.size() == 1 && parts[0].file.empty() && make_model_on(device, parts[0].model, parts[0].options) != nullptr;
  const bool whole =
      !on_device && (box_is_for_all(config.gravity) || std::any_of(parts.begin(), parts.end(), [](const auto& part) {
                       return part.file.empty() && !can_be_made_in_pieces(part.model);
                     }));
  // The structure at the end of a universe is measured with all particles.
  const bool graded = config.cosmology && n <= config.output.structure_most;
  return waiting + (graded || whole ? all : std::min(all, piece * each));
}

/// Particles of the first trial; its cost says how large the next one may be.
constexpr std::int64_t probe_particles = 2048;
/// A trial makes its particles and their first forces within longest_start_seconds. A larger trial is not made if its
/// start could take more than most_start_seconds.
constexpr double longest_start_seconds = 1.5, most_start_seconds = 4;
constexpr std::int64_t fewest_pilot_particles = 128, most_pilot_particles = 4096;
/// Of a universe whose sample works on the CPU beside a GPU: they reach the end in some 3 s, with 9 of 10 of the steps
/// of 24³ at the same distances.
constexpr std::int64_t most_beside_gpu = 12 * 12 * 12;
/// A sample of a universe is a smaller box, without the long waves that make the run cluster more. Powers by which the
/// particle steps of a particle and the steps after the trial grow with the run's particles over the sample's. Measured
/// from z = 126 to 0 with distances of 0.25 Mpc/h: 12³, 24³, 48³, 96³ and 192³ particles take 403, 460, 523, 587 and
/// 646 particle steps each, in 1078, 1474, 2183, 3398 and 3965 steps.
constexpr double long_waves_particle_steps = 0.07, long_waves_steps = 0.17;
/// Meshes with at most this number of cells a side are tried unchanged.
constexpr int most_side_cpu = 192, most_side_gpu = 512;
constexpr std::int64_t most_mesh_particles_cpu = 1 << 21, most_mesh_particles_gpu = 1 << 24;
constexpr int fewest_side = 16;

/// The configuration with the periodic box that comes with the particles, if it states none itself.
RunConfig with_stated_box(RunConfig config, double side) {
  if (side > 0 && !box_of(config.gravity).given())
    if (const Box box = find_solver_box(config, Particles(), side); box.periodic()) set_box(config.gravity, box);
  return config;
}

/// Particles and cells of the run over those of the trial.
struct Scale {
  double particles = 1;
  double cells = 1;
};

/// Plans a run under gravity with a trial, in four steps: (1) the number of particles that time and memory allow,
/// (2) steps of a trial with these, and one output of each kind, (3) if the number of steps changes while particles
/// cluster and the trial did not reach the end: steps of a thinned sample (the pilot) to the end, (4) the run's steps
/// and seconds, scaled from both.
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
  /// Announces the part of the trial that begins now.
  void begins(const std::string& part) const {
    if (options_.begins) options_.begins("a trial: " + part);
  }
  /// Seconds left of those that all parts of the trial may take.
  double left() const { return longest_trial_seconds - seconds_since(begin_); }
  /// Whether steps get shorter as particles cluster; then a pilot is worth its time.
  bool steps_vary() const { return integrator_.in_blocks(config_.time) || config_.time.adaptive; }
  bool pairs() const { return solver_.cost == StepCost::pairs; }
  /// Whether a trial with n particles keeps within its part of the free memory, on the device and on the host.
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
  void shrink_pilot(RunConfig& config);
  void take_remarks(const std::vector<Remark>& remarks);
  void foretell();
  void say_what_was_done();
  StepFit::Parts fit_of_steps() const;
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
  std::int64_t n_ = 0;  // particles of the trial
  Scale scale_;
  // bring_up_: to start the device, once; start_: to make the trial's particles and their first forces.
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

/// Makes a mesh smaller that is too large for a trial or has too many particles, with as many particles per cell.
/// Returns the number of particles.
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

/// The first forces also start the device, which does not grow with the particles: they are computed twice, and the
/// difference is `bring_up_`. Returns the cost of the second time.
Cost GravityTrial::bring_up(std::int64_t n) {
  Cost first, start;
  make_trial(n, first);
  make_trial(n, start);
  bring_up_ = {std::max(0.0, first.wall - start.wall), std::max(0.0, first.processor - start.processor)};
  return start;
}

/// The largest number of particles that memory and time allow.
std::int64_t GravityTrial::choose_size() {
  std::int64_t n = count_.n;
  if (solver_.cost == StepCost::cells) {
    n = shrink_mesh();
    if (n < count_.n && device_.is_cuda()) bring_up(n);
  } else if (n > probe_particles) {
    std::int64_t probe = probe_particles;
    Cost start = bring_up(probe);
    constexpr std::int64_t more = 8;
    const double longest = pairs() ? more * more : more;  // the most that the next start can take, over this one
    // What the next start is expected to take, over this one: at first twice the most (on a GPU the same, for few
    // particles take the time of many), then twice the growth from the start before.
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

/// Steps of a thinned sample, small enough to come to the end of the run in its time.
void GravityTrial::try_pilot(double whole_seconds) {
  constexpr double margin = 4;  // for what the clustering adds
  const double room = std::min(longest_pilot_seconds, left() - 0.5);
  // The time of a sum over pairs is taken to grow as n^2.2: more pairs in a step, and more steps.
  const double share = std::min(1.0, room / (margin * std::max(whole_seconds, 1e-9)));
  const double n = static_cast<double>(n_) * std::pow(share, pairs() ? 1 / 2.2 : 1.0);
  const std::int64_t most = config_.cosmology && device_.is_cuda() ? most_beside_gpu : most_pilot_particles;
  pilot_n_ = std::clamp(static_cast<std::int64_t>(n), std::min(fewest_pilot_particles, n_), std::min(most, n_));
  if (room <= 0 || pilot_n_ < 2) return;
  begins(fmt::format("a thinned sample of {} particles", pilot_n_));
  RunConfig config = trial_config_;
  // So few particles of a universe take the time of a GPU's launches, and then say nothing of how work grows.
  if (config.cosmology) config.run.device = "cpu";
  shrink_pilot(config);
  try {
    const Sample sample = thinned(config, pilot_n_, device_.threads());
    GravitySystem pilot(config, sample.particles, sample.time);
    pilot_n_ = pilot.size();
    pilot_ = try_steps(pilot, config, room);
  } catch (const Error& error) {
    // The run itself was begun: a box may be too small for the lengths of several species.
    if (error.kind() != ErrorKind::input) throw;
  }
}

/// A mesh of a given number of cells is made smaller with the box of a universe, and the pilot has as many particles as
/// are in that.
void GravityTrial::shrink_pilot(RunConfig& config) {
  if (!config.cosmology || solver_.cost != StepCost::cells) return;
  for (int side = device_.is_cuda() ? most_side_gpu : most_side_cpu; side >= fewest_side; side /= 2) {
    double fewer = 1;
    const SolverOptions smaller = solver_.trial(trial_config_.gravity, side, fewer);
    if (fewer == 1) continue;
    config.gravity = smaller;
    if (const auto n = static_cast<std::int64_t>(std::llround(static_cast<double>(n_) / fewer)); n <= pilot_n_) {
      pilot_n_ = n;
      return;
    }
  }
}

/// The run's steps. A fixed step is exact. Else the trial's count if it reached the end, or trial and pilot together,
/// or the trial continued; then scaled from the trial's number of particles to the run's.
void GravityTrial::foretell() {
  const auto n = static_cast<double>(n_), all = static_cast<double>(count_.n);
  const StepGrowth& growth = integrator_.growth;
  const double more = config_.cosmology && pilot_ ? all / static_cast<double>(pilot_n_) : 1;
  WorkPoint work = steps_.complete ? WorkPoint{length_, static_cast<double>(steps_.counts.steps),
                                               static_cast<double>(steps_.counts.particle_steps) / n}
                   : pilot_
                       ? foretell_work(steps_.curve, n, pilot_->curve, static_cast<double>(pilot_n_), growth, length_,
                                       std::pow(more, long_waves_particle_steps), std::pow(more, long_waves_steps))
                       : steps_.curve.at(length_);
  if (const double step = integrator_.step_of(config_.time); step > 0)
    work.steps = work.particle_steps = std::ceil(length_ / step * (1 - 1e-12));
  work.steps *= std::pow(all / n, growth.steps);
  work.particle_steps *= std::pow(all / n, growth.particle_steps);
  plan_.steps = std::ceil(work.steps);
  plan_.particle_steps = work.particle_steps * all;
}

/// Steps that are all of one size, as at the start of a universe, do not say what a step takes whatever its size. The
/// pilot's do, as a part of what a step of all particles takes.
StepFit::Parts GravityTrial::fit_of_steps() const {
  constexpr double most_part = 0.2;
  StepFit::Parts fit = steps_.fit.parts();
  if (fit.per_step > 0 || !pilot_ || pairs()) return fit;
  const StepFit::Parts few = pilot_->fit.parts();
  const double all = few.per_particle_step * static_cast<double>(pilot_n_);
  const double part = all > 0 ? std::min(few.per_step / all, most_part) : 0;
  fit.per_particle_step /= 1 + part;
  fit.per_step = part * static_cast<double>(n_) * fit.per_particle_step;
  return fit;
}

/// The costs of the run, from those of the trial.
PartCosts GravityTrial::scaled_costs() const {
  const double more = scale_.particles, squared = more * more;
  const bool cells = solver_.cost == StepCost::cells;
  const StepFit::Parts fit = fit_of_steps();
  // With a sum over pairs a particle's step takes longer with more particles. With a tree every step looks at all
  // particles.
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

/// Sentences for the user: what was tried, what is assumed, and how far the seconds can be trusted. The factor of the
/// range is 1.2 if the whole run was tried. It is 1.3 to 1.5 for all particles over a part of the time, else 2.
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

/// Warnings of the trial, and what it chose itself. A choice for a smaller mesh says nothing about the run, and what
/// the solver chooses by the number of particles is that of the run.
void GravityTrial::take_remarks(const std::vector<Remark>& remarks) {
  const std::string choice = choice_of(config_, count_.n);
  for (const Remark& remark : remarks) {
    if (scale_.cells > 1 && remark.text.starts_with("gravity.mesh.cells")) continue;  // of the smaller mesh
    if (is_pair_remark(remark)) continue;  // of the sample; add_pairs() has those of all particles
    if (remark.level == LogLevel::warning)
      plan_.warnings.push_back(remark.text);
    else if (!choice.empty() && remark.text.starts_with(config_.gravity.solver + ": "))
      plan_.chosen.push_back(choice);
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
    plan_.host_bytes += outputs_.waiting_bytes;
    plan_.tried.push_back("its memory, measured");
  } else {
    // Beside its arrays the run takes what the trial took: the program, its libraries and threads.
    const double beside = program_and_run - host_bytes_of(config_, device_, n_) -
                          (device_.is_cuda() ? 0 : device_bytes_of(trial_config_, device_, n_));
    plan_.host_bytes = std::max(plan_.host_bytes, host_bytes_of(config_, device_, count_.n) + beside);
    plan_.assumed.push_back("memory from the sizes of all arrays");
  }
  if (!pairs()) return;
  // Evaluations of a particle step: one, and three in close pairs.
  const auto tried = static_cast<double>(steps_.counts.particle_steps) * static_cast<double>(n_);
  const double evaluations = tried > 0 ? static_cast<double>(steps_.counts.interactions) / tried : 1;
  plan_.interactions = plan_.particle_steps * static_cast<double>(count_.n) * evaluations;
  plan_.interactions_per_second = plan_.interactions / std::max(costs.steps.wall, 1e-9);
}

/// Steps of a typical run per unit of its time, with η = 0.02 and this number of particles: those of a particle, block
/// steps, and shared steps.
struct TypicalSteps {
  double particle_steps, block_steps, shared_steps, n;
  StepGrowth growth;
  const char* of;
};
constexpr double typical_eta = 0.02;
/// Of a universe from z = 49 to 0, with distances of 0.25 Mpc/h: 365 particle steps and 1068 block steps by treepm, 633
/// steps by mesh. With distances of 1 Mpc/h they are 0.8 of that.
TypicalSteps typical_steps(const RunConfig& config, const IntegratorEntry& integrator) {
  if (config.cosmology)
    return {93, 273, 162, 4096, {long_waves_particle_steps, long_waves_steps}, "a universe of 16^3 particles"};
  return {165, 2900, 165, 1024, integrator.growth, "a Plummer model in N-body units"};
}

/// Typical rates per second of one core and of a GPU: pairs, particles of a tree or a mesh.
constexpr double pairs_core = 1e9, pairs_gpu = 5e11, targets_core = 5e5, targets_gpu = 2e8, mesh_core = 5e6,
                 mesh_gpu = 1e9;
constexpr double radii_seconds = 2e-6;  // a particle's share of a line of radii
/// The range of a guess: from a tenth of the seconds to ten times.
constexpr double guess_factor = 10;

/// The steps of the integrator if they are fixed, else those of a typical run. Returns those of a particle.
double guess_steps(RunPlan& plan, const RunConfig& config, double length) {
  const IntegratorEntry& integrator = integrator_entry(config.time.integrator);
  const auto n = static_cast<double>(plan.n);
  double per_particle = 0;
  if (const double step = integrator.step_of(config.time); step > 0) {
    plan.steps_basis = "exact: a fixed step";
    plan.steps = per_particle = std::ceil(length / step * (1 - 1e-12));
  } else {
    const TypicalSteps typical = typical_steps(config, integrator);
    plan.steps_basis = fmt::format("assumed: as in {}", typical.of);
    const double more = n / typical.n, units = std::sqrt(typical_eta / config.time.eta) * length;
    const bool blocks = integrator.in_blocks(config.time);
    per_particle = (blocks ? typical.particle_steps : typical.shared_steps) * units *
                   std::pow(more, typical.growth.particle_steps);
    plan.steps = std::ceil(blocks ? typical.block_steps * units * std::pow(more, typical.growth.steps) : per_particle);
    plan.assumed.push_back(fmt::format("steps as those of {}", typical.of));
  }
  plan.particle_steps = per_particle * n;
  return per_particle;
}

/// A run without a trial, at typical rates.
void guess_gravity(RunPlan& plan, const RunConfig& config, const Device& device, double length) {
  const auto n = static_cast<double>(plan.n), cores = static_cast<double>(device.threads());
  const double per_particle = guess_steps(plan, config, length);
  const StepCost cost = solver_entry(config.gravity.solver).cost;
  const bool gpu = device.is_cuda(), pairs = cost == StepCost::pairs;
  const double rate = pairs                       ? (gpu ? pairs_gpu : pairs_core * cores)
                      : cost == StepCost::targets ? (gpu ? targets_gpu : targets_core * cores)
                                                  : (gpu ? mesh_gpu : mesh_core * cores);
  const double evaluation = (pairs ? n * n : n) / rate;
  const auto seconds = [&](double wall) { return Cost{wall, gpu ? wall : wall * cores}; };
  PartCosts costs;
  costs.start = seconds(2 * evaluation);
  costs.steps = seconds(per_particle * evaluation);
  costs.energy = seconds(evaluation);
  if (radii_interval(config) && !box_of(config.gravity).periodic() && !config.cosmology) {
    const double line = radii_seconds * std::min(n, static_cast<double>(most_particles_for_radii));
    costs.radii = {line, line};
  }
  const Cost file{file_bytes_each * n / file_rate, file_bytes_each * n / file_rate};
  costs.checkpoint = file;
  if (const auto most = static_cast<double>(config.output.particles_most); most > 0 && most < n) {
    costs.snapshot = (most / n) * file;
  } else {
    costs.snapshot = seconds(evaluation);
    costs.snapshot += file;
  }
  plan.rate_basis = fmt::format("assumed: {:.0e} {} a second", rate, pairs ? "pairs" : "particle steps");
  plan.assumed.push_back(fmt::format("{:.0e} {} and {:.0e} bytes of files a second, typical numbers; no trial was made",
                                     rate, pairs ? "pairs" : "particle steps", file_rate));
  add_parts(plan, config, costs, length);
  set_range(plan, guess_factor);
  if (!pairs) return;
  plan.interactions = plan.particle_steps * n * config.time.corrector_iterations;
  plan.interactions_per_second = rate;
}

/// What the run will say of the hard pairs at its start.
void add_pairs(RunPlan& plan, const RunConfig& config, const Device& device) {
  const StartingPoint begin = open_particles(config, device.threads());
  Particles particles;
  begin.particles->read(0, begin.particles->count(), particles);
  if (std::string text = softened_pairs_remark(config, particles); !text.empty()) plan.warnings.push_back(text);
  if (!watches_pairs(config, plan.n)) return;
  for (const Remark& remark : hard_pair_remarks(config, begin.time, find_hard_pairs(config, particles)))
    (remark.level == LogLevel::warning ? plan.warnings : plan.chosen).push_back(remark.text);
}

}  // namespace

RunPlan plan_gravity(const RunConfig& given, const PlanOptions& options) {
  given.check();
  given.require_particles();
  const Count count = count_particles(given);
  const RunConfig config = with_stated_box(given, count.box_side);
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
  if (options.trial) {
    GravityTrial(plan, config, device, count, options).make();
  } else {
    if (std::string choice = choice_of(config, count.n); !choice.empty()) plan.chosen.push_back(choice);
    guess_gravity(plan, config, device, std::max(0.0, config.length_between(count.start_time, config.run.end_time)));
  }
  if (looks_at_pairs(config, count.n)) add_pairs(plan, config, device);
  plan.universe = universe_resolution(config, count.n, count.start_time);
  plan.fits = device.is_cuda() ? plan.device_bytes <= plan.device_free_bytes && plan.host_bytes <= plan.host_free_bytes
                               : plan.device_bytes + plan.host_bytes <= plan.host_free_bytes;
  return plan;
}

}  // namespace pergola
