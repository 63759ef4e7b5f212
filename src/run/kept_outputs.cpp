#include "run/kept_outputs.hpp"

#include <fmt/core.h>

#include <cmath>

#include "base/text.hpp"
#include "run/run_record.hpp"

namespace pergola {

std::string keep_all(RunDirectory& directory) {
  const auto aside = directory.set_aside();
  return fmt::format("{}: no checkpoint was ever written here, starting afresh{}", directory.path().string(),
                     aside ? fmt::format("; earlier outputs are in {}", aside->string()) : "");
}

std::string keep_shorter_end(RunDirectory& directory, SnapshotTimes times, double end) {
  const auto finished = read_finished_run(directory.run_json());
  if (!finished || finished->end_time >= end) return {};
  const double rounding = 1e-9 * std::abs(finished->end_time);
  times.skip_to(finished->end_time - rounding);
  if (times.next() <= finished->end_time + rounding) return {};  // the longer run has it too
  const auto aside = directory.set_aside(finished->summary.snapshots - 1);
  if (!aside) return {};
  return fmt::format("{}: had ended at time {}, where the longer run has no snapshot: that one and run.json are in {}",
                     directory.path().string(), to_text(finished->end_time), aside->string());
}

}  // namespace pergola
