#include "run/run.hpp"
#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "config/config.hpp"
#include "gravity/solver_entry.hpp"
#include "io/checkpoint_reader.hpp"
#include "outputs/checkpoint_output.hpp"
#include "outputs/output.hpp"
#include "run/rank_report.hpp"
#include "run/resume.hpp"
#include "run/run_directory.hpp"
#include "run/run_record.hpp"
#include "run/watcher.hpp"
#include "run/work_curve.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <optional>
#include <thread>

#include <fmt/core.h>

namespace pergola {

namespace {

constexpr std::chrono::milliseconds between_looks_of_a_held_run{5};

/// The check of the force error, if the run has measured it and the solver keeps an accuracy.
std::vector<Check> force_checks(const RunConfig& config, double force_error) {
  const TreeOptions& tree = config.gravity.tree;
  if (force_error == 0 || !solver_entry(config.gravity.solver).keeps_accuracy ||
      tree.opening != TreeOptions::Opening::relative)
    return {};
  return {{"force_error", force_error, 0, tree.accuracy, force_error <= tree.accuracy}};
}

/// The report card of a system at its end, into `results`, with the force error of the latest audit. It may take a
/// while (halos of a universe): the log announces each part that does, and a signal ends the checks before the next
/// one. False: interrupted; a resumed run goes on from the last checkpoint. Collective.
bool fill_report_card(System& system, const RunConfig& config, const RunOptions& options, RunResults& results) {
  try {
    results.checks = system.checks(results.start, *results.end, [&options](const std::string& part) {
      if (options.interrupted && options.interrupted())
        throw Error(ErrorKind::interrupted, fmt::format("interrupted before the report card's {}", part));
      options.log.info(fmt::format("report card: {}", part));
    });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
    return false;
  }
  const auto forces = force_checks(config, results.force_error);
  results.checks.insert(results.checks.end(), forces.begin(), forces.end());
  return true;
}

/// The unit that times of a run are shown in; none in an expanding universe, whose time is the scale factor.
ShownTimeUnit time_unit_of(const System& system, double end) {
  const SampleLook look = system.sample_look();
  if (!look.time_unit.empty()) return {look.time_unit, 1};
  return has_universe(look.header) ? ShownTimeUnit{} : shown_time_unit(look.header, end);
}

/// One call of run_system(): a system, its outputs and their directory. All ranks take the same decisions.
class Run {
 public:
  Run(const RunConfig& config, const RunOptions& options, std::shared_ptr<Communicator> communicator)
      : config_(config),
        options_(options),
        counted_(communicator->size() > 1 ? std::make_shared<CountedCommunicator>(communicator) : nullptr),
        communicator_(counted_ ? counted_ : std::move(communicator)),
        context_{.config = config_,
                 .communicator = communicator_,
                 .directory = options.directory,
                 .log = options.log,
                 .wall_seconds = [this] { return wall_seconds(); },
                 .memory = [this] { return memory(); }},
        watch_(options, *communicator_, config.output.checkpoint_every_minutes, context_.longest_write_seconds) {}

  RunSummary run();

 private:
  bool finished_before(RunSummary& summary);
  void begin();
  void begin_fresh();
  void begin_resumed(const std::filesystem::path& path);
  void make_system_from(StateInput* state);
  void make_outputs();
  void begin_steps();
  RunStatus loop();
  bool pause();
  Pause look() { return watch_.look(system_->step_time(), system_->counts().steps); }
  bool act_on(Pause pause);
  void note_commands();
  void show_to_watcher();
  bool write_due(const Moment& now, bool by_steps);
  void write_at_pause();
  void hash_state(std::string& hash);
  OutputMemory memory() const;
  bool finish();
  std::string write_record(const std::string& status, const std::optional<RankTimes>& ranks = {},
                           const std::optional<MostMemory>& memory = {});
  void fail(const std::exception& error);
  void report_progress();
  void notice(const std::string& text) const {
    if (options_.notice) options_.notice(text);
  }
  void log_remarks();
  std::string shown_time(double time) const {
    const std::string& name = time_unit_.name;
    return fmt::format("{:.12g}{}{}", time * time_unit_.factor, name.empty() ? "" : " ", name);
  }
  double wall_seconds() const { return wall_before_ + seconds_since(session_begin_); }
  Moment now(double time) const { return {*system_, time, system_->counts().steps}; }

