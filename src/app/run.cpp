// `pergola run CONFIG`: runs a simulation, resumes it, or repeats a finished one (--reproduce).
//
// Steps: (1) the configuration: file, --set, --device and --threads, in this order, (2) the directory of the run, (3)
// signals, progress and, if asked for, the page in a browser, (4) run_system() (run/run.hpp), which does all the work,
// (5) the report card and the exit code. This file has no physics. Exit codes: 0; 130 for an interrupted run with a
// checkpoint; 1 with --strict if a check fails, or if a repeated run has other bits. All ranks return the same code.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "app/command.hpp"
#include "app/progress.hpp"
#include "app/signals.hpp"
#include "app/view.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "io/snapshot.hpp"
#include "outputs/output.hpp"
#include "run/run.hpp"
#include "run/run_record.hpp"
#include "sim/system_entry.hpp"

namespace pergola::app {

namespace {

namespace fs = std::filesystem;

/// --wall-time counts from the start of the program, so that time for MPI and particles is included.
const Clock::time_point program_begin = Clock::now();

/// What the user typed for `run`. --reproduce takes the place of a configuration.
struct RunCommand {
  std::string config;
  std::vector<std::string> sets;
  std::string directory;
  std::string wall_time;
  std::string reproduce;  // run.json of the run to repeat
  bool resume = false, overwrite = false, strict = false, print_config = false;
  bool view = false, control = false;  // control: a view that may also steer
  int port = -1;                       // of the page; −1: not given
  std::string listen;                  // empty: not given

