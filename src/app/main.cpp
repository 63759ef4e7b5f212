#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <new>

#include "app/command.hpp"
#include "base/error.hpp"

namespace pergola::app {

std::atomic<bool> interrupted{false};

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted.store(true); };
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void Context::print(const std::string& text) const {
  if (speaks()) fmt::print("{}", text);
}

void Context::print(const nlohmann::json& value) const {
  if (speaks()) fmt::print("{}\n", value.dump(2));
}

void Context::remark(const std::string& text) const {
  if (speaks() && !quiet) fmt::print(stderr, "{}\n", text);
}

Log Context::log() const {
  return Log([this](LogLevel level, std::string_view text) {
    remark(level == LogLevel::warning ? fmt::format("warning: {}", text) : std::string(text));
  });
}

namespace {

void add_global_options(CLI::App& program, Context& context) {
  program.add_option("--device", context.device, "auto, cpu, cuda or cuda:K")->each([&](const std::string&) {
    context.device_given = true;
  });
  program.add_option("--threads", context.threads, "CPU threads; 0 = all cores")->each([&](const std::string&) {
    context.threads_given = true;
  });
  program.add_flag("--json", context.json, "One JSON value on stdout");
  program.add_flag("--quiet", context.quiet, "No progress and no remarks");
  program.set_version_flag("--version", std::string("pergola ") + PERGOLA_VERSION);
  program.fallthrough();
  program.require_subcommand(1);
  program.footer(
      "Example:\n  pergola run examples/plummer.toml -o cluster\n\nEvery command has --help with an example.");
}

int run_program(int argc, char** argv) {
  Context context;
  context.communicator = world_communicator();
  CLI::App program("Pergola: particles that move in the field they make", "pergola");
  add_global_options(program, context);
  add_devices(program, context);
  add_force(program, context);
  add_info(program, context);
  add_convert(program, context);
  add_picture(program, context);
  add_plot(program, context);
  add_bench(program, context);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return context.speaks() ? program.exit(error) : 0;
    if (context.speaks()) fmt::print(stderr, "pergola: {}\n", error.what());
    return static_cast<int>(ErrorKind::input);
  }
  return context.exit_code;
}

}  // namespace

}  // namespace pergola::app

int main(int argc, char** argv) {
  using pergola::ErrorKind;
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit then is a failed write, which is reported and cleaned up
  try {
    return pergola::app::run_program(argc, argv);
  } catch (const pergola::Error& error) {
    fmt::print(stderr, "pergola: {}\n", error.what());
    return static_cast<int>(error.kind());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "pergola: out of memory\n");
    return static_cast<int>(ErrorKind::device);
  } catch (const std::exception& error) {
    fmt::print(stderr, "pergola: unexpected failure: {}\n", error.what());
    return static_cast<int>(ErrorKind::numerics);
  }
}
