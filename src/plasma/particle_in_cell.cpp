#include "plasma/particle_in_cell.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "device/stage_clock.hpp"
#include "device/step_graph.hpp"
#include "plasma/field.hpp"
#include "plasma/host_field.hpp"

namespace pergola {

namespace {

void refuse(const std::string& text) { throw Error(ErrorKind::input, "plasma: " + text); }

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
  if (options.species.empty()) refuse("expected at least one species");
  for (const auto& species : options.species)
    if (!std::isfinite(species.charge) || !(species.mass > 0) || !std::isfinite(species.mass) ||
        !(species.weight > 0) || !std::isfinite(species.weight))
      refuse(
          fmt::format("species {}: charge {}, mass {}, weight {}: expected finite numbers, mass and weight above zero",
                      species.name, species.charge, species.mass, species.weight));
}

/// The names of a species' blocks in a checkpoint.
std::string block_name(std::size_t species, const char* what) { return fmt::format("plasma.{}.{}", species, what); }

template <class Real>
class ParticleInCellOf final : public ParticleInCell {
 public:
  ParticleInCellOf(const Device& device, const PlasmaOptions& options, Profile* profile)
      : device_(device),
        options_(options),
        clock_(device, profile),
        graph_(device),
        field_(make_plasma_field<Real>(device, options)) {}

  void start(const std::vector<PlasmaParticles>& particles) override {
    steps_ = 0, time_ = 0, behind_ = 0;
    load(particles);
  }

  void advance(std::int64_t count, double step) override {
    if (!particles_) throw Error(ErrorKind::input, "plasma: advance() before start()");
    const double begin = time_;
    for (std::int64_t done = 0; done < count;) {
      // Steps like the one before are repeated in batches; after each the particles are checked.
      const bool alike = behind_ == 0.5 * step;
      const std::int64_t batch = alike ? std::min(count - done, batch_steps) : 1;
      if (alike && device_.is_cuda()) {
        clock_.begin("steps");
        graph_.run(batch, {step, particles_->layout_version()}, [&] { launch_step(step); });
        clock_.end();
      } else {
        for (std::int64_t k = 0; k < batch; ++k) {
          clock_.begin("push");
          particles_->push(field_->electric(), {behind_ + 0.5 * step, step});
          find_field();
        }
      }
      behind_ = 0.5 * step;
      done += batch;
      steps_ += batch;
      time_ = begin + static_cast<double>(done) * step;
      particles_->check();
    }
    clock_.collect();
  }

  std::int64_t steps() const override { return steps_; }
  double time() const override { return time_; }
  std::int64_t count() const override {
    std::int64_t sum = 0;
    for (std::size_t s = 0; particles_ && s < options_.species.size(); ++s)
      sum += particles_->count(static_cast<int>(s));
    return sum;
  }

  PlasmaEnergies energies() const override {
    return {field_->energy(), particles_->measure(field_->electric(), behind_)};
  }
  PlasmaFields fields() const override {
    return {on_host(field_->density().read_only()), field_->potential(), electric_on_host()};
  }
  std::vector<double> potential() const override { return field_->potential(); }
  PlasmaParticles particles(int species, bool stored) const override {
    PlasmaParticles result = particles_->unload(species);
    const PlasmaSpecies& kind = options_.species[species];
    if (!stored && behind_ != 0)
      kick_on_host(options_, kind.charge / kind.mass, electric_on_host(), behind_, device_.threads(), result);
    return result;
  }

  StateBlocks save() const override;
  void restore(const StateBlocks& blocks) override;
  std::int64_t device_bytes() const override {
    return field_->device_bytes() + (particles_ ? particles_->device_bytes() : 0);
  }

 private:
  void load(const std::vector<PlasmaParticles>& particles);
  static constexpr std::int64_t batch_steps = 64;
  /// A step like the one before, without the clock of the stages: it is recorded and replayed.
  void launch_step(double step) {
    particles_->push(field_->electric(), {step, step});
    particles_->charge_density(field_->density());
    field_->solve();
    particles_->join();
  }
  void find_field() {
    clock_.begin("charge");
    particles_->charge_density(field_->density());
    clock_.begin("field");
    field_->solve();
    clock_.end();
  }
  std::vector<double> on_host(const Field<const Real>& field) const {
    std::vector<Real> values(static_cast<std::size_t>(field.size()));
    device_.memory().to_host(values.data(), field.data, values.size() * sizeof(Real));
    Field<Real> layout{nullptr, field.nx, field.ny, field.nz, field.pitch, field.wraps};
    return host_values(layout, values);
  }
  std::array<std::vector<double>, 3> electric_on_host() const {
    std::array<std::vector<double>, 3> result;
    const auto electric = field_->electric();
    for (std::size_t a = 0; a < static_cast<std::size_t>(options_.dimensions); ++a) result[a] = on_host(electric[a]);
    return result;
  }