  RunConfig config_;
  const RunOptions& options_;
  std::shared_ptr<CountedCommunicator> counted_;  // null with one rank
  std::shared_ptr<Communicator> communicator_;
  std::optional<RunDirectory> directory_;    // rank 0 only
  std::atomic<bool> first_written_ = false;  // a fresh run that fails before leaves nothing behind
  OutputContext context_;
  std::unique_ptr<System> system_;
  std::vector<std::unique_ptr<Output>> outputs_;
  PauseWatch watch_;
  Pause pause_ = Pause::none;
  std::int64_t every_steps_ = 0;  // steps pause after multiples of it, for outputs; 0: for none
  bool fresh_ = false;            // this session began the run
  bool watched_ = false;          // on rank 0
  std::string forked_from_;       // of a branch, on rank 0

  ShownTimeUnit time_unit_;  // of progress and messages
  WorkCurve pace_;           // of this session's steps
  Clock::time_point session_begin_ = Clock::now(), last_progress_ = session_begin_;
  Clock::time_point steps_begin_ = session_begin_;  // later by the time for which the run was held
  double wall_before_ = 0;                          // of the sessions before this one
  double session_time_ = 0;                         // when this session's steps began
  StepCounts session_counts_;                       // the work that had been done then
  Profile profile_before_;                          // of the sessions before
};

RunSummary Run::run() {
  RunSummary summary;
  require_agreement(*communicator_, configuration_facts(config_));
  on_root(*communicator_, [&] {
    directory_.emplace(options_.directory, options_.overwrite ? RunDirectory::Use::overwrite
                                           : options_.resume  ? RunDirectory::Use::resume
                                                              : RunDirectory::Use::fresh);
  });
  if (finished_before(summary)) return summary;
  try {
    begin();
    summary.status = loop();
    if (summary.status == RunStatus::finished && !finish()) summary.status = RunStatus::interrupted;
    if (counted_)
      summary.ranks = find_rank_times(*counted_, profile_before_, system_->profile(), seconds_since(session_begin_));
    on_root(*communicator_, [&] { context_.queue->drain(); });
    if (summary.status == RunStatus::finished) hash_state(context_.results.final_state);
    const MostMemory memory = find_most_memory(*communicator_);
    on_root(*communicator_, [&] {
      write_text(directory_->profile_csv(), profile_text(system_->profile(), summary.ranks));
      summary.json =
          write_record(summary.status == RunStatus::finished ? "finished" : "interrupted", summary.ranks, memory);
    });
  } catch (const std::exception& error) {
    fail(error);
    if (directory_ && directory_->gone())
      throw Error(ErrorKind::system, fmt::format("{}: the directory was moved or removed while the run was using it",
                                                 options_.directory.string()));
    throw;
  }
  const RunResults& results = context_.results;
  summary.energy_error = results.energy_error.value_or(0);
  summary.checks = results.checks;
  summary.counts = system_->counts();
  summary.wall_seconds = wall_seconds();
  summary.snapshots = results.snapshots;
  return summary;
}

/// Whether the run is complete and long enough; then nothing is changed.
bool Run::finished_before(RunSummary& summary) {
  bool complete = false;
  if (options_.resume)
    on_root(*communicator_, [&] {
      const auto finished = read_finished_run(directory_->run_json());
      complete = finished && finished->end_time >= config_.run.end_time;
      if (!complete) return;
      if (finished->config) {
        keep_choices(config_, *finished->config);
        check_resumable(config_, *finished->config);
      }
      summary = finished->summary;
    });
  summary.status = RunStatus::finished_before;
  return share_value(*communicator_, complete);
}

/// Rank 0 looks for the checkpoint, and all ranks then begin from the same one.
void Run::begin() {
  std::string path;  // of the checkpoint to go on from; empty: none
  if (options_.resume) {
    on_root(*communicator_, [&] {
      if (const auto found =
              checkpoint_to_resume(directory_->checkpoints(), [&](const std::string& text) { notice(text); }))
        path = std::filesystem::absolute(*found).string();  // ranks may work in other directories
    });
    share(*communicator_, path);
  }
  if (path.empty())
    begin_fresh();
  else
    begin_resumed(path);
  begin_steps();
}

/// Makes the system, or reads it from `state` if that is not null. May take minutes, in which no signal is seen.
void Run::make_system_from(StateInput* state) {
  // Undoes what the run has done if the caller ends the process while particles are made.
  struct Making {
    const Run& run;
    explicit Making(const Run& of) : run(of) {
      if (run.options_.making)
        run.options_.making([this] {
          if (run.directory_) run.directory_->abandon();
        });
    }
    ~Making() {
      if (run.options_.making) run.options_.making(nullptr);
    }
  } making(*this);
  system_ = make_system(config_, communicator_, state);
  if (counted_) system_->profile().set_waiting([this] { return counted_->traffic().seconds; });
}

/// Earlier outputs are removed or moved only after the system could be made: a wrong configuration costs nothing.
void Run::begin_fresh() {
  make_system_from(nullptr);
  check_output_counts(config_, system_->start_time());
  on_root(*communicator_, [&] {
    if (options_.resume)
      notice(keep_all(*directory_));
    else
      directory_->clear();
    fresh_ = true;
  });
  hash_state(context_.results.initial_state);
  make_outputs();
  for (const auto& output : outputs_) output->begin(*system_);
  on_root(*communicator_, [&] {
    write_record("running");
    // The queue writes in order: this is done once all first outputs are on disk.
    context_.queue->push(0, [this] { first_written_ = true; });
  });
}

/// Every rank reads its part of the checkpoint itself.
void Run::begin_resumed(const std::filesystem::path& path) {
  std::optional<CheckpointReader> checkpoint;
  on_all(*communicator_, [&] { checkpoint.emplace(path); });
  const RunPosition before = read_description(checkpoint->description());
  std::string branch;  // the configuration of a branch; its first checkpoint is still that of the run it came from
  on_root(*communicator_, [&] {
    auto record = read_branch(directory_->run_json());
    forked_from_ = std::move(record.forked_from), branch = std::move(record.configuration);
  });
  share(*communicator_, branch);
  const RunConfig as_before =
      branch.empty() ? before.config : parse_config(branch, (options_.directory / "run.json").string());
  keep_choices(config_, as_before);
  check_resumable(config_, as_before);
  make_system_from(&*checkpoint);
  checkpoint.reset();
  const double time = system_->step_time(), start = system_->start_time();
  const double rounding = 1e-12 * (time - start);
  if (config_.run.end_time < time - rounding)
    throw Error(ErrorKind::input,
                fmt::format("{}: run.end_time: expected at least the time of the checkpoint, {}, found {}",
                            config_.source, to_text(time), to_text(config_.run.end_time)));
  check_output_counts(config_, start);
  context_.before = before.config;
  context_.results.start = before.start;
  context_.results.initial_state = before.initial_state;
  if (directory_) context_.results.control = read_control(directory_->run_json());
  wall_before_ = before.wall_seconds;
  for (const auto& stage : before.profile.stages()) system_->profile().add(stage.name, stage.seconds, stage.calls);
  profile_before_ = before.profile;
  on_root(*communicator_, [&] {
    directory_->remove_temporaries();
    if (directory_->gather_tables())
      notice(fmt::format("{}: tables that an earlier version of pergola wrote beside the snapshots are now in {}",
                         directory_->path().string(), directory_->tables().string()));
    if (const auto text = keep_shorter_end(*directory_, {context_, *system_, before.outputs}, config_.run.end_time);
        !text.empty())
      options_.log.info(text);
  });
  make_outputs();
  for (const auto& output : outputs_) output->resume(*system_, before.outputs);
  on_root(*communicator_, [&] {
    write_record("running");
    if (const auto now = computed_on(system_->device()); !before.computed_on.empty() && before.computed_on != now)
      notice(
          fmt::format("{}: computed on {} so far, goes on on {}: from here on not with the bits of a run that stays "
                      "where it was",
                      options_.directory.string(), before.computed_on, now));
    time_unit_ = time_unit_of(*system_, config_.run.end_time);
    options_.log.info(fmt::format("resumed at time {}", shown_time(time)));
  });
}

/// Outputs exist on all ranks, because measuring is collective; the queue of writes is rank 0's.
void Run::make_outputs() {
  if (communicator_->is_root()) context_.queue.reset(new WriteQueue(most_bytes_waiting(communicator_->size())));
  for (const auto& entry : output_entries())
    if (entry.make)
      if (auto output = entry.make(context_)) outputs_.push_back(std::move(output));
}

/// The greatest common divisor of all outputs' step counts is where steps pause for them.
void Run::begin_steps() {
  for (const auto& output : outputs_) every_steps_ = std::gcd(every_steps_, output->every_steps());
  system_->pause_every(every_steps_);
  time_unit_ = time_unit_of(*system_, config_.run.end_time);
  log_remarks();
  if (const auto text = find_shared_gpus(system_->device(), *communicator_); !text.empty()) options_.log.warning(text);
  session_time_ = system_->time();
  session_counts_ = system_->counts();
  steps_begin_ = Clock::now();
  watched_ = share_value(*communicator_, options_.watcher != nullptr);
  show_to_watcher();
}

/// Steps and outputs up to the last whole step before the end.
RunStatus Run::loop() {
  const double end = config_.run.end_time;
  while (true) {
    double due = end;
    for (const auto& output : outputs_) due = std::min(due, output->next_time());
    if (system_->advance(due, [this] { return pause(); })) {
      // A system that has outputs only at its steps may have no step from here to the end, or only the end.
      const double time = system_->time(), length = end - system_->start_time(), shown = std::max(due, time);
      if (due >= end || time >= end - 1e-12 * length || time < due - 1e-9 * length) return RunStatus::finished;
      // Many outputs may lie within one step. If none was due (a line of energies waits for its step), do not look: a
      // session that ended here would have done nothing.
      pause_ = write_due(now(shown), false) ? look() : Pause::none;
    } else {
      write_due(now(system_->time()), true);
    }
    if (act_on(pause_)) return RunStatus::interrupted;
  }
}

/// Whether the steps pause after this one.
bool Run::pause() {
  report_progress();
  if (communicator_->size() == 1) context_.queue->check();
  const Moment step = now(system_->step_time());
  pause_ = watch_.after_step(step.time, step.steps);
  return pause_ != Pause::none || watch_.pace() != Pace::on ||
         std::any_of(outputs_.begin(), outputs_.end(),
                     [&](const auto& output) { return output->every_steps() > 0 && output->due(step); });
}

/// Returns when the run is not held (any more); true: the run ends here. Steps take no time while it is held.
bool Run::act_on(Pause pause) {
  std::optional<Clock::time_point> held;
  while (true) {
    note_commands();
    if (pause == Pause::show)
      show_to_watcher();
    else if (pause != Pause::none)
      write_at_pause();
    if (pause == Pause::interrupt) return true;
    if (watch_.pace() != Pace::held) break;
    if (!held) held = Clock::now();
    if (communicator_->is_root()) std::this_thread::sleep_for(between_looks_of_a_held_run);
    pause = look();
  }
  if (held) steps_begin_ += Clock::now() - *held;
  system_->pause_every(watch_.pace() == Pace::one_step ? 1 : every_steps_);
  return false;
}

/// On rank 0: the watcher's commands go to run.json at once.
void Run::note_commands() {
  const auto commands = watch_.take_commands();
  for (const std::string& command : commands) {
    context_.results.control.push_back({command, system_->step_time(), system_->counts().steps});
    options_.log.info(fmt::format("told to {} at time {}", command, shown_time(system_->step_time())));
  }
  try {
    if (!commands.empty()) write_record("running");
  } catch (const Error& error) {
    options_.log.warning(error.what());  // an output that fails ends the run, a record does not
  }
}

void Run::show_to_watcher() {
  if (!watched_) return;
  Profile::Scope scope(&system_->profile(), "view");
  system_->on_root([&] { options_.watcher->show(*system_); });
}

/// Whether any output was due.
bool Run::write_due(const Moment& now, bool by_steps) {
  bool any = false;
  if (!by_steps) log_remarks();
  for (const auto& output : outputs_)
    if (!output->at_pauses() && (output->every_steps() > 0) == by_steps && output->due(now)) {
      output->write(now);
      any = true;
    }
  return any;
}

/// The last steps. The checkpoint before them holds the state as it would be in a longer run. False: interrupted; a
/// resumed run begins at that checkpoint.
bool Run::finish() {
  write_at_pause();
  system_->finish();
  for (const auto& output : outputs_) output->finish(*system_);
  report_progress();
  show_to_watcher();
  return fill_report_card(*system_, config_, options_, context_.results);
}

void Run::write_at_pause() {
  const Moment moment = now(system_->time());
  for (const auto& output : outputs_)
    if (output->at_pauses() && output->due(moment)) output->write(moment);
  if (communicator_->is_root()) watch_.took_checkpoint();
}

/// Collective. Its time appears in the profile.
void Run::hash_state(std::string& hash) {
  Profile::Scope scope(&system_->profile(), "state hash");
  hash = system_->state_hash();
}

/// What outputs have to remember in a checkpoint: their next times and numbers.
OutputMemory Run::memory() const {
  OutputMemory all;
  for (const auto& output : outputs_) output->save(all);
  return all;
}

/// Rewrites run.json as a whole, and returns its text.
std::string Run::write_record(const std::string& status, const std::optional<RankTimes>& ranks,
                              const std::optional<MostMemory>& memory) {
  const RunRecord record{status, wall_seconds(), communicator_->size(), ranks, memory, forked_from_};
  const std::string text = record_text(config_, *system_, context_.results, record);
  write_text(directory_->run_json(), text);
  return text;
}

/// Records why the run ended. A fresh run that fails before its first outputs leaves nothing behind; what earlier
/// sessions have written stays.
void Run::fail(const std::exception& error) {
  if (!directory_ || !system_) return;
  try {
    if (context_.queue) context_.queue->drain();
  } catch (const std::exception&) {
    // The first error is reported, not this one.
  }
  try {
    if (fresh_ && !first_written_) return directory_->clear();
    const auto* known = dynamic_cast<const Error*>(&error);
    if (known && known->kind() == ErrorKind::input) return;
    if (!known || known->kind() == ErrorKind::numerics)
      write_text(directory_->failure_json(), failure_text(error, *system_));
    write_record("failed");
  } catch (const Error&) {
    // Perhaps the disk is full. The first error is reported, not this one.
  }
}

void Run::log_remarks() {
  for (const auto& remark : system_->remarks()) options_.log.say(remark);
}

/// At most ten times a second. The time left follows from how the wall time grew in the last half of this session.
void Run::report_progress() {
  const RunResults& results = context_.results;
  if (!communicator_->is_root() || !options_.progress) return;
  if (!results.end && seconds_since(last_progress_) < 0.1) return;
  last_progress_ = Clock::now();
  const double start = system_->start_time(), end = config_.run.end_time;
  RunProgress progress;
  progress.start_time = start, progress.end_time = end, progress.time = results.end ? end : system_->step_time();
  progress.time_unit = time_unit_;
  progress.energy_error = results.energy_error, progress.force_error = results.force_error;
  progress.wall_seconds = wall_seconds(), progress.counts = system_->counts();
  progress.fraction = config_.length_between(start, progress.time) / config_.length_between(start, end);
  const double elapsed = seconds_since(steps_begin_), covered = config_.length_between(session_time_, progress.time);
  if (covered > pace_.length()) pace_.add({.time = covered, .seconds = elapsed});
  const double in_all = pace_.at(covered + config_.length_between(progress.time, end)).seconds;
  progress.seconds_left = covered > 0 ? std::max(0.0, in_all - elapsed) : std::numeric_limits<double>::infinity();
  const auto rate = [&](std::int64_t now, std::int64_t before) {
    return static_cast<double>(now - before) / std::max(elapsed, 1e-9);
  };
  progress.interactions_per_second = rate(progress.counts.interactions, session_counts_.interactions);
  progress.particle_steps_per_second = rate(progress.counts.particle_steps, session_counts_.particle_steps);
  options_.progress(progress);
}

}  // namespace

RunSummary run_system(const RunConfig& config, const RunOptions& options, std::shared_ptr<Communicator> communicator) {
  return Run(config, options, std::move(communicator)).run();
}

}  // namespace pergola
