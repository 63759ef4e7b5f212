// Output of all commands, and the flag that a signal sets.
//
// Text or JSON goes to stdout; a failed write is Error(system), because a script must not take half an answer for
// whole. Remarks go to stderr; a failed write of a remark is ignored. Only rank 0 writes.
#include "app/context.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.hpp"

namespace pergola::app {

namespace {

[[noreturn]] void throw_output_error(int code) {
  throw Error(ErrorKind::system,
              fmt::format("standard output: cannot be written: {}", std::generic_category().message(code)));
}

}  // namespace

std::atomic<bool> interrupted{false};

/// After this call Ctrl-C and SIGTERM set `interrupted`; the command must look at it and end itself.
void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted.store(true); };
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A closed terminal ends a run as SIGTERM does, unless nohup ignores it.
  struct sigaction before {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

void Context::print(const std::string& text) const {
  if (!speaks()) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw_output_error(errno);
}

void Context::print(const nlohmann::json& value) const {
  // Names of files need not be UTF-8, JSON must be.
  print(value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void Context::remark(const std::string& text) const {
  // A closed stderr must not stop a run.
  if (speaks() && !quiet) std::fputs((text + "\n").c_str(), stderr);
}

Log Context::log() const {
  return Log([this](LogLevel level, std::string_view text) {
    remark(level == LogLevel::warning ? fmt::format("warning: {}", text) : std::string(text));
  });
}

void check_output_file(const std::string& path, bool overwrite) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(status)) return;
  if (!std::filesystem::is_regular_file(status))
    throw Error(ErrorKind::input, fmt::format("{}: expected the name of a file, found a folder or a device", path));
  if (!overwrite) throw Error(ErrorKind::input, fmt::format("{}: exists; expected a new name or --overwrite", path));
}

void flush_output() {
  if (std::fflush(stdout) != 0) throw_output_error(errno);
}

}  // namespace pergola::app
