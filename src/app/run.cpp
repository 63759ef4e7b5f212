#include <fmt/core.h>

#include <cstdio>
#include <filesystem>

#include "app/command.hpp"
#include "app/progress_bar.hpp"
#include "app/run_control.hpp"
#include "app/start_guard.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "run/run.hpp"
#include "sim/system_entry.hpp"

namespace pergola::app {

namespace {

namespace fs = std::filesystem;

const Clock::time_point program_begin = Clock::now();

struct RunCommand {
  std::string config;
  std::vector<std::string> sets;
  std::string directory;
  std::string wall_time;
  bool resume = false, overwrite = false, strict = false, print_config = false;
};

/// The configuration's name without folder and extension; "run" for a pipe.
fs::path default_directory(const std::string& config) {
  std::error_code error;
  if (!fs::is_regular_file(config, error)) return "run";
  const fs::path directory = fs::path(config).filename().replace_extension();
  // A configuration without extension lies where its run would go.
  return fs::exists(directory, error) && !fs::is_directory(directory, error) ? fs::path(directory.string() + "-run")
                                                                             : directory;
}

std::string checks_text(const std::vector<Check>& checks) {
  std::string text;
  for (const auto& check : checks)
    text += fmt::format("{} {:<18} {:.6g}, expected {:.6g} within {:.2g}\n", check.passed ? "passed" : "FAILED",
                        check.name, check.measured, check.expected, check.tolerance);
  return text;
}

std::string summary_text(const RunSummary& summary, const RunConfig& config, const std::string& directory) {
  const auto& counts = summary.counts;
  std::string text = fmt::format(
      "energy error {:.3e}\n{}{} steps, {} particle steps{} in {}\n", summary.energy_error, checks_text(summary.checks),
      counts.steps, counts.particle_steps,
      counts.interactions > 0 ? fmt::format(", {:.3g} pairs", static_cast<double>(counts.interactions)) : "",
      duration_text(summary.wall_seconds));
  const std::string first = snapshot_name(config, 0), last = snapshot_name(config, summary.snapshots - 1);
  text += fmt::format("files in {}: run.json, energy.csv, profile.csv, {} to {}, checkpoint\n", directory, first, last);
  return text + fmt::format("next: pergola picture {0}/{1} -o {0}/{2}.png\n      pergola plot {0}\n", directory, last,
                            system_entry(config).picture);
}

void report(const Context& context, const RunCommand& command, const RunConfig& config, const RunSummary& summary) {
  if (context.json) {
    if (context.speaks()) fmt::print("{}", summary.json);
    return;
  }
  if (summary.status == RunStatus::interrupted) {
    context.remark(fmt::format("interrupted; a checkpoint is written. Go on with: pergola run {} -o {} --resume",
                               command.config, command.directory));
    return;
  }
  if (summary.status == RunStatus::finished_before)
    context.remark(fmt::format("{}: this run is finished, nothing to do", command.directory));
  if (!context.quiet) context.print(summary_text(summary, config, command.directory));
}

void run(Context& context, RunCommand command) {
  RunConfig config = read_config(command.config, command.sets);
  if (context.device_given) config.run.device = context.device;
  if (context.threads_given) config.run.threads = context.threads;
  if (command.print_config) return context.print(config_text(config));
  config.require_particles();
  if (command.directory.empty()) command.directory = default_directory(command.config).string();

  catch_interrupts();
  catch_checkpoint_requests();
  StartGuard guard(context);
  ProgressBar bar;
  RunOptions options;
  options.making = [&guard](const std::function<void()>& undo) { undo ? guard.begin(undo) : guard.end(); };
  options.directory = command.directory;
  options.resume = command.resume;
  options.overwrite = command.overwrite;
  options.log = context.log();
  options.notice = [&](const std::string& text) {
    // A closed stderr must not stop a run.
    if (context.speaks()) std::fputs(fmt::format("pergola: {}\n", text).c_str(), stderr);
  };
  options.interrupted = [] { return interrupted.load(); };
  options.checkpoint_asked = [] { return checkpoint_asked.exchange(false); };
  options.wall_begin = program_begin;
  if (!command.wall_time.empty()) options.wall_limit_seconds = seconds_in(command.wall_time).value_or(0);
  if (!context.quiet) options.progress = [&](const RunProgress& progress) { bar.show(progress); };

  RunSummary summary;
  try {
    summary = run_simulation(config, options, context.communicator);
  } catch (...) {
    bar.close();
    throw;
  }
  bar.close();
  report(context, command, config, summary);
  int code = 0;
  if (summary.status == RunStatus::interrupted)
    code = static_cast<int>(ErrorKind::interrupted);
  else if (command.strict && !summary.all_passed())
    code = static_cast<int>(ErrorKind::numerics);
  context.exit_code = share_value(*context.communicator, code);
}

}  // namespace

void add_run(Command program, Context& context) {
  auto command = program.add_subcommand("run", "Run a simulation from a configuration");
  auto options = std::make_shared<RunCommand>();
  command->add_option("CONFIG", options->config, "TOML configuration; may be a pipe")->required();
  command->add_option("--set", options->sets, "key=value, replaces a key of the configuration; any number of times")
      ->allow_extra_args(false);
  command->add_option("-o,--output", options->directory, "Directory of the run; default: the configuration's name");
  auto resume = command->add_flag("--resume", options->resume,
                                  "Go on from the newest checkpoint, bit-identically; run.end_time, run.device, "
                                  "run.threads and [output] may have changed");
  command->add_flag("--overwrite", options->overwrite, "Replace the run that the directory holds")->excludes(resume);
  command
      ->add_option(
          "--wall-time", options->wall_time,
          "Write a checkpoint and end with 130 before so long after the start, such as 3h50m, 90m, 1d12h or 45s")
      ->check(check_duration)
      ->type_name("TIME");
  command->add_flag("--strict", options->strict, "Exit code 1 when a check of the report card fails");
  command->add_flag("--print-config", options->print_config, "Print the configuration with every default, and stop");
  command->footer(
      "The directory gets run.json (configuration, totals, energy error, checks), energy.csv, profile.csv,\n"
      "snap_000.hdf5, ... (plasma_000.h5, ... of a plasma) and checkpoint/. Ctrl-C finishes the step, writes a "
      "checkpoint and exits with 130;\nso do SIGTERM and SIGHUP (not under nohup). SIGUSR1 writes a checkpoint, and "
      "the run "
      "goes on.\n"
      "--resume on a finished run changes nothing, unless run.end_time has grown: then the run goes on.\n\n"
      "Example:\n  pergola run examples/plummer.toml --set particles.n=1024 -o cluster");
  command->callback([&context, options] { run(context, *options); });
}

}  // namespace pergola::app
