#pragma once
/// Context: the global options (--device, --threads, --json, --quiet), the ranks, and output.
///
/// main() fills one Context and passes it to every command, which keeps a reference: the Context outlives all
/// callbacks. `device_given` and `threads_given` tell whether the user chose, or whether a configuration may. A command
/// writes its answer with print() and everything else with remark() or log(). `exit_code` is what the program returns
/// if nothing throws; errors become exit codes in app/main.cpp.
#include <atomic>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/log.hpp"
#include "comm/communicator.hpp"
#include "device/device.hpp"

namespace pergola::app {

/// What every subcommand shares: the global options, and output. Data goes to stdout, everything else to stderr, and
/// only rank 0 prints.
struct Context {
  std::string device = "auto";
  bool device_given = false;
  int threads = 0;
  bool threads_given = false;
  bool json = false;
  bool quiet = false;
  int exit_code = 0;
  std::shared_ptr<Communicator> communicator;

  bool speaks() const { return communicator->is_root(); }
  Device open_device() const { return Device::open(device, threads); }
  /// Text or one JSON value on stdout. Throws Error(system) if it cannot be written.
  void print(const std::string& text) const;
  void print(const nlohmann::json& value) const;
  /// A remark on stderr, hidden by --quiet.
  void remark(const std::string& text) const;
  /// For parts of the library: warnings and remarks go the way of remark().
  Log log() const;
};

/// Throws Error(input) if an output file exists and may not be replaced (--overwrite). Called before any computation.
void check_output_file(const std::string& path, bool overwrite);

/// Throws Error(system) if printed text did not reach stdout.
void flush_output();

/// Set by Ctrl-C and SIGTERM once interrupts are caught; the handlers do nothing else.
extern std::atomic<bool> interrupted;
void catch_interrupts();

}  // namespace pergola::app
