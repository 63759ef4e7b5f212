// The particle-in-cell system: see particle_in_cell.hpp for the step.
//
// Velocities are stored half a step behind positions. `behind_` is that distance in time: 0 after start(), then half of
// the last step. A step of another length kicks by behind_ + step/2, so step lengths may change between calls. On one
// GPU, steps of equal length are recorded once as a graph and replayed in batches; checks come after each batch.
// Checkpoints hold stored velocities, `behind_` and the field solver's state, so a resumed run has the same bits. What
// particles deposit is found again.
#include "plasma/particle_in_cell.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "comm/shares.hpp"
#include "device/stage_clock.hpp"
#include "device/step_graph.hpp"
#include "plasma/host_field.hpp"

namespace pergola {

namespace {

void refuse(const std::string& text) { throw Error(ErrorKind::input, "plasma: " + text); }

/// Throws Error(input) that names what is wrong; the limits are those of the places in 32 bits and of the FFTs.
void check_options(const PlasmaOptions& options) {
  if (options.dimensions != 2 && options.dimensions != 3)
    refuse(fmt::format("expected two or three dimensions, found {}", options.dimensions));
  for (int a = 0; a < 3; ++a) {
    const int cells = options.cells[a];
    if (a >= options.dimensions ? cells != 1 : cells < 2 || cells % 2 != 0 || cells > 1 << 15)
      refuse(
          fmt::format("expected an even number of cells from 2 to 32768 on every axis (one along z in two "
                      "dimensions), found {} on axis {}",
                      cells, a));
  }
  if (options.velocities != 3 && (options.velocities != 2 || options.dimensions == 3))
    refuse(fmt::format("expected three velocities, or two in two dimensions, found {}", options.velocities));
  if (options.velocities == 2 && (options.magnetic_field.x != 0 || options.magnetic_field.y != 0))
    refuse("with two velocities the magnetic field is along z only; keep three velocities");
  const auto& b = options.magnetic_field;
  if (!std::isfinite(b.x) || !std::isfinite(b.y) || !std::isfinite(b.z)) refuse("the magnetic field is not finite");
  if (!(options.smoothing >= 0) || !std::isfinite(options.smoothing))
    refuse(fmt::format("the smoothing length is {}, expected a number not below zero", options.smoothing));
  check_loops(options);
  if (options.species.empty()) refuse("expected at least one species");
  for (const auto& species : options.species)
    if (!std::isfinite(species.charge) || !(species.mass > 0) || !std::isfinite(species.mass) ||
        !(species.weight > 0) || !std::isfinite(species.weight))
      refuse(
          fmt::format("species {}: charge {}, mass {}, weight {}: expected finite numbers, mass and weight above zero",
                      species.name, species.charge, species.mass, species.weight));
}

/// A coordinate of every particle in a checkpoint.
/// The names are part of the checkpoint's format.
struct SavedColumn {
  const char* name;
  std::vector<double> PlasmaParticles::*values;
};
std::vector<SavedColumn> saved_columns(const PlasmaOptions& options) {
  using P = PlasmaParticles;
  std::vector<SavedColumn> all{{"plasma.x", &P::x}, {"plasma.y", &P::y}, {"plasma.vx", &P::vx}, {"plasma.vy", &P::vy}};
  if (options.dimensions == 3) all.push_back({"plasma.z", &P::z});
  if (options.velocities == 3) all.push_back({"plasma.vz", &P::vz});
  return all;
}

/// A column of the checkpoint, one value per particle; the source keeps the values until they are written.
template <class T>
void put_per_particle(StateSource& to, const char* name, std::vector<T> values) {
  const auto kept = std::make_shared<const std::vector<T>>(std::move(values));
  to.put_range(
      name, sizeof(T), std::ssize(*kept),
      [kept](std::int64_t first, std::int64_t n, void* out) {
        if (n > 0) std::memcpy(out, kept->data() + first, static_cast<std::size_t>(n) * sizeof(T));
      },
      true);
}

template <class Real>
class ParticleInCellOf final : public ParticleInCell {
 public:
  ParticleInCellOf(const Device& device, const PlasmaOptions& options, Profile* profile,
                   std::shared_ptr<Communicator> ranks)
      : device_(device),
        ranks_(std::move(ranks)),
        options_(options),
        clock_(device, profile),
        graph_(device),
        slab_(options, ranks_.get()),
        field_(make_plasma_field<Real>(device, options, ranks_)) {}