  Device device_;
  PlasmaOptions options_;
  StageClock clock_;
  StepGraph graph_;
  std::unique_ptr<PlasmaField<Real>> field_;
  std::unique_ptr<TiledParticles<Real>> particles_;
  std::int64_t steps_ = 0;
  double time_ = 0;
  double behind_ = 0;  // velocities are those of time_ − behind_
};

template <class Real>
void ParticleInCellOf<Real>::load(const std::vector<PlasmaParticles>& particles) {
  if (particles.size() != options_.species.size())
    refuse(fmt::format("particles of {} species were given, expected {}", particles.size(), options_.species.size()));
  std::vector<std::int64_t> counts;
  double net = 0, gross = 0;
  for (std::size_t s = 0; s < particles.size(); ++s) {
    const auto& one = particles[s];
    counts.push_back(one.size());
    const auto whole = [&](const std::vector<double>& values, bool kept) {
      return values.size() == (kept ? one.id.size() : 0);
    };
    if (!whole(one.x, true) || !whole(one.y, true) || !whole(one.z, options_.dimensions == 3) || !whole(one.vx, true) ||
        !whole(one.vy, true) || !whole(one.vz, options_.velocities == 3))
      refuse(fmt::format("species {}: positions and velocities do not have the length of the ids, {}",
                         options_.species[s].name, one.size()));
    const double charge = options_.species[s].charge * options_.species[s].weight * static_cast<double>(one.size());
    net += charge, gross += std::fabs(charge);
  }
  if (!options_.background && std::fabs(net) > 1e-9 * gross)
    refuse(fmt::format("the box is not neutral: its charge is {} e n0 cells; ask for a background", net));
  graph_ = StepGraph(device_);
  particles_ = make_tiled_particles<Real>(device_, options_, counts);
  for (std::size_t s = 0; s < particles.size(); ++s) particles_->load(static_cast<int>(s), particles[s]);
  find_field();
  particles_->check();
}

template <class Real>
StateBlocks ParticleInCellOf<Real>::save() const {
  if (!particles_) throw Error(ErrorKind::input, "plasma: save() before start()");
  StateBlocks blocks;
  blocks.put_value("plasma.steps", steps_);
  blocks.put_value("plasma.time", time_);
  blocks.put_value("plasma.behind", behind_);
  for (std::size_t s = 0; s < options_.species.size(); ++s) {
    const auto all = particles_->unload(static_cast<int>(s));
    blocks.put_value(block_name(s, "count"), all.size());
    blocks.put(block_name(s, "id"), all.id);
    blocks.put(block_name(s, "x"), all.x), blocks.put(block_name(s, "y"), all.y);
    blocks.put(block_name(s, "vx"), all.vx), blocks.put(block_name(s, "vy"), all.vy);
    if (options_.dimensions == 3) blocks.put(block_name(s, "z"), all.z);
    if (options_.velocities == 3) blocks.put(block_name(s, "vz"), all.vz);
  }
  return blocks;
}

template <class Real>
void ParticleInCellOf<Real>::restore(const StateBlocks& blocks) {
  std::vector<PlasmaParticles> particles(options_.species.size());
  for (std::size_t s = 0; s < particles.size(); ++s) {
    auto& to = particles[s];
    const auto count = static_cast<std::size_t>(blocks.get_value<std::int64_t>(block_name(s, "count")));
    to.id = blocks.get<std::uint64_t>(block_name(s, "id"), count);
    to.x = blocks.get<double>(block_name(s, "x"), count), to.y = blocks.get<double>(block_name(s, "y"), count);
    to.vx = blocks.get<double>(block_name(s, "vx"), count), to.vy = blocks.get<double>(block_name(s, "vy"), count);
    if (options_.dimensions == 3) to.z = blocks.get<double>(block_name(s, "z"), count);
    if (options_.velocities == 3) to.vz = blocks.get<double>(block_name(s, "vz"), count);
  }
  steps_ = blocks.get_value<std::int64_t>("plasma.steps");
  time_ = blocks.get_value<double>("plasma.time");
  behind_ = blocks.get_value<double>("plasma.behind");
  load(particles);
}

void refuse_mixed(Precision precision) {
  if (precision == Precision::mixed) refuse("precision is single or double, mixed is not offered");
}

}  // namespace

std::unique_ptr<ParticleInCell> make_particle_in_cell(const Device& device, const PlasmaOptions& options,
                                                      Precision precision, Profile* profile) {
  check_options(options);
  refuse_mixed(precision);
  if (precision == Precision::single) return std::make_unique<ParticleInCellOf<float>>(device, options, profile);
  return std::make_unique<ParticleInCellOf<double>>(device, options, profile);
}

std::int64_t plasma_device_bytes(const Device& device, const PlasmaOptions& options, Precision precision,
                                 const std::vector<std::int64_t>& counts) {
  check_options(options);
  refuse_mixed(precision);
  const bool wide = precision == Precision::double_;
  // Density, potential, the components of the field, the transform and the Green factors, in padded rows.
  const std::int64_t padded = std::int64_t{options.cells[0] + 4} * options.cells[1] * options.cells[2];
  const std::int64_t field = (4 + options.dimensions) * padded * (wide ? 8 : 4);
  return field + tiled_bytes(device, options, counts, wide);
}

}  // namespace pergola
