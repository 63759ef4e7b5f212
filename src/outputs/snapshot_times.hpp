#pragma once
#include <vector>

#include "outputs/output.hpp"
#include "outputs/schedule.hpp"

namespace pergola {

/// When snapshots are taken between the start and the end: every output.snapshots_every, and at output.redshifts.
class SnapshotTimes {
 public:
  SnapshotTimes() = default;
  /// Of a run that begins.
  SnapshotTimes(const OutputContext& context, const System& system);
  /// Of one that goes on from a checkpoint; `memory` is what save() gave.
  SnapshotTimes(const OutputContext& context, const System& system, const OutputMemory& memory);

  double next() const;
  /// Those up to `time` are made.
  void skip_to(double time);
  void save(OutputMemory& memory) const;

 private:
  void list_redshifts(const RunConfig& config, double now);
  void forget_listed(double now);

  OutputClock clock_;
  std::vector<double> listed_;  // scale factors, the next one last
};

}  // namespace pergola
