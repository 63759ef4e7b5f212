#include "run/run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/core.h>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "config/output_counts.hpp"
#include "io/checkpoint.hpp"
#include "outputs/csv_log.hpp"
#include "outputs/energy_log.hpp"
#include "outputs/schedule.hpp"
#include "run/pause_watch.hpp"
#include "run/run_agreement.hpp"
#include "run/run_checkpoint.hpp"
#include "run/run_directory.hpp"
#include "run/run_record.hpp"
#include "sim/run_system.hpp"

namespace pergola {

bool RunSummary::all_passed() const {
  return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.passed; });
}

namespace {

void write_text(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

/// One call of run_simulation. Files and clocks are rank 0's; all ranks take the same decisions.
class ManagedRun {
 public:
  ManagedRun(const RunConfig& config, const RunOptions& options, std::shared_ptr<Communicator> communicator)
      : config_(config),
        options_(options),
        communicator_(std::move(communicator)),
        watch_(options, *communicator_, config.output.checkpoint_every_minutes) {}

  RunSummary run();

 private:
  bool finished_before(RunSummary& summary);
  void begin();
  void begin_fresh();
  void begin_afresh_instead();
  void begin_resumed(const Checkpoint& checkpoint);
  RunStatus loop();
  void finish();
  bool pause();
  bool act_on(Pause pause);
  void output_until(double time);
  EnergyRow measure();
  Energies log_energy();
  bool audit_due() const;
  void begin_audit(std::int64_t rows);
  void audit_now();
  void write_snapshot_now();
  void write_checkpoint_now();
  std::string write_record(const std::string& status);
  void fail(const std::exception& error);
  void report_progress();
  void notice(const std::string& text) const {
    if (options_.notice) options_.notice(text);
  }
  double wall_seconds() const { return wall_before_ + seconds_since(session_begin_); }
  RunPosition position() const;

  RunConfig config_;
  const RunOptions& options_;
  std::shared_ptr<Communicator> communicator_;
  std::optional<RunDirectory> directory_;  // rank 0 only
  std::unique_ptr<RunSystem> system_;
  EnergyLog energy_log_;
  CsvLog audit_log_;
  bool audits_ = false;
  std::int64_t audit_step_ = -1;  // of the latest line
  double force_error_ = 0;        // its median
  OutputClock energy_clock_, snapshot_clock_;
  Energies start_;
  RunRecord record_;
  double energy_error_ = 0;
  bool in_first_outputs_ = false;  // a fresh run that fails here leaves nothing behind

  Clock::time_point session_begin_ = Clock::now(), last_progress_ = session_begin_;
  double wall_before_ = 0;          // of the sessions before this one
  double session_time_ = 0;         // where this session's steps began
  std::int64_t session_pairs_ = 0;  // and the work that had been done there
  std::int64_t session_particle_steps_ = 0;
  Clock::time_point steps_begin_ = session_begin_;
  PauseWatch watch_;
  Pause pause_ = Pause::none;
};

RunSummary ManagedRun::run() {
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
    if (summary.status == RunStatus::finished) finish();
  } catch (const std::exception& error) {
    fail(error);
    throw;
  }
  on_root(*communicator_, [&] {
    write_text(directory_->profile_csv(), profile_text(system_->profile()));
    summary.json = write_record(summary.status == RunStatus::finished ? "finished" : "interrupted");
  });
  summary.energy_error = record_.end ? relative_energy_error(*record_.end, start_) : energy_error_;
  summary.checks = record_.checks;
  summary.counts = system_->counts();
  summary.wall_seconds = record_.wall_seconds;
  summary.snapshots = record_.snapshots;
  return summary;
}

/// A run that is complete and long enough is left as it is.
bool ManagedRun::finished_before(RunSummary& summary) {
  bool complete = false;
  if (options_.resume)
    on_root(*communicator_, [&] {
      const auto finished = read_finished_run(directory_->run_json());
      complete = finished && finished->end_time >= config_.run.end_time;
      if (complete) summary = finished->summary;
    });
  summary.status = RunStatus::finished_before;
  return share_value(*communicator_, complete);
}

void ManagedRun::begin() {
  std::optional<Checkpoint> checkpoint;
  if (options_.resume) {
    on_root(*communicator_, [&] {
      checkpoint = checkpoint_to_resume(directory_->checkpoints(), [&](const std::string& text) { notice(text); });
    });
    share_checkpoint(*communicator_, checkpoint);
  }
  if (checkpoint)
    begin_resumed(*checkpoint);
  else
    begin_fresh();
  on_root(*communicator_, [&] {
    for (const auto& sentence : system_->remarks()) options_.log.warning(sentence);
  });
  session_time_ = system_->time();
  session_pairs_ = system_->counts().interactions;
  session_particle_steps_ = system_->counts().particle_steps;
  steps_begin_ = Clock::now();
}

void ManagedRun::begin_fresh() {
  system_ = make_run_system(config_, communicator_);
  const double start = system_->start_time();
  check_output_counts(config_, start);
  energy_clock_ = OutputClock(start, config_.output.energy_every, config_.run.end_time);
  snapshot_clock_ = OutputClock(start, config_.output.snapshots_every, config_.run.end_time);
  on_root(*communicator_, [&] {
    if (options_.resume) begin_afresh_instead();
    in_first_outputs_ = true;
    if (!options_.resume) directory_->clear();
    const EnergyRow row = measure();
    start_ = record_.start = row.energies;
    energy_log_ = EnergyLog(directory_->energy_csv(), 0, system_->energy_columns());
    energy_log_.add(start, start_, start_, wall_seconds(), row.more);
    write_snapshot_now();
    write_record("running");
    in_first_outputs_ = false;
  });
  begin_audit(0);
  if (audit_due()) audit_now();
}

/// Asked to resume where no checkpoint was ever written: what is there stays, out of the way.
void ManagedRun::begin_afresh_instead() {
  const auto aside = directory_->set_aside();
  notice(fmt::format("{}: no checkpoint was ever written here, starting afresh{}", options_.directory.string(),
                     aside ? fmt::format("; earlier outputs are in {}", aside->string()) : ""));
}

void ManagedRun::begin_resumed(const Checkpoint& checkpoint) {
  const RunPosition before = read_description(checkpoint.description);
  check_resumable(config_, before.config);
  system_ = make_run_system(config_, communicator_, &checkpoint.blocks);
  const double time = system_->step_time(), start = system_->start_time();
  const double rounding = 1e-12 * (time - start);
  if (config_.run.end_time < time - rounding)
    throw Error(ErrorKind::input,
                fmt::format("{}: run.end_time: expected at least the time of the checkpoint, {}, found {}",
                            config_.source, to_text(time), to_text(config_.run.end_time)));
  check_output_counts(config_, start);
  const auto resume_clock = [&](double every, double every_before, std::int64_t index) {
    OutputClock clock(start, every, config_.run.end_time);
    if (every == every_before)
      clock.set_index(index);
    else
      clock.skip_to(time);
    return clock;
  };
  energy_clock_ = resume_clock(config_.output.energy_every, before.config.output.energy_every, before.energy_index);
  snapshot_clock_ =
      resume_clock(config_.output.snapshots_every, before.config.output.snapshots_every, before.snapshot_index);
  start_ = record_.start = before.start;
  record_.snapshots = before.snapshots;
  energy_error_ = before.energy_error;
  audit_step_ = before.audit_step;
  force_error_ = before.force_error;
  wall_before_ = before.wall_seconds;
  for (const auto& stage : before.profile.stages()) system_->profile().add(stage.name, stage.seconds, stage.calls);
  on_root(*communicator_, [&] {
    energy_log_ = EnergyLog(directory_->energy_csv(), before.energy_rows, system_->energy_columns());
    if (energy_log_.rows() < before.energy_rows)
      options_.log.warning(fmt::format("{}: {} of the {} lines before the checkpoint are missing",
                                       directory_->energy_csv().string(), before.energy_rows - energy_log_.rows(),
                                       before.energy_rows));
    directory_->remove_snapshots_from(before.snapshots);
    write_record("running");
    options_.log.info(fmt::format("resumed at time {}", to_text(time)));
  });
  begin_audit(before.audit_rows);
}

/// Steps and outputs up to the last whole step before the end.
RunStatus ManagedRun::loop() {
  const double end = config_.run.end_time;
  while (true) {
    const double due = std::min({energy_clock_.next(), snapshot_clock_.next(), end});
    if (system_->advance(due, [this] { return pause(); })) {
      // A system that is shown at its steps only may have none from here to the end, or the end itself.
      const double time = system_->time(), length = end - system_->start_time(), shown = std::max(due, time);
      if (due >= end || time >= end - 1e-12 * length || time < due - 1e-9 * length) return RunStatus::finished;
      on_root(*communicator_, [&] { output_until(shown); });
      // The clocks tick on all ranks.
      if (energy_clock_.next() <= shown) energy_clock_.skip_to(shown);
      if (snapshot_clock_.next() <= shown) snapshot_clock_.skip_to(shown);
      pause_ = watch_.look();  // many outputs may lie within one step
    } else if (audit_due()) {
      audit_now();
    }
    if (act_on(pause_)) return RunStatus::interrupted;
  }
}

/// True when the run ends here.
bool ManagedRun::act_on(Pause pause) {
  if (pause != Pause::none) write_checkpoint_now();
  return pause == Pause::interrupt;
}

/// The last steps. The checkpoint before them holds the state as it would be in a longer run.
void ManagedRun::finish() {
  write_checkpoint_now();
  system_->finish();
  on_root(*communicator_, [&] {
    record_.end = log_energy();
    record_.checks = system_->checks(start_, *record_.end);
    system_->write_records(directory_->path());
    write_snapshot_now();
  });
}

bool ManagedRun::pause() {
  report_progress();
  pause_ = watch_.after_step();
  return pause_ != Pause::none || audit_due();
}

void ManagedRun::output_until(double time) {
  for (const auto& sentence : system_->remarks()) options_.log.warning(sentence);
  if (energy_clock_.next() <= time) log_energy();
  if (snapshot_clock_.next() <= time) write_snapshot_now();
}

/// The same on all ranks.
bool ManagedRun::audit_due() const {
  const std::int64_t steps = system_->counts().steps;
  return audits_ && steps > audit_step_ && steps % config_.output.force_audit_every == 0;
}

/// `rows`: lines of audit.csv that a checkpoint counts.
void ManagedRun::begin_audit(std::int64_t rows) {
  if (config_.output.force_audit_every == 0) return;
  audits_ = system_->can_audit();
  system_->pause_every(audits_ ? config_.output.force_audit_every : 0);
  on_root(*communicator_, [&] {
    if (audits_)
      audit_log_ = CsvLog(directory_->audit_csv(), "time,step,sample,median,rms,p99,max", rows);
    else
      options_.log.info("output.force_audit_every: forces are sums over all pairs, there is no error to measure");
  });
}

/// A line of audit.csv.
void ManagedRun::audit_now() {
  audit_step_ = system_->counts().steps;
  on_root(*communicator_, [&] {
    Profile::Scope scope(&system_->profile(), "force audit");
    const ForceErrors errors = system_->audit(config_.output.force_audit_sample);
    force_error_ = errors.median;
    audit_log_.add(fmt::format("{},{},{},{},{},{},{}", to_text(system_->step_time()), audit_step_, errors.sample,
                               to_text(errors.median), to_text(errors.rms), to_text(errors.p99), to_text(errors.max)));
  });
}

EnergyRow ManagedRun::measure() {
  Profile::Scope scope(&system_->profile(), "energy");
  EnergyRow row = system_->measure();
  if (const double total = row.energies.total(); !std::isfinite(total))
    throw Error(ErrorKind::numerics,
                fmt::format("at time {} the energy is {}", to_text(system_->time()), to_text(total)));
  return row;
}

Energies ManagedRun::log_energy() {
  const EnergyRow row = measure();
  energy_error_ = relative_energy_error(row.energies, start_);
  energy_log_.add(system_->time(), row.energies, start_, wall_seconds(), row.more);
  return row.energies;
}

void ManagedRun::write_snapshot_now() {
  Profile::Scope scope(&system_->profile(), "snapshot");
  const auto begin = Clock::now();
  system_->write_snapshot(directory_->path() / snapshot_name(config_, record_.snapshots));
  watch_.wrote_snapshot(seconds_since(begin));
  ++record_.snapshots;
}

RunPosition ManagedRun::position() const {
  RunPosition position;
  position.config = config_;
  position.start = start_;
  position.wall_seconds = wall_seconds();
  position.energy_error = energy_error_;
  position.energy_rows = energy_log_.rows();
  position.energy_index = energy_clock_.index();
  position.audit_rows = audit_log_.rows();
  position.audit_step = audit_step_;
  position.force_error = force_error_;
  position.snapshots = record_.snapshots;
  position.snapshot_index = snapshot_clock_.index();
  position.profile = system_->profile();
  return position;
}

void ManagedRun::write_checkpoint_now() {
  on_root(*communicator_, [&] {
    Profile::Scope scope(&system_->profile(), "checkpoint");
    const auto begin = Clock::now();
    Checkpoint checkpoint;
    checkpoint.description = describe(position());
    checkpoint.blocks = system_->save();
    write_checkpoint(directory_->checkpoints(), checkpoint);
    watch_.wrote_checkpoint(seconds_since(begin));
  });
}

std::string ManagedRun::write_record(const std::string& status) {
  record_.status = status;
  record_.wall_seconds = wall_seconds();
  record_.ranks = communicator_->size();
  const std::string text = record_text(config_, *system_, record_);
  write_text(directory_->run_json(), text);
  return text;
}

/// Writes down why the run ended. A fresh run that never got as far as its first outputs leaves nothing behind; what an
/// earlier session has written stays.
void ManagedRun::fail(const std::exception& error) {
  if (!directory_ || !system_) return;
  try {
    if (in_first_outputs_) return directory_->clear();
    const auto* known = dynamic_cast<const Error*>(&error);
    if (known && known->kind() == ErrorKind::input) return;
    if (!known || known->kind() == ErrorKind::numerics)
      write_text(directory_->failure_json(), failure_text(error, *system_));
    write_record("failed");
  } catch (const Error&) {
    // The disk is full, perhaps: the first error is the one to report.
  }
}

void ManagedRun::report_progress() {
  if (!communicator_->is_root() || !options_.progress || seconds_since(last_progress_) < 0.1) return;
  last_progress_ = Clock::now();
  RunProgress progress;
  progress.start_time = system_->start_time();
  progress.time = system_->step_time();
  progress.end_time = config_.run.end_time;
  progress.energy_error = energy_error_;
  progress.force_error = force_error_;
  progress.wall_seconds = wall_seconds();
  progress.counts = system_->counts();
  const double elapsed = seconds_since(steps_begin_), covered = progress.time - session_time_;
  progress.seconds_left =
      covered > 0 ? elapsed * (progress.end_time - progress.time) / covered : std::numeric_limits<double>::infinity();
  progress.interactions_per_second =
      static_cast<double>(progress.counts.interactions - session_pairs_) / std::max(elapsed, 1e-9);
  progress.particle_steps_per_second =
      static_cast<double>(progress.counts.particle_steps - session_particle_steps_) / std::max(elapsed, 1e-9);
  options_.progress(progress);
}

}  // namespace

RunSummary run_simulation(const RunConfig& config, const RunOptions& options,
                          std::shared_ptr<Communicator> communicator) {
  return ManagedRun(config, options, std::move(communicator)).run();
}

}  // namespace pergola
