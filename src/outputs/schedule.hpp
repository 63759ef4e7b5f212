#pragma once
#include <cstdint>
#include <vector>

#include "outputs/output.hpp"

// When outputs are due. Times are multiples of an interval from the start of the run, so that a resumed run and an
// uninterrupted one write at the same times. The start and the end of a run have outputs of their own.
// In a cosmological run times are scale factors, and intervals are in their logarithm. An output that was due while
// the run could not stop is written once, at the next stop.
namespace pergola {

/// Output at start + k · every, k = 1, 2, …, before the end; in logarithm (scale factors) at start · exp(k · every).
/// Never if `every` is 0.
class OutputClock {
 public:
  OutputClock() = default;
  OutputClock(double start, double every, double end, bool in_logarithm = false)
      : start_(start), every_(every), end_(end), in_logarithm_(in_logarithm) {}

  /// The time of the next output; infinite if there is none before the end.
  double next() const;
  std::int64_t index() const { return index_; }
  /// Continue with output number k.
  void set_index(std::int64_t k) { index_ = k; }
  /// Continue with the first output after `time`.
  void skip_to(double time);

 private:
  double time_of(std::int64_t k) const;

  double start_ = 0, every_ = 0, end_ = 0;
  bool in_logarithm_ = false;
  std::int64_t index_ = 1;
};

/// The clock of a resumed run. With the same interval it continues with output `index`, else with the first one after
/// `time`.
OutputClock resumed(OutputClock clock, bool same_interval, double index, double time);

/// The times of snapshots between start and end: every output.snapshots_every, and at output.redshifts.
class SnapshotTimes {
 public:
  SnapshotTimes() = default;
  /// For a new run.
  SnapshotTimes(const OutputContext& context, const System& system);
  /// For a resumed run. `memory`: what save() stored.
  SnapshotTimes(const OutputContext& context, const System& system, const OutputMemory& memory);

  double next() const;
  /// The snapshots up to `time` are written.
  void skip_to(double time);
  void save(OutputMemory& memory) const;

 private:
  void list_redshifts(const RunConfig& config, double now);
  void forget_listed(double now);

  OutputClock clock_;
  std::vector<double> listed_;  // scale factors, the next one last
};

}  // namespace pergola
