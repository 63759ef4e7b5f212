// The program `pergola`: global options, the list of commands, and the one place where errors become exit codes.
//
// Order of work: (1) limits of memory and signals, (2) damaged HDF5 files are found by a child process, before MPI and
// CUDA start, (3) MPI, (4) the command line, on which all ranks must agree, (5) the command's callback, (6) stdout is
// flushed and checked. Exit codes: 0, or the value of ErrorKind (base/error.hpp). An error is one line on stderr,
// printed by one rank; if other ranks do not fail too within some seconds, all are ended.
#include <fmt/core.h>
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

#include "app/command.hpp"
#include "app/foreign_files.hpp"
#include "app/signals.hpp"
#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "comm/agreement.hpp"
#include "run/rank_report.hpp"

namespace pergola::app {

namespace {

/// What is wrong with a --device, or nothing. Whether the device exists is found later, when it is opened.
std::string check_device(const std::string& spec) {
  const bool numbered = spec.starts_with("cuda:") && parse_unsigned(spec.substr(5)).has_value();
  if (spec == "auto" || spec == "cpu" || spec == "cuda" || numbered) return "";
  return fmt::format("expected auto, cpu, cuda or cuda:K, found {}", spec);
}

/// For --version: the commit and what this build can use.
std::string version_text() {
  return fmt::format("pergola {} (commit {})\nCUDA: {}\nMPI: {}", version(), build_commit(), cuda_built ? "yes" : "no",
                     mpi_built() ? "yes" : "no");
}

/// They may stand before or after the command's name (fallthrough).
void add_global_options(CLI::App& program, Context& context) {
  program.add_option("--device", context.device, "auto, cpu, cuda or cuda:K")
      ->check(check_device)
      ->type_name("DEVICE")
      ->each([&](const std::string&) { context.device_given = true; });
  program.add_option("--threads", context.threads, "CPU threads; 0 = all cores")
      ->transform(CLI::Validator(integer_in(Range::between(0, 65536)), ""))
      ->type_name("N")
      ->each([&](const std::string&) { context.threads_given = true; });
  program.add_flag("--json", context.json, "One JSON value on stdout");
  program.add_flag("--quiet", context.quiet, "No progress and no remarks");
  program.set_version_flag("--version", version_text(), "Version, commit and what this build holds");
  program.set_help_flag("-h,--help", "This help");
  program.fallthrough();
  program.require_subcommand(1);
  program.footer(
      "Example:\n  pergola run examples/plummer.toml -o cluster\n\nEvery command has --help with an example.");
}

/// The order is that of the list in `pergola --help`.
void add_commands(Command program, Context& context) {
  add_ic(program, context);
  add_run(program, context);
  add_fork(program, context);
  add_plan(program, context);
  add_force(program, context);
  add_info(program, context);
  add_merge(program, context);
  add_convert(program, context);
  add_analyze(program, context);
  add_picture(program, context);
  add_plot(program, context);
  add_movie(program, context);
  add_view(program, context);
  add_bench(program, context);
  add_paper(program, context);
  add_g6_replay(program, context);
  add_devices(program, context);
}

/// Ranks of different commands or programs would wait for each other or compute different things: throws. Device and
/// threads may differ.
void check_ranks(const Context& context, int argc, char** argv) {
  std::vector<Fact> facts = program_facts();
  std::string words;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--device" || word == "--threads")
      ++k;
    else if (!word.starts_with("--device=") && !word.starts_with("--threads="))
      words += (words.empty() ? "" : " ") + word;
  }
  facts.push_back({"command", words});
  require_agreement(*context.communicator, facts);
}

/// Parses the command line and runs one command. CLI11 reports help, version and usage errors by exceptions.
int run_program(int argc, char** argv, Context& context) {
  CLI::App program("Pergola: particles that move in the field they make", "pergola");
  add_global_options(program, context);
  add_commands(Command(&program), context);
  program.parse_complete_callback([&] { check_ranks(context, argc, argv); });
  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    // Help for an unknown command is an error, as the command itself would be.
    if (!program.remaining(true).empty()) throw Error(ErrorKind::input, usage_message(program, help));
    context.print(program.help());
  } catch (const CLI::CallForAllHelp&) {
    context.print(program.help("", CLI::AppFormatMode::All));
  } catch (const CLI::CallForVersion& version) {
    context.print(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorKind::input, usage_message(program, error));
  }
  flush_output();
  return context.exit_code;
}