  void start(const std::vector<PlasmaParticles>& particles) override {
    steps_ = 0, behind_ = 0, from_time_ = 0, from_steps_ = 0;
    load(particles);
  }

  void advance(std::int64_t count, double step) override {
    if (!particles_) throw Error(ErrorKind::input, "plasma: advance() before start()");
    if (behind_ != 0.5 * step) from_time_ = time(), from_steps_ = steps_;
    field_->set_time(from_time_, steps_ - from_steps_);
    for (std::int64_t done = 0; done < count;) {
      // Steps as long as the one before run in batches; after each the particles are checked.
      const bool alike = behind_ == 0.5 * step;
      const std::int64_t batch = alike ? std::min(count - done, batch_steps) : 1;
      if (alike && device_.is_cuda() && !ranks_) {
        clock_.begin("steps");
        graph_.run(batch, {step, particles_->layout_version()}, [&] { launch_step(step); });
        clock_.end();
      } else {
        for (std::int64_t k = 0; k < batch; ++k) {
          clock_.begin("push");
          particles_->push(field_->gathered(), {behind_ + 0.5 * step, step});
          deposit();
          field_->advance(step);
          clock_.end();
        }
      }
      behind_ = 0.5 * step;
      done += batch;
      steps_ += batch;
      particles_->check();
    }
    clock_.collect();
  }

  std::int64_t steps() const override { return steps_; }
  double time() const override { return from_time_ + static_cast<double>(steps_ - from_steps_) * (2 * behind_); }
  std::int64_t count() const override { return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0}); }

  std::int64_t own_count(int species) const override { return own_counts_[static_cast<std::size_t>(species)]; }
  std::int64_t held_count(int species) const override { return particles_->count(species); }

  PlasmaEnergies energies() const override {
    return {field_->energy(), particles_->measure(field_->gathered(), behind_)};
  }
  const plasma::TileSlab& slab() const override { return slab_; }
  /// The density of particles that deposit currents is counted when it is wanted.
  std::vector<double> field(PlasmaFieldPart part) const override {
    if (part == PlasmaFieldPart::density && options_.light_speed > 0)
      particles_->deposit_charge(field_->deposited().density);
    return field_->values(part);
  }
  PlasmaFields fields() const override {
    PlasmaFields fields;
    for (const PlasmaFieldPart part : plasma_field_parts(options_)) fields[part] = field(part);
    return fields;
  }
  PlasmaParticles particles(int species, bool stored, const PlasmaChoice* chosen) const override {
    if (stored || behind_ == 0) return particles_->unload(species, nullptr, chosen);
    const PlasmaSpecies& kind = options_.species[species];
    const HostFields fields = fields_on_host(device_, field_->gathered());
    const auto kick = [&](PlasmaParticles& some) {
      kick_on_host(options_, kind.charge / kind.mass, fields, behind_, device_.threads(), some);
    };
    return particles_->unload(species, kick, chosen);
  }
  void for_held(int species, const std::function<void(const PlasmaParticles&)>& use) const override {
    particles_->for_held(species, use);
  }

  void save(StateSource& to) const override;
  void restore(StateInput& from) override;
  std::int64_t device_bytes() const override {
    return field_->device_bytes() + (particles_ ? particles_->device_bytes() : 0);
  }

