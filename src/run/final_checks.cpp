#include "run/final_checks.hpp"

#include <fmt/core.h>

#include "base/error.hpp"
#include "gravity/solver_entry.hpp"

namespace pergola {

namespace {

/// Where a run has measured its forces and was asked for an accuracy.
std::vector<Check> force_checks(const RunConfig& config, double force_error) {
  const TreeOptions& tree = config.gravity.tree;
  if (force_error == 0 || !solver_entry(config.gravity.solver).keeps_accuracy ||
      tree.opening != TreeOptions::Opening::relative)
    return {};
  return {{"force_error", force_error, 0, tree.accuracy, force_error <= tree.accuracy}};
}

}  // namespace

bool fill_report_card(System& system, const RunConfig& config, const RunOptions& options, RunResults& results) {
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
  const auto forces = force_checks(config, results.force_error);
  results.checks.insert(results.checks.end(), forces.begin(), forces.end());
  return true;
}

}  // namespace pergola