  bool has_page() const { return view || control; }
};

/// Seconds in what Slurm writes: "7:20" is minutes and seconds, "0:07:20" hours, minutes and seconds, "1-02", "1-02:00"
/// and "1-02:00:00" begin with days and hours. Only the first number may be beyond its clock.
std::optional<double> seconds_of_slurm(const std::string& duration) {
  const auto dash = duration.find('-');
  const bool days = dash != std::string::npos;
  std::vector<double> numbers;
  for (std::size_t at = 0; at <= duration.size();) {
    const auto end = std::min(duration.find(numbers.empty() && days ? '-' : ':', at), duration.size());
    const std::string part = duration.substr(at, end - at);
    if (part.empty() || part.size() > 9 || part.find_first_not_of("0123456789") != std::string::npos)
      return std::nullopt;
    numbers.push_back(std::stod(part));
    at = end + 1;
  }
  constexpr double lengths[] = {86400, 3600, 60, 1}, clocks[] = {0, 24, 60, 60};
  const std::size_t first = days ? 0 : 4 - std::min<std::size_t>(numbers.size(), 4);
  if (numbers.size() < 2 || first + numbers.size() > 4 || (!days && numbers.size() > 3)) return std::nullopt;
  double seconds = 0;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (k > 0 && numbers[k] >= clocks[first + k]) return std::nullopt;
    seconds += numbers[k] * lengths[first + k];
  }
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

/// Seconds in "3h50m", "1d12h", "90m", "45s", "1.5h": numbers with units, each unit at most once, longest first; or as
/// Slurm writes times.
std::optional<double> seconds_in(const std::string& duration) {
  if (duration.find_first_of(":-") != std::string::npos) return seconds_of_slurm(duration);
  constexpr std::string_view units = "dhms";
  constexpr double lengths[] = {86400, 3600, 60, 1};
  double seconds = 0;
  std::size_t at = 0, next_unit = 0;
  while (at < duration.size()) {
    const auto end = duration.find_first_not_of("0123456789.", at);
    if (end == std::string::npos || end == at) return std::nullopt;
    const auto unit = units.find(duration[end]);
    const auto number = parse_real(std::string_view(duration).substr(at, end - at));
    if (unit == std::string_view::npos || unit < next_unit || !number) return std::nullopt;
    seconds += *number * lengths[unit];
    next_unit = unit + 1;
    at = end + 1;
  }
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

std::string check_duration(const std::string& duration) {
  if (seconds_in(duration)) return "";
  return fmt::format("expected a time such as 3h50m, 90m, 45s, 3:50:00 or 1-12:00:00, found {}", duration);
}

/// A word for a command line that is shown to be copied: quoted if a shell would split or expand it.
std::string shell_word(std::string_view text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=,+@%-";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
  std::string word = "'";
  for (const char c : text)
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  return word + "'";
}

/// The configuration's name without folder and extension; "run" for a pipe.
fs::path default_directory(const std::string& config) {
  std::error_code error;
  if (!fs::is_regular_file(config, error)) return "run";
  const fs::path directory = fs::path(config).filename().replace_extension();
  // A configuration without extension has the name of its run's directory.
  return fs::exists(directory, error) && !fs::is_directory(directory, error) ? fs::path(directory.string() + "-run")
                                                                             : directory;
}

/// Beside the original run, cluster-again for cluster/run.json; never the original itself.
fs::path directory_of_reproduction(const RunCommand& command) {
  const fs::path original = fs::absolute(command.reproduce).lexically_normal().parent_path();
  if (command.directory.empty()) return original.parent_path() / fmt::format("{}-again", original.filename().string());
  std::error_code error;
  if (fs::equivalent(original, command.directory, error))
    throw Error(
        ErrorKind::input,
        fmt::format("{}: -o: expected another directory than that of the run to be made again", command.directory));
  return command.directory;
}

/// The report card: a line for each check with the measured and the expected value.
std::string checks_text(const std::vector<Check>& checks) {
  std::size_t width = 0;
  for (const auto& check : checks) width = std::max(width, check.name.size());
  std::string text;
  for (const auto& check : checks)
    text +=
        fmt::format("{} {:<{}} {:.6g}, expected {:.6g} within {:.2g}{}\n", check.passed ? "passed" : "FAILED",
                    check.name, width, check.measured, check.expected, check.tolerance,
                    check.scatter > 0 ? fmt::format(", the scatter of so few waves being {:.2g}", check.scatter) : "");
  return text;
}

/// A numbered file of a run as it is shown: of a snapshot in several files their common name.
std::string shown_name(const fs::path& file, const fs::path& directory) {
  const auto part = part_name(file);
  return (part ? part->whole : file).lexically_relative(directory).generic_string();
}

/// "a_000.csv to a_004.csv" for numbered files; empty if there are none.
std::string numbered_text(const std::map<std::int64_t, fs::path>& files, const fs::path& directory) {
  if (files.empty()) return "";
  const std::string first = shown_name(files.begin()->second, directory);
  return files.size() == 1 ? first : fmt::format("{} to {}", first, shown_name(files.rbegin()->second, directory));
}

/// The names of the files in the directory; of numbered files the first and the last.
std::string files_text(const RunConfig& config, const fs::path& directory) {
  std::vector<std::string> names{"run.json", "profile.csv"};
  std::error_code error;
  for (const OutputEntry& entry : output_entries())
    std::copy_if(entry.files.begin(), entry.files.end(), std::back_inserter(names), [&](const std::string& file) {
      return file.find('#') == std::string::npos && fs::exists(directory / file, error);
    });
  if (const auto snapshots = numbered_files(directory, system_entry(config).snapshots); !snapshots.empty()) {
    names.push_back(numbered_text(snapshots, directory));
    if (config.output.files > 1) names.back() += fmt::format(" in {} files each", config.output.files);
  }
  for (const std::string& name : config.output.analyses)
    if (const std::string text =
            numbered_text(numbered_files(directory, fmt::format("{}/{}_#.csv", table_folder, name)), directory);
        !text.empty())
      names.push_back(text);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The command that resumes an interrupted run.
std::string resume_command(const Context& context, const RunCommand& command) {
  std::string text = command.reproduce.empty()
                         ? fmt::format("pergola run {}", shell_word(command.config))
                         : fmt::format("pergola run --reproduce {}", shell_word(command.reproduce));
  for (const std::string& set : command.sets) text += fmt::format(" --set {}", shell_word(set));
  if (context.device_given) text += fmt::format(" --device {}", shell_word(context.device));
  return text + fmt::format(" -o {} --resume", shell_word(command.directory));
}

/// The end of a run on stdout: energy error, checks, counts, files, and the commands that look at them.
std::string summary_text(const RunSummary& summary, const RunConfig& config, const std::string& directory) {
  const auto& counts = summary.counts;
  std::string text = fmt::format(
      "energy error {:.3e}\n{}{} steps, {} particle steps{} in {}\n", summary.energy_error, checks_text(summary.checks),
      counts.steps, counts.particle_steps,
      counts.interactions > 0 ? fmt::format(", {:.3g} pairs", static_cast<double>(counts.interactions)) : "",
      duration_text(summary.wall_seconds));
  if (summary.ranks) text += summary.ranks->text() + "\n";
  text += fmt::format("files in {}: {}\n", directory, files_text(config, directory));
  const auto in_directory = [&](const std::string& name) { return shell_word(fmt::format("{}/{}", directory, name)); };
  const auto snapshots = numbered_files(directory, system_entry(config).snapshots);
  if (snapshots.empty()) return text;
  return text + fmt::format("next: pergola picture {} -o {}\n      pergola plot {}\n",
                            in_directory(shown_name(snapshots.rbegin()->second, directory)),
                            in_directory(system_entry(config).picture(config) + ".png"), shell_word(directory));
}

/// Prints the comparison of a repeated run, on rank 0; returns the exit code.
int report_reproduction(const Context& context, const RunCommand& command, const std::string& expected,
                        const std::string& found) {
  const RecordComparison comparison = compare_records(expected, found);
  if (context.json) {
    context.print(nlohmann::json{{"same", comparison.same},
                                 {"expected", comparison.expected},
                                 {"found", comparison.found},
                                 {"differences", comparison.differences},
                                 {"directory", command.directory}});
  } else {
    std::string text = fmt::format("{}: the particles at the end {} those of {}\n", command.directory,
                                   comparison.same ? "have the same bits as" : "DIFFER from", command.reproduce);
    for (const std::string& difference : comparison.differences) text += fmt::format("  {}\n", difference);
    if (!comparison.same && comparison.differences.empty())
      text += "  though program, instruction set, device and particles at the start are the same\n";
    context.print(text);
  }
  return comparison.same ? 0 : static_cast<int>(ErrorKind::numerics);
}

/// With --json the record run.json goes to stdout, except after a comparison, which has its own value.
void report(const Context& context, const RunCommand& command, const RunConfig& config, const RunSummary& summary) {
  const bool again = !command.reproduce.empty();
  if (context.json) {
    const bool compared = again && summary.status != RunStatus::interrupted;
    if (context.speaks() && !compared) fmt::print("{}", summary.json);
    return;
  }
  if (summary.status == RunStatus::interrupted) {
    context.remark(
        fmt::format("interrupted; a checkpoint is written. Go on with: {}", resume_command(context, command)));
    return;
  }
  if (summary.status == RunStatus::finished_before)
    context.remark(fmt::format("{}: this run is finished, nothing to do", command.directory));
  if (!context.quiet) context.print(summary_text(summary, config, command.directory));
}

/// The configuration of the command, or of the run to repeat.
/// Throws Error(input) if neither a configuration nor a run to repeat is given.
RunConfig configuration(const Context& context, const RunCommand& command, const RunConfig* again) {
  if (!again && command.config.empty())
    throw Error(ErrorKind::input, "pergola run: CONFIG is required, or --reproduce with the run.json of a run");
  RunConfig config = again ? *again : read_config(command.config, command.sets);
  if (context.device_given) config.run.device = context.device;
  if (context.threads_given) config.run.threads = context.threads;
  return config;
}

/// On rank 0.
void open_page(const Context& context, const RunCommand& command, const RunConfig& config,
               std::optional<LiveView>& page) {
  ViewOptions where;
  if (command.port >= 0) where.port = command.port;
  if (!command.listen.empty()) where.address = command.listen;
  page.emplace(context, config, command.directory, where, command.control);
}

/// What run_system() calls back: StartGuard while particles are made, then flags that signals set.
RunOptions options_of(const Context& context, const RunCommand& command, StartGuard& guard) {
  RunOptions options;
  options.making = [&guard, &context,
                    wait = std::make_shared<std::optional<WaitLine>>()](const std::function<void()>& undo) {
    if (!undo) return wait->reset(), guard.end();
    guard.begin(undo);
    wait->emplace(context, "run").begins("particles and their first forces");
  };
  options.directory = command.directory;
  options.resume = command.resume;
  options.overwrite = command.overwrite;
  options.log = context.log();
  options.notice = [&context](const std::string& text) {
    // A closed stderr must not stop a run.
    if (context.speaks()) std::fputs(fmt::format("pergola: {}\n", text).c_str(), stderr);
  };
  options.interrupted = [] { return interrupted.load(); };
  options.checkpoint_asked = [] { return checkpoint_asked.exchange(false); };
  options.wall_begin = program_begin;
  if (!command.wall_time.empty()) options.wall_limit_seconds = seconds_in(command.wall_time).value_or(0);
  return options;
}

/// Collective. The page of --view belongs to rank 0.
void run(Context& context, RunCommand command) {
  if (!command.has_page() && (command.port >= 0 || !command.listen.empty()))
    throw Error(ErrorKind::input,
                "pergola run: --port and --listen are for the page of --view or --control, which is "
                "not asked for");
  std::optional<FinishedRecord> again;
  if (!command.reproduce.empty()) again = read_record_to_reproduce(command.reproduce);
  const RunConfig config = configuration(context, command, again ? &again->config : nullptr);
  if (command.print_config) return context.print(config_text(config));
  config.require_particles();
  if (again)
    command.directory = directory_of_reproduction(command).string();
  else if (command.directory.empty())
    command.directory = default_directory(command.config).string();

  catch_interrupts();
  catch_checkpoint_requests();
  StartGuard guard(context);
  ProgressBar bar;
  RunOptions options = options_of(context, command, guard);
  std::optional<LiveView> page;
  if (command.has_page()) on_root(*context.communicator, [&] { open_page(context, command, config, page); });
  if (page) options.watcher = &page->watcher();
  if (!context.quiet || page)
    options.progress = [&](const RunProgress& progress) {
      if (!context.quiet) bar.show(progress);
      if (page) page->progress(progress);
    };

  RunSummary summary;
  try {
    summary = run_system(config, options, context.communicator);
  } catch (...) {
    bar.close();
    throw;
  }
  bar.close();
  if (page) page->end(summary.status);
  report(context, command, config, summary);
  int code = 0;
  if (summary.status == RunStatus::interrupted)
    code = static_cast<int>(ErrorKind::interrupted);
  else if (command.strict && !summary.all_passed())
    code = static_cast<int>(ErrorKind::numerics);
  if (again && summary.status != RunStatus::interrupted && context.speaks())
    code = std::max(code, report_reproduction(context, command, again->text, summary.json));
  context.exit_code = share_value(*context.communicator, code);
}

}  // namespace

void add_run(Command program, Context& context) {
  auto command = program.add_subcommand("run", "Run a simulation from a configuration");
  auto options = std::make_shared<RunCommand>();
  auto config = command->add_option("CONFIG", options->config, "TOML configuration; may be a pipe");
  auto sets = command->add_option("--set", options->sets,
                                  "key=value, replaces a key of the configuration; any number of times");
  sets->allow_extra_args(false);
  command->add_option("-o,--output", options->directory, "Directory of the run; default: the configuration's name");
  auto resume = command->add_flag("--resume", options->resume,
                                  "Go on from the newest checkpoint, bit-identically; run.end_time, run.device, "
                                  "run.threads and [output] may have changed");
  command->add_flag("--overwrite", options->overwrite, "Replace the run that the directory holds")->excludes(resume);
  command
      ->add_option("--reproduce", options->reproduce,
                   "In place of CONFIG the run.json of a finished run: make it again in another directory (default: "
                   "the run's with -again) and say whether the particles at the end have the same bits; exit code 1 "
                   "where they differ")
      ->type_name("RUN.JSON")
      ->excludes(config)
      ->excludes(sets);
  command
      ->add_option(
          "--wall-time", options->wall_time,
          "Write a checkpoint and end with 130 before so long after the start, such as 3h50m, 90m, 1d12h or 45s; or as "
          "Slurm writes it: 50:00 (minutes and seconds), 3:50:00, 1-12:00:00")
      ->check(check_duration)
      ->type_name("TIME");
  command->add_flag("--view", options->view, "Show the run in a browser as it goes on; prints the page's address");
  command->add_flag("--control", options->control,
                    "The same, and the page may pause the run, take one step, write a checkpoint and fork a new run");
  command->add_option("--port", options->port, "Port of the page; default: any that is free")->between(0, 65535);
  command->add_option("--listen", options->listen,
                      "Address that the page listens on, others than this machine only if it says so; default: "
                      "127.0.0.1");
  command->add_flag("--strict", options->strict, "Exit code 1 when a check of the report card fails");
  command->add_flag("--print-config", options->print_config, "Print the configuration with every default, and stop");
  command->footer(
      "The directory gets run.json (configuration, totals, energy error, checks, hashes), energy.csv, lagrangian.csv\n"
      "(in open space: the radii that hold parts of the mass), profile.csv, snap_000.hdf5, ... (plasma_000000.h5, ... "
      "of\n"
      "a plasma) and checkpoint/. Ctrl-C finishes the step, writes a checkpoint and exits with 130; so do SIGTERM and\n"
      "SIGHUP (not under nohup). SIGUSR1 writes a checkpoint, and the run goes on.\n"
      "--resume on a finished run changes nothing, unless run.end_time has grown: then the run goes on.\n\n"
      "Example:\n  pergola run examples/plummer.toml --set particles.n=1024 -o cluster\n"
      "  pergola run examples/plummer.toml --control -o watched\n"
      "  pergola run --reproduce cluster/run.json");
  command->callback([&context, options] { run(context, *options); });
}

}  // namespace pergola::app
