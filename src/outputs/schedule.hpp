#pragma once
#include <cstdint>
#include <vector>

#include "outputs/output.hpp"

namespace pergola {

/// Output at start + k · every for k = 1, 2, … before the end, or where times are scale factors at
/// start · exp(k · every); never when `every` is 0. The start and the end have outputs of their own.
class OutputClock {
 public:
  OutputClock() = default;
  OutputClock(double start, double every, double end, bool in_logarithm = false)
      : start_(start), every_(every), end_(end), in_logarithm_(in_logarithm) {}

  /// When the next output is due; infinite when no more comes before the end.
  double next() const;
  std::int64_t index() const { return index_; }
  /// Goes on as the k-th output that comes next.
  void set_index(std::int64_t k) { index_ = k; }
  /// Goes on with the first output after `time`: one that was due is made, or the interval has changed.
  void skip_to(double time);

 private:
  double time_of(std::int64_t k) const;

  double start_ = 0, every_ = 0, end_ = 0;
  bool in_logarithm_ = false;
  std::int64_t index_ = 1;
};

/// The clock of a resumed run: goes on as the `index`-th output where the interval is the same as before, else with the
/// first one after `time`.
OutputClock resumed(OutputClock clock, bool same_interval, double index, double time);

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