 private:
  void load(const std::vector<PlasmaParticles>& particles, StateInput* state = nullptr);
  static constexpr std::int64_t batch_steps = 64;
  /// A step as long as the one before, without stage clocks: it is recorded and replayed.
  void launch_step(double step) {
    particles_->push(field_->gathered(), {step, step});
    particles_->deposit(field_->deposited());
    field_->advance(step);
    particles_->join();
  }
  /// With stage clocks; that of the field then runs.
  void deposit() {
    clock_.begin("charge");
    particles_->deposit(field_->deposited());
    clock_.begin("field");
  }

  Device device_;
  std::shared_ptr<Communicator> ranks_;  // null: all particles are here
  PlasmaOptions options_;
  StageClock clock_;
  StepGraph graph_;
  plasma::TileSlab slab_;
  std::unique_ptr<PlasmaField<Real>> field_;
  std::unique_ptr<TiledParticles<Real>> particles_;
  std::vector<std::int64_t> counts_, own_counts_;  // of the species, on all ranks and given by this one
  std::int64_t steps_ = 0;
  double behind_ = 0;  // velocities are those of time() − behind_, half a step before
  // When steps as long as the last began: time() does not depend on the count in one advance().
  double from_time_ = 0;
  std::int64_t from_steps_ = 0;
};

/// Takes particles of all species and computes their fields, from the solver's state if there is one to restore. Throws
/// Error(input) for columns of wrong length, and for a charged box without background. Collective.
template <class Real>
void ParticleInCellOf<Real>::load(const std::vector<PlasmaParticles>& particles, StateInput* state) {
  if (particles.size() != options_.species.size())
    refuse(fmt::format("particles of {} species were given, expected {}", particles.size(), options_.species.size()));
  std::vector<std::int64_t> own;
  for (std::size_t s = 0; s < particles.size(); ++s) {
    const auto& one = particles[s];
    own.push_back(one.size());
    const auto whole = [&](const std::vector<double>& values, bool kept) {
      return values.size() == (kept ? one.id.size() : 0);
    };
    if (!whole(one.x, true) || !whole(one.y, true) || !whole(one.z, options_.dimensions == 3) || !whole(one.vx, true) ||
        !whole(one.vy, true) || !whole(one.vz, options_.velocities == 3))
      refuse(fmt::format("species {}: positions and velocities do not have the length of the ids, {}",
                         options_.species[s].name, one.size()));
  }
  counts_ = own_counts_ = own;
  if (ranks_) ranks_->all_reduce(counts_.data(), counts_.size(), Reduction::sum);
  double net = 0, gross = 0;
  for (std::size_t s = 0; s < counts_.size(); ++s) {
    const double charge = options_.species[s].charge * options_.species[s].weight * static_cast<double>(counts_[s]);
    net += charge, gross += std::fabs(charge);
  }
  if (!options_.background && std::fabs(net) > 1e-9 * gross)
    refuse(fmt::format("the box is not neutral: its charge is {} e n0 cells; ask for a background", net));
  graph_ = StepGraph(device_);
  particles_ = make_tiled_particles<Real>(device_, options_, own, ranks_);
  for (std::size_t s = 0; s < particles.size(); ++s) particles_->load(static_cast<int>(s), particles[s]);
  deposit();
  if (state)
    field_->restore(*state), field_->resume();
  else
    field_->start();
  clock_.end();
  particles_->check();
}

