#pragma once
#include <stdexcept>
#include <string>

#include "base/host_device.hpp"

namespace pergola {

/// What went wrong, by the party that has to act. The values are the exit codes of the command line.
enum class ErrorKind : int {
  numerics = 1,      // the run failed: NaN, collision, step too small
  input = 2,         // bad usage, configuration or input file
  system = 3,        // the operating system refused: permission, full disk
  device = 4,        // device missing or out of memory
  interrupted = 130  // Ctrl-C or SIGTERM, after writing a checkpoint
};

/// Every error of the library. The message says what, where, what was expected and what was found.
class PERGOLA_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace pergola