/// Escapes line ends and other control characters in names from the command line, as \n or \x1b. The message's own
/// lines stay.
std::string with_names_on_one_line(std::string message, int argc, char** argv) {
  const auto replace_all = [&message](const std::string& name, const std::string& shown) {
    for (std::size_t at = message.find(name); at != std::string::npos; at = message.find(name, at + shown.size()))
      message.replace(at, name.size(), shown);
  };
  for (int k = 1; k < argc; ++k)
    for (const std::string& name : {std::string(argv[k]), std::filesystem::path(argv[k]).filename().string()}) {
      std::string shown;
      for (const char c : name)
        if (c == '\n')
          shown += "\\n";
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
          shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
          shown += c;
      if (shown != name) replace_all(name, shown);
    }
  return message;
}

/// Prints the error once for all ranks and returns the exit code.
int fail(const Context& context, ErrorKind kind, const std::string& message) {
  const int code = static_cast<int>(kind);
  const bool named = message.starts_with("pergola:") || message.starts_with("pergola ");
  const std::string text = (named ? "" : "pergola: ") + message + "\n";
  if (!context.communicator) {
    std::fputs(text.c_str(), stderr);
    return code;
  }
  end_on_signals_silently();
  if (context.speaks()) std::fputs(text.c_str(), stderr);
  constexpr double patience_s = 5;
  if (context.communicator->all_have_failed(patience_s)) return code;
  if (!context.speaks()) std::fputs(text.c_str(), stderr);
  context.communicator->abort(code);
  return code;
}

/// On CPUs one thread of a rank calls MPI; MPI's locks for several threads would cost time (comm/communicator_mpi.cpp).
void expect_one_thread_that_talks(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  bool on_cpu = false;
  for (std::size_t k = 1; k < words.size(); ++k)
    on_cpu |= words[k] == "--device=cpu" || (words[k - 1] == "--device" && words[k] == "cpu");
  if (on_cpu) setenv("PERGOLA_MPI_THREADS", "one", 0);
}

/// No exception leaves this function. Memory that runs out counts as an error of the device "cpu".
int guarded_main(int argc, char** argv) {
  Context context;
  try {
    expect_one_thread_that_talks(argc, argv);
    const auto deadly = find_deadly_file(argc, argv);  // starts a process: before MPI and CUDA
    context.communicator = world_communicator();
    end_on_signals(context.speaks());
    on_root(*context.communicator, [&] {
      if (deadly) throw Error(ErrorKind::input, *deadly);
    });
    return run_program(argc, argv, context);
  } catch (const Error& error) {
    return fail(context, error.kind(), with_names_on_one_line(error.what(), argc, argv));
  } catch (const std::bad_alloc&) {
    return fail(context, ErrorKind::device, "cpu: out of memory");
  } catch (const std::system_error& error) {
    return fail(context, ErrorKind::system, with_names_on_one_line(words_of(error), argc, argv));
  } catch (const std::exception& error) {
    return fail(context, ErrorKind::numerics, fmt::format("unexpected failure: {}", error.what()));
  }
}

/// Returns large freed blocks to the system. By default the C library keeps blocks below 32 MiB, a quarter of a rank's
/// memory.
void give_memory_back() {
#ifdef __GLIBC__
  constexpr int large_block = 4 << 20, kept_at_most = 16 << 20;
  mallopt(M_MMAP_THRESHOLD, large_block);
  mallopt(M_TRIM_THRESHOLD, kept_at_most);
#endif
}

/// If memory ends where no exception may pass (in CLI11's search for options, in destructors of JSON values), ends with
/// an error message and without unfinished files.
void end_without_memory() {
  try {
    if (const auto failure = std::current_exception()) std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    PassingFile::remove_all();
    std::fputs("pergola: cpu: out of memory\n", stderr);
    std::_Exit(static_cast<int>(ErrorKind::device));
  } catch (...) {
  }
  std::abort();
}

/// Runs before all other static initialisers, which may allocate memory before main().
[[gnu::constructor(101)]] void watch_memory() { std::set_terminate(end_without_memory); }

}  // namespace

}  // namespace pergola::app

int main(int argc, char** argv) {
  // A closed pipe and a file-size limit become failed writes, which are reported and cleaned up.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  pergola::app::give_memory_back();
  if (pergola::app::is_file_walker(argc, argv)) return pergola::app::walk_files(argc, argv);
  return pergola::app::guarded_main(argc, argv);
}
