#include "run/fork.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <system_error>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "io/checkpoint.hpp"
#include "io/checkpoint_reader.hpp"
#include "io/write_queue.hpp"
#include "outputs/checkpoint_output.hpp"
#include "outputs/output.hpp"
#include "run/resume.hpp"
#include "run/run_directory.hpp"
#include "run/run_record.hpp"
#include "sim/system_entry.hpp"

namespace pergola {

namespace fs = std::filesystem;

namespace {

constexpr const char* particles_name = "start.hdf5";
constexpr const char* configuration_name = "run.toml";

/// The configuration with the particles of the file beside it, and with the changed keys.
/// The text is parsed once more with the changed keys, so that a wrong key is refused before any file is made. The path
/// is relative: the new directory can be moved as a whole.
std::string forked_configuration(const RunConfig& config, const std::vector<std::string>& sets) {
  if (!system_entry(config).starts_from_snapshots)
    throw Error(ErrorKind::input,
                "fork: expected a run under gravity, whose particles can be read from a snapshot; write a checkpoint "
                "and branch off with: pergola fork DIR --set KEY=VALUE -o NEW");
  RunConfig from_here = config;
  from_here.particles = {};
  from_here.particles.file = particles_name;
  return config_text(parse_config(config_text(from_here), "fork", sets));
}

/// Makes the first directory DIRECTORY-fork-NNN that does not exist.
fs::path make_directory(const fs::path& origin) {
  constexpr int most = 999;
  for (int number = 1; number <= most; ++number) {
    const fs::path path = origin.parent_path() / fmt::format("{}-fork-{:03}", origin.filename().string(), number);
    std::error_code error;
    if (fs::create_directory(path, error)) return path;
    if (error) throw Error(ErrorKind::system, fmt::format("{}: cannot be made: {}", path.string(), error.message()));
  }
  throw Error(ErrorKind::input, fmt::format("{}: has {} forks already", origin.string(), most));
}

/// The text as one word of a shell's command line, quoted if needed.
std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("/._-+=:,@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string quoted;
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return fmt::format("'{}'", quoted);
}

std::string start_command(const fs::path& directory) {
  return fmt::format("pergola run {} -o {} --resume", shell_word((directory / configuration_name).string()),
                     shell_word(directory.string()));
}

/// The absolute path, without a separator at its end.
fs::path named(const fs::path& directory) {
  const fs::path path = fs::absolute(directory).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

/// Two names of the same bytes where the file system can: no checkpoint is ever changed in place.
void link_or_copy(const fs::path& file, const fs::path& to) {
  std::error_code error;
  fs::create_hard_link(file, to, error);
  if (error) fs::copy_file(file, to);
}

/// The logs whose lines the checkpoint counts; a resumed run drops the lines after it.
void copy_logs(const fs::path& from, const fs::path& to, const OutputMemory& memory) {
  for (const OutputEntry& entry : output_entries())
    for (const std::string& name : entry.files)
      if (memory.contains(entry.name + "_rows") && fs::exists(from / name)) fs::copy_file(from / name, to / name);
}

fs::path checkpoint_to_fork(const fs::path& from, const std::string& name,
                            const std::function<void(const std::string&)>& notice) {
  const fs::path folder = from / checkpoint_folder;
  if (name.empty()) {
    if (const auto newest = checkpoint_to_resume(folder, notice)) return *newest;
    throw Error(ErrorKind::input,
                fmt::format("{}: expected the directory of a run with a checkpoint, found none", from.string()));
  }
  const fs::path file = fs::exists(folder / name) ? folder / name : fs::path(name);
  CheckpointReader(file).verify();
  return file;
}

}  // namespace

RunBranch fork_run(const fs::path& from, const std::string& checkpoint, const std::vector<std::string>& sets,
                   const fs::path& to, const std::function<void(const std::string&)>& notice) {
  RunBranch branch;
  branch.checkpoint = checkpoint_to_fork(from, checkpoint, notice);
  const RunPosition before = read_description(CheckpointReader(branch.checkpoint).description());
  const RunConfig config = parse_config(config_text(before.config), "fork", sets);
  check_forkable(config, before.config);
  branch.time = before.time;
  if (config.run.end_time < before.time * (1 - 1e-12))
    throw Error(ErrorKind::input, fmt::format("fork: run.end_time: expected at least the time of the checkpoint, {}, "
                                              "found {}",
                                              to_text(before.time), to_text(config.run.end_time)));
  RunDirectory directory(to, RunDirectory::Use::fresh);
  try {
    fs::create_directories(directory.checkpoints());
    for (const fs::path& file : checkpoint_files(branch.checkpoint))
      link_or_copy(file, directory.checkpoints() / file.filename());
    copy_logs(from, to, before.outputs);
    write_text(directory.run_json(), branch_text(config, {named(from), branch.checkpoint, before.time, sets}));
    write_text(to / configuration_name, config_text(config));
  } catch (const fs::filesystem_error& error) {
    directory.clear();
    throw Error(ErrorKind::system, fmt::format("{}: cannot be made: {}", to.string(), error.code().message()));
  } catch (...) {
    directory.clear();
    throw;
  }
  branch.command = start_command(to);
  return branch;
}

RunFork::RunFork(const RunConfig& config, const fs::path& directory, const std::vector<std::string>& sets)
    : origin_(named(directory)), sets_(sets), configuration_(forked_configuration(config, sets)) {
  directory_ = make_directory(origin_);
}

RunFork::~RunFork() {
  std::error_code ignored;
  fs::remove(directory_, ignored);  // refused if the directory is not empty
}

std::string RunFork::command() const { return start_command(directory_); }

/// The snapshot is on disk before the configuration is written.
void RunFork::write(System& system) const {
  try {
    WriteQueue queue(most_bytes_waiting());
    system.write_snapshot(directory_ / particles_name, &queue, nullptr);
    queue.drain();
    std::string changes;
    for (const auto& set : sets_) changes += fmt::format("{} {}", changes.empty() ? ", with" : ",", set);
    // The configuration comes last: a directory with a run.toml has all its particles.
    AtomicFile file(directory_ / configuration_name);
    file.write(fmt::format("# From {} at time {}, after {} steps{}.\n{}", origin_.filename().string(),
                           to_text(system.time()), system.counts().steps, changes, configuration_));
    file.commit();
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
    throw;
  }
}

}  // namespace pergola