/// All species one after the other, so that a checkpoint can be read by any number of ranks.
template <class Real>
void ParticleInCellOf<Real>::save(StateSource& to) const {
  if (!particles_) throw Error(ErrorKind::input, "plasma: save() before start()");
  to.put_value("plasma.steps", steps_);
  to.put_value("plasma.from_time", from_time_);
  to.put_value("plasma.from_steps", from_steps_);
  to.put_value("plasma.behind", behind_);
  to.put("plasma.counts", counts_);
  PlasmaParticles all;
  const auto columns = saved_columns(options_);
  for (std::size_t s = 0; s < options_.species.size(); ++s) {
    PlasmaParticles one = particles_->unload(static_cast<int>(s));
    if (all.size() == 0) {
      all = std::move(one);
      continue;
    }
    all.id.insert(all.id.end(), one.id.begin(), one.id.end());
    for (const SavedColumn& column : columns)
      (all.*column.values).insert((all.*column.values).end(), (one.*column.values).begin(), (one.*column.values).end());
  }
  put_per_particle(to, "plasma.id", std::move(all.id));
  for (const SavedColumn& column : columns) put_per_particle(to, column.name, std::move(all.*column.values));
  field_->save(to);
}

/// Each rank reads an equal range of all particles, whatever ranges wrote them, and gives that range from then on.
template <class Real>
void ParticleInCellOf<Real>::restore(StateInput& from) {
  const auto counts = from.get<std::int64_t>("plasma.counts", std::ssize(options_.species));
  const Shares shares{std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), ranks_ ? ranks_->size() : 1};
  const int rank = ranks_ ? ranks_->rank() : 0;
  std::vector<PlasmaParticles> particles;
  std::int64_t before = 0;  // the first particle of the species among all
  const auto take = [&](const char* name, std::int64_t first, std::int64_t count, auto& to) {
    constexpr std::uint64_t bytes = 8;
    from.expect<std::uint64_t>(name, shares.total);
    to.resize(static_cast<std::size_t>(count));
    if (count > 0)
      from.read(name, static_cast<std::uint64_t>(first) * bytes, to.data(), static_cast<std::uint64_t>(count) * bytes);
  };
  for (const std::int64_t count : counts) {
    const std::int64_t first = std::clamp(shares.first(rank), before, before + count);
    const std::int64_t own = std::clamp(shares.first(rank + 1), before, before + count) - first;
    PlasmaParticles& to = particles.emplace_back();
    take("plasma.id", first, own, to.id);
    for (const SavedColumn& column : saved_columns(options_)) take(column.name, first, own, to.*column.values);
    before += count;
  }
  steps_ = from.get_value<std::int64_t>("plasma.steps");
  from_time_ = from.get_value<double>("plasma.from_time");
  from_steps_ = from.get_value<std::int64_t>("plasma.from_steps");
  behind_ = from.get_value<double>("plasma.behind");
  load(particles, &from);
}

/// Places are fixed-point numbers in either precision, so a mixed precision would gain nothing here.
void refuse_mixed(Precision precision) {
  if (precision == Precision::mixed) refuse("precision is single or double, mixed is not offered");
}

}  // namespace

std::unique_ptr<ParticleInCell> make_particle_in_cell(const Device& device, const PlasmaOptions& options,
                                                      Precision precision, Profile* profile,
                                                      std::shared_ptr<Communicator> ranks) {
  check_options(options);
  refuse_mixed(precision);
  if (precision == Precision::single)
    return std::make_unique<ParticleInCellOf<float>>(device, options, profile, std::move(ranks));
  return std::make_unique<ParticleInCellOf<double>>(device, options, profile, std::move(ranks));
}

std::int64_t plasma_device_bytes(const Device& device, const PlasmaOptions& options, Precision precision,
                                 const std::vector<std::int64_t>& counts, int ranks) {
  check_options(options);
  refuse_mixed(precision);
  const bool wide = precision == Precision::double_;
  const double part = ranks > 1 ? plasma::largest_slab_share(plasma::TileGrid(options), ranks) : 1;
  std::vector<std::int64_t> here;
  for (const std::int64_t count : counts) here.push_back(static_cast<std::int64_t>(part * static_cast<double>(count)));
  return plasma_field_entry(options).device_bytes(device, options, wide ? 8 : 4, ranks) +
         tiled_bytes(device, options, here, wide, part);
}

}  // namespace pergola
