#include "run/final_checks.hpp"

#include <fmt/core.h>

#include "base/error.hpp"

namespace pergola {

bool fill_report_card(System& system, const RunOptions& options, RunResults& results) {
  try {
    results.checks = system.checks(results.start, *results.end, [&options](const std::string& part) {
      if (options.interrupted && options.interrupted())
        throw Error(ErrorKind::interrupted, fmt::format("interrupted before the report card's {}", part));
      options.log.info(fmt::format("report card: {}", part));
    });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
    return false;
  }
  return true;
}

}  // namespace pergola
