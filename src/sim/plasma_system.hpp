#pragma once
#include <memory>
#include <string>
#include <vector>

#include "domain/rank_rows.hpp"
#include "plasma/particle_in_cell.hpp"
#include "sim/plasma_diagnostics.hpp"
#include "sim/state_map.hpp"
#include "sim/system.hpp"

namespace pergola {

struct FieldBlock;

/// A plasma with its field on a device, from a configuration. For runs and for users of the library.
///
/// Fields exist at whole steps. An output happens at the first step that is not before its time and states the time of
/// that step. Only the last step of a run may be shorter than time.step. With several ranks each has a slab of the box,
/// and gives and saves a range of the particles, counted through all species.
class PERGOLA_API PlasmaSystem : public System {
 public:
  /// From the configuration's species, or from what save() gave. Throws Error(input) where check_plasma does,
  /// Error(device) when the particles do not fit, with the bytes needed and free.
  explicit PlasmaSystem(const RunConfig& config, StateInput* state = nullptr,
                        std::shared_ptr<Communicator> communicator = serial_communicator());

  const ParticleInCell& particle_in_cell() const { return *particles_; }
  const PlasmaOptions& options() const { return options_; }
  const PlasmaUnits& units() const { return units_; }

  const Device& device() const override { return device_; }
  Profile& profile() override { return profile_; }
  double start_time() const override { return 0; }
  double time() const override;
  double step_time() const override { return time(); }
  std::int64_t size() const override { return size_; }
  StepCounts counts() const override;

  void on_root(const std::function<void()>& action) override;
  bool advance(double limit, const std::function<bool()>& enough) override;
  void pause_every(std::int64_t steps) override { pause_every_ = steps; }
  void finish() override;
  void record() override;
  std::vector<std::string> energy_columns() const override;
  /// Of a plasma in SI. The others are in units of their own, which run.json names.
  EnergyUnits energy_units() const override;
  EnergyRow measure() override;
  void write_snapshot(const std::filesystem::path& path, WriteQueue* queue, const std::function<void()>& done) override;
  std::vector<Remark> remarks() override;
  std::vector<Check> checks(const Energies& start, const Energies& end,
                            const std::function<void(const std::string& part)>& begins) override;
  void write_records(const std::filesystem::path& directory) override;
  void save(StateSource& to) override;
  bool save_own(StateSource& to) override;
  std::string describe() const override;
  std::string state_hash() override;
  Particles sample(std::int64_t most) override;
  SampledPoints sample_points(std::int64_t most) override;
  SampleLook sample_look() const override;
  /// Of the field along the axis that [plasma.wave] has most of its wavelengths on.
  std::vector<StateCurve> curves() const override;
  std::vector<StateMap> maps() const override;
  /// Of phase space: x, y and vx, half a step before time(). Each rank counts the particles that it holds.
  SeenDensity density(const Sight& sight) override;

 private:
  /// As the number of a field, beside those of PlasmaFieldPart: |E|.
  static constexpr std::int64_t field_strength = 1000;
  void check_memory() const;
  void load();
  /// The particles of a species, of all ranks; on rank 0, in on_root(). Where ranks have them they come some at a time;
  /// one process gives all at once.
  void for_pieces(int species, const std::function<void(PlasmaParticles piece)>& use) const;
  /// The particles of a sample, by species.
  const std::vector<PlasmaChoice>& choice(std::int64_t most) const;
  /// Counts the particles in this rank's part of the box into seen_, as sight_ sees them; bring_picture() adds up those
  /// of all ranks on rank 0.
  void count_held() const;
  void bring_picture() const;
  void add_up_picture() const;
  /// A field of all ranks, or |E|, on rank 0, in on_root(): some columns of it at a time, or some layers, in their
  /// order, with the place of the first value. One process gives all at once.
  void for_columns(std::int64_t field, const std::function<void(std::vector<double> columns)>& use) const;
  FieldLayers layers_of(std::int64_t field) const;
  std::vector<double> own_field(std::int64_t field) const;
  FieldBlock block(std::int64_t what, std::int64_t piece) const;
  void for_blocks(std::int64_t field, std::int64_t what,
                  const std::function<void(const FieldBlock& block, std::vector<double> values)>& use) const;
  /// Answers a request of rank 0 with this rank's part.
  void answer(const RankRows::Request& own, std::byte* to) const;
  void answer_particles(const RankRows::Request& own, std::byte* to) const;
  /// Rank 0 lets all ranks gather what it will request, once.
  void bring(std::int64_t what, std::int64_t which = 0) const;
  void bring_own(std::int64_t what, std::int64_t which) const;
  void save_record(StateSource& to) const;
  void hand_over_snapshot(const std::filesystem::path& path, WriteQueue* queue, const std::function<void()>& done);
  /// Whole steps, as many as fit between two looks at the clock.
  void take_steps(std::int64_t most);

  RunConfig config_;
  std::shared_ptr<Communicator> ranks_;  // null: one, which has all
  Device device_;
  PlasmaUnits units_;
  PlasmaOptions options_;
  PlasmaDiagnostics diagnostics_;
  Profile profile_;
  std::unique_ptr<ParticleInCell> particles_;
  std::int64_t size_ = 0;
  std::int64_t batch_ = 1, pause_every_ = 0;
  bool over_ = false;
  std::vector<Remark> remarks_;
  RankRows* rows_ = nullptr;  // in on_root(), of several ranks
  // This rank's part of what rank 0 requests: its range of the particles by species, its state, and a field in its
  // layers; on rank 0 a block of that field.
  mutable std::vector<std::optional<PlasmaParticles>> own_particles_;
  mutable std::optional<StateSource> own_state_;
  mutable std::int64_t own_state_steps_ = 0;  // that had been taken when it was saved
  mutable std::vector<double> own_field_, block_;
  mutable std::int64_t own_field_number_ = -1;
  mutable std::int64_t chosen_most_ = -1;  // particles, of the sample in chosen_
  mutable std::vector<PlasmaChoice> chosen_;
  mutable Sight sight_;
  mutable SeenDensity seen_;
};

}  // namespace pergola
