#pragma once
#include <optional>

#include "analysis/large_waves.hpp"
#include "analysis/layzer_irvine.hpp"
#include "io/snapshot_writer.hpp"
#include "sim/simulation.hpp"
#include "sim/system.hpp"

namespace pergola {

/// A Simulation under gravity as a run sees it. Every rank takes part in the steps; rank 0 shows the particles, its own
/// and those of the others.
class GravityRun final : public System {
 public:
  /// From the configuration's particles, or from what save() gave.
  GravityRun(const RunConfig& config, std::shared_ptr<Communicator> communicator, StateInput* state);
  /// With these particles, at `time`; in this process alone.
  GravityRun(const RunConfig& config, const Particles& particles, double time);

  const Device& device() const override { return simulation_.device(); }
  Profile& profile() override { return simulation_.profile(); }
  double start_time() const override { return simulation_.start_time(); }
  double time() const override { return simulation_.time(); }
  double step_time() const override { return simulation_.step_time(); }
  double measured_at(double due) const override { return simulation_.measured_at(due); }
  std::int64_t size() const override { return simulation_.size(); }
  StepCounts counts() const override { return simulation_.counts(); }

  void on_root(const std::function<void()>& action) override { simulation_.on_root(action); }
  bool advance(double limit, const std::function<bool()>& enough) override;
  void finish() override;
  bool can_audit() const override { return simulation_.can_audit(); }
  ForceErrors audit(std::int64_t sample) override;
  void pause_every(std::int64_t steps) override { simulation_.pause_every(steps); }
  EnergyRow measure() override;
  void write_snapshot(const std::filesystem::path& path, WriteQueue* queue, const std::function<void()>& done) override;
  std::vector<std::string> remarks() override;
  std::vector<Check> checks(const Energies& start, const Energies& end) override;
  std::string state_hash() const override { return simulation_.state_hash(); }
  void save(StateSource& to) override;
  bool save_own(StateSource& to) override { return simulation_.save_own(to); }
  std::string describe() const override;
  bool has_center() const override { return !simulation_.box().periodic(); }
  Particles sample(std::int64_t most) override { return simulation_.sample(most); }
  SampleLook sample_look() const override;
  std::vector<StateCurve> curves() const override;

 private:
  /// Whether the report card has a line of this name.
  bool expects(std::string_view name) const;
  /// Of a snapshot at time().
  SnapshotHeader header() const;
  void hand_over_snapshot(const std::filesystem::path& path, WriteQueue* queue, const std::function<void()>& done);
  Particles standing_for_all(std::int64_t most) const;
  /// What an expanding universe is watched with, on rank 0; from a checkpoint.
  void watch(const Energies& energies);
  void restore_watch(StateInput& state);
  std::vector<Check> growth_checks() const;
  /// What the user should know about where the particles come from.
  std::vector<std::string> remarks_at_start() const;
  /// The particles at time(), fetched once.
  const Particles& particles();

  Simulation simulation_;
  std::optional<Particles> shown_;
  std::optional<SnapshotContents> contents_;
  Particles starting_particles_;  // kept for return_distance only
  LayzerIrvine energy_equation_;
  double energy_error_ = 0;
  WaveWatch waves_;
  bool said_start_ = false;
  std::int64_t most_outside_ = 0;
  std::string remark_;
};

}  // namespace pergola
