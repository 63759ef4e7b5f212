// Reads HDF5 files of other programs in a child process first: a damaged file may crash the HDF5 library.
//
// Steps: (1) guess the files from the words of the command line, (2) start this program again with the word
// "walk-hdf5-files", (3) the child walks each file within limits of memory, processor time and clock, and writes one
// byte per finished file, (4) if it crashed, the number of bytes says which file is at fault. A child that cannot be
// started, e.g. for lack of memory, refuses nothing: the check is a precaution.
#include "app/foreign_files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <span>
#include <string_view>
#include <vector>

#include "io/hdf5_walk.hpp"

extern char** environ;

namespace pergola::app {

namespace {

namespace fs = std::filesystem;

/// The first word of the child's command line; no command has this name.
constexpr std::string_view walker = "walk-hdf5-files";

constexpr rlim_t memory_bytes = rlim_t{2} << 30;  // beside what the program itself has mapped
constexpr rlim_t processor_seconds = 30;          // for one file
constexpr unsigned clock_seconds = 120;

/// One rank checks for all. Before MPI starts, the launchers' variables tell the rank.
bool is_first_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* const rank = std::getenv(name)) return std::strcmp(rank, "0") == 0;
  return true;
}

/// The file, or the files of a snapshot in several files with this name.
void add_files(const std::string& name, std::vector<std::string>& files) {
  const auto add = [&files](const std::string& path) {
    if (hdf5_without_checksums(path)) files.push_back(path);
  };
  add(name);
  constexpr std::string_view first_piece = ".0.hdf5";
  const std::string stem =
      name.ends_with(first_piece) ? name.substr(0, name.size() - first_piece.size()) : std::string(name);
  std::error_code ignored;
  for (int piece = 0; fs::exists(fmt::format("{}.{}.hdf5", stem, piece), ignored); ++piece)
    add(fmt::format("{}.{}.hdf5", stem, piece));
}

/// The HDF5 files in the directory of a run, or beside a snapshot of a series.
void add_files_in(const fs::path& folder, std::vector<std::string>& files) {
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored))
    if (const auto ending = it->path().extension(); ending == ".hdf5" || ending == ".h5")
      if (hdf5_without_checksums(it->path())) files.push_back(it->path().string());
}

/// The files that a configuration names with `file = "…"`, or run.json with `"file": "…"`, found without parsing it:
/// relative to the folder of the configuration, then to the current one. A name too many does no harm.
void add_files_of_configuration(const fs::path& path, std::vector<std::string>& files) {
  constexpr std::uintmax_t longest = std::uintmax_t{1} << 20;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored) || fs::file_size(path, ignored) > longest) return;
  std::ifstream stream(path);
  const std::regex assignment(R"re(\bfile"?\s*[=:]\s*["']([^"'\n]+)["'])re");
  for (std::string line; std::getline(stream, line);) {
    line.resize(std::min<std::size_t>(line.size(), 4096));
    std::smatch found;
    if (!std::regex_search(line, found, assignment)) continue;
    add_files((path.parent_path() / found[1].str()).string(), files);
    add_files(found[1].str(), files);
  }
}

/// All files that the command may read: too many names cost time only, a missing one costs the protection.
std::vector<std::string> files_to_look_at(int argc, char** argv) {
  std::vector<std::string> files;
  const bool series =
      std::any_of(argv + 1, argv + argc, [](std::string_view word) { return word.ends_with("series"); });
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k], before = argv[k - 1];
    if (before == "-o" || before == "--output" || before == "--dump" || before == "--plot")
      continue;  // written, not read
    const auto equals = word.find('=');
    const std::string_view value = equals == std::string_view::npos ? word : word.substr(equals + 1);
    add_files(std::string(value), files);
    std::error_code ignored;
    if (fs::is_directory(value, ignored)) add_files_in(value, files);
    if (series && fs::is_regular_file(value, ignored)) add_files_in(fs::absolute(value).parent_path(), files);
    if (word.ends_with(".toml")) add_files_of_configuration(word, files);
    if (value.ends_with(".json")) add_files_of_configuration(value, files);  // --reproduce
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

/// The end of a child: its status, and the number of files it had finished.
struct Ending {
  int status = 0;
  std::size_t finished = 0;
};

/// Starts this program again as a walker and waits. None: it could not be started.
std::optional<Ending> run_walker(std::span<const std::string> files) {
  int done[2];
  if (::pipe2(done, O_CLOEXEC) != 0) return std::nullopt;
  std::vector<std::string> words{"pergola", std::string(walker)};
  words.insert(words.end(), files.begin(), files.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, done[1], STDOUT_FILENO);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(done[1]);
  Ending ending;
  char byte = 0;
  while (!failed && ::read(done[0], &byte, 1) == 1) ++ending.finished;
  ::close(done[0]);
  if (failed) return std::nullopt;
  while (::waitpid(child, &ending.status, 0) < 0 && errno == EINTR) {
  }
  return ending;
}

/// Sets a soft limit of this process, at most the hard one. Failure is ignored: the limit is a precaution.
void limit(decltype(RLIMIT_AS) what, rlim_t most) {
  rlimit now{};
  if (::getrlimit(what, &now) != 0) return;
  now.rlim_cur = std::min(most, now.rlim_max);
  ::setrlimit(what, &now);
}

/// Address space that the process has mapped.
rlim_t mapped_bytes() {
  unsigned long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

/// The error message for the file on which a child crashed.
std::string sentence_about(const std::string& file, int status) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const bool slow = signal == SIGALRM || signal == SIGXCPU;
  return fmt::format(
      "{}: expected an HDF5 file that can be read, found one on which the HDF5 library {}: it is damaged", file,
      slow     ? "does not end"
      : signal ? fmt::format("crashes ({})", strsignal(signal))
               : "fails");
}

/// Processor time that this process has taken, in whole seconds.
rlim_t processor_seconds_taken() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<rlim_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + 1;
}

}  // namespace

std::optional<std::string> find_deadly_file(int argc, char** argv) {
  if (!is_first_rank()) return std::nullopt;
  const auto files = files_to_look_at(argc, argv);
  if (files.empty()) return std::nullopt;
  constexpr std::size_t most_at_once = 1000;  // names on one command line
  for (std::size_t first = 0; first < files.size(); first += most_at_once) {
    const std::span<const std::string> some(files.data() + first, std::min(most_at_once, files.size() - first));
    const auto ending = run_walker(some);
    if (!ending || (WIFEXITED(ending->status) && WEXITSTATUS(ending->status) == 0)) continue;
    return sentence_about(some[std::min(ending->finished, some.size() - 1)], ending->status);
  }
  return std::nullopt;
}

bool is_file_walker(int argc, char** argv) { return argc > 2 && argv[1] == walker; }

int walk_files(int argc, char** argv) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_AS, mapped_bytes() + memory_bytes);
  for (int k = 2; k < argc; ++k) {
    limit(RLIMIT_CPU, processor_seconds_taken() + processor_seconds);
    ::alarm(clock_seconds);
    try {
      walk_hdf5(argv[k]);
    } catch (...) {
      return 1;  // out of memory
    }
    std::putchar('.');
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace pergola::app
