// PlasmaSystem: how it is made, its steps, its files and its report. plasma_spread.cpp has what rank 0 reads of all
// ranks.
//
// Time is in the unit of the files; the particle-in-cell code has its own units (units_, per .file). All steps have the
// same length time.step, except a last, shorter one. Calls are collective; what rank 0 does alone is in on_root().
#include "sim/plasma_system.hpp"
#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "comm/shares.hpp"
#include "config/config.hpp"
#include "io/openpmd.hpp"
#include "io/state_hash.hpp"
#include "particles/sample.hpp"
#include "plasma/units.hpp"
#include "sim/plasma_curves.hpp"
#include "sim/plasma_preflight.hpp"
#include "sim/system.hpp"
#include "sim/system_entry.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace pergola {

namespace {

/// About the time of the steps between two checks of clocks and signals.
constexpr double shortest_batch_seconds = 0.02, longest_batch_seconds = 0.1;
constexpr std::int64_t most_steps_in_batch = 1 << 16;

/// What the theory of waves needs of each species: squared plasma frequency, thermal speed, drift.
std::vector<PlasmaKind> kinds(const PlasmaConfig& config) {
  std::vector<PlasmaKind> all;
  for (const auto& species : config.species) {
    const PlasmaLoad load = config.load(species);
    all.push_back({species.charge * species.charge * load.density / species.mass, load.thermal, load.drift});
  }
  return all;
}

/// The blocks of PlasmaDiagnostics in a saved state, without the particles.
StateBlocks blocks_of_record(StateInput& state) {
  StateBlocks record;
  for (const std::string& name : state.names()) {
    if (!name.starts_with("diagnostics/")) continue;
    auto& block = record.blocks()[name];
    block.resize(static_cast<std::size_t>(state.bytes(name)));
    state.read(name, 0, block.data(), block.size());
  }
  return record;
}

}  // namespace

PlasmaSystem::PlasmaSystem(const RunConfig& config, StateInput* state, std::shared_ptr<Communicator> communicator)
    : config_(checked(config)),
      ranks_(communicator->size() > 1 ? communicator : nullptr),
      device_(open_rank_device(config, *communicator)),
      units_(config.plasma.units()),
      options_(config.plasma.options()),
      diagnostics_(options_, units_, config.plasma.wave, kinds(config.plasma)) {
  auto warnings = check_plasma(config_);
  if (ranks_)
    on_all(*ranks_, [&] { check_memory(); });
  else
    check_memory();
  particles_ = make_particle_in_cell(device_, options_, config_.precision(), &profile_, ranks_);
  if (state) {
    particles_->restore(*state);
    diagnostics_.restore(blocks_of_record(*state));
  } else {
    for (auto& text : warnings) remarks_.push_back({LogLevel::warning, std::move(text)});
    load();
  }
  size_ = particles_->count();
}

// Before anything is allocated; names the keys that make the plasma smaller.
void PlasmaSystem::check_memory() const {
  const PlasmaMemory memory = plasma_memory(config_, device_, ranks_ ? ranks_->size() : 1);
  if (memory.fits) return;
  const bool device_short = device_.is_cuda() && memory.device_bytes > memory.device_free_bytes;
  const double needed = device_short        ? memory.device_bytes
                        : device_.is_cuda() ? memory.host_bytes
                                            : memory.device_bytes + memory.host_bytes;
  throw Error(ErrorKind::device,
              fmt::format("{}: {:.0f} particles need {} ({:.0f} bytes), {} ({:.0f} bytes) is free; lower "
                          "particles_per_cell or plasma.cells",
                          device_short ? device_.spec() : "cpu", memory.particles, bytes_text(needed), needed,
                          bytes_text(device_short ? memory.device_free_bytes : memory.host_free_bytes),
                          device_short ? memory.device_free_bytes : memory.host_free_bytes));
}

// Each rank makes its own range of all particles; ids count on from species to species.
void PlasmaSystem::load() {
  std::vector<PlasmaParticles> particles;
  {
    Profile::Scope scope(&profile_, "initial conditions");
    Shares shares{0, ranks_ ? ranks_->size() : 1};
    for (const auto& species : config_.plasma.species)
      shares.total += loaded_count(options_, config_.plasma.load(species));
    std::int64_t before = 0;
    for (std::size_t s = 0; s < config_.plasma.species.size(); ++s) {
      const PlasmaLoad load = config_.plasma.load(config_.plasma.species[s]);
      const auto stream = static_cast<std::uint32_t>(s);
      const auto first_id = static_cast<std::uint64_t>(before + 1);
      const std::int64_t end = before + loaded_count(options_, load);
      if (ranks_) {
        const std::int64_t first = std::clamp(shares.first(ranks_->rank()), before, end);
        const std::int64_t last = std::clamp(shares.first(ranks_->rank() + 1), before, end);
        particles.push_back(load_plasma_part(options_, load, config_.plasma.seed, stream, first_id, device_.threads(),
                                             first - before, last - first, *ranks_));
      } else {
        particles.push_back(load_plasma(options_, load, config_.plasma.seed, stream, first_id, device_.threads()));
      }
      before = end;
    }
  }
  Profile::Scope scope(&profile_, "start");
  particles_->start(particles);
}

double PlasmaSystem::time() const {
  return over_ ? config_.run.end_time : static_cast<double>(particles_->steps()) * config_.time.step;
}

StepCounts PlasmaSystem::counts() const { return {particles_->steps(), particles_->steps() * size_, 0}; }

// A batch is as long as a fraction of a second, so that clocks and signals are looked at in time. Ranks agree on it.
void PlasmaSystem::take_steps(std::int64_t most) {
  const auto begin = Clock::now();
  const std::int64_t next = pause_every_ > 0 ? pause_every_ - particles_->steps() % pause_every_ : most;
  const std::int64_t count = std::min({batch_, most, next});
  particles_->advance(count, config_.time.step / units_.time().file);
  double seconds = seconds_since(begin);
  if (ranks_) seconds = share_value(*ranks_, seconds);
  if (seconds > longest_batch_seconds)
    batch_ = std::max<std::int64_t>(1, batch_ / 2);
  else if (seconds < shortest_batch_seconds && count == batch_)
    batch_ = std::min(2 * batch_, most_steps_in_batch);
}

// Whole steps only, the last one at or just after `limit`.
bool PlasmaSystem::advance(double limit, const std::function<bool()>& enough) {
  if (over_) return true;
  const auto wanted = static_cast<std::int64_t>(std::ceil(limit / config_.time.step - 1e-9));
  const std::int64_t target = std::min(wanted, whole_plasma_steps(config_));
  while (particles_->steps() < target) {
    take_steps(target - particles_->steps());
    if (enough && enough()) return false;
  }
  return true;
}

void PlasmaSystem::finish() {
  if (over_) return;
  advance(config_.run.end_time, nullptr);
  const double left = config_.run.end_time - time();
  if (left > 1e-9 * config_.time.step) particles_->advance(1, left / units_.time().file);
  over_ = true;
}

std::vector<std::string> PlasmaSystem::energy_columns() const {
  std::vector<std::string> names;
  for (const auto& species : options_.species) {
    const std::string name = "kinetic_" + species.name;
    names.push_back(name);
    for (int axis = 0; axis < options_.velocities; ++axis) names.push_back(fmt::format("{}.{}", name, "xyz"[axis]));
  }
  return names;
}

EnergyUnits PlasmaSystem::energy_units() const {
  if (!units_.si()) return {};
  return {units_.time_name(), energy_unit_name(units_), momentum_unit_name(units_), ""};  // the angular momentum is 0
}

EnergyRow PlasmaSystem::measure() {
  const PlasmaEnergies now = particles_->energies();
  const double energy = units_.energy().file, momentum = units_.momentum().file;
  diagnostics_.record_energy(time() / units_.time().file, now.field);
  EnergyRow row;
  row.energies = {energy * now.kinetic(), energy * now.field, momentum * now.momentum(), {0, 0, 0}};
  for (const PlasmaSums& species : now.species) {
    const double of[] = {species.energy.x, species.energy.y, species.energy.z};
    row.more.push_back(energy * species.kinetic());
    for (int axis = 0; axis < options_.velocities; ++axis) row.more.push_back(energy * of[axis]);
  }
  return row;
}

void PlasmaSystem::write_snapshot(const std::filesystem::path& path, WriteQueue* queue,
                                  const std::function<void()>& done) {
  on_root([&] { hand_over_snapshot(path, queue, done); });
}

/// On rank 0. Puts the parts of a snapshot into the queue one by one; the last one closes the file.
void PlasmaSystem::hand_over_snapshot(const std::filesystem::path& path, WriteQueue* queue,
                                      const std::function<void()>& done) {
  auto taken = std::make_shared<PlasmaSnapshot>();
  PlasmaSnapshot& snapshot = *taken;
  snapshot.options = options_;
  snapshot.units = units_;
  snapshot.step = particles_->steps();
  snapshot.time = time() / units_.time().file;
  snapshot.dt = config_.time.step / units_.time().file;
  std::vector<std::int64_t> counts;
  for (const auto& species : config_.plasma.species)
    counts.push_back(loaded_count(options_, config_.plasma.load(species)));
  const OpenPmdOptions write{config_.output.particles_most, config_.precision() == Precision::single};
  const auto writer = std::make_shared<std::unique_ptr<OpenPmdWriter>>();
  queue->push(0, [writer, taken, counts, write, path] {
    *writer = std::make_unique<OpenPmdWriter>(path, std::move(*taken), counts, write);
  });
  for (const PlasmaFieldPart part : plasma_field_parts(options_))
    for_columns(static_cast<std::int64_t>(part), [&](std::vector<double> columns) {
      const auto bytes = static_cast<std::int64_t>(columns.size() * sizeof(double));
      queue->push(bytes, [writer, part, columns = std::move(columns)] { (*writer)->append(part, columns); });
    });
  constexpr std::int64_t bytes_each = 6 * sizeof(double) + sizeof(std::uint64_t);
  for (std::size_t s = 0; s < counts.size(); ++s)
    for_pieces(static_cast<int>(s), [&](PlasmaParticles piece) {
      const std::int64_t bytes = piece.size() * bytes_each;
      queue->push(bytes, [writer, s, piece = std::move(piece)] { (*writer)->append(s, piece); });
    });
  queue->push(0, [writer, done] {
    (*writer)->commit();
    writer->reset();
    if (done) done();
  });
}

/// Each rank hashes the particles that it gives. particles_->particles() is a call of all ranks.
std::string PlasmaSystem::state_hash() {
  StateHash hash;
  for (int s = 0; s < static_cast<int>(options_.species.size()); ++s)
    hash.add(particles_->particles(s), s, device_.threads());
  if (ranks_) hash.add_over(*ranks_);
  return hash.text();
}

/// Which ids a sample has is known without the particles: they count on from species to species.
const std::vector<PlasmaChoice>& PlasmaSystem::choice(std::int64_t most) const {
  if (chosen_most_ == most) return chosen_;
  const auto ids = ids_of_sample(device_.threads(), size_, most);
  chosen_.clear();
  std::uint64_t before = 0;
  auto next = ids.begin();
  for (const auto& species : config_.plasma.species) {
    PlasmaChoice& of = chosen_.emplace_back(loaded_count(options_, config_.plasma.load(species)));
    const std::uint64_t end = before + static_cast<std::uint64_t>(of.count());
    for (; next != ids.end() && *next <= end; ++next) of.add(static_cast<std::int64_t>(*next - before - 1), *next);
    before = end;
  }
  chosen_most_ = most;
  return chosen_;
}

/// One process reads the chosen particles alone; of several ranks all come to rank 0, some at a time.
Particles PlasmaSystem::sample(std::int64_t most) {
  Particles sample;
  const double length = units_.length().file, velocity = units_.velocity().file;
  const auto value = [](const std::vector<double>& list, std::size_t i) { return list.empty() ? 0.0 : list[i]; };
  std::int64_t before = 0;  // particles of the species before
  int s = 0;
  for (const PlasmaChoice& chosen : choice(most)) {
    const std::int64_t first = sample.size();
    sample.resize(first + chosen.size());
    const auto take = [&](const PlasmaParticles& from) {
      for (std::size_t i = 0; i < from.id.size(); ++i) {
        const std::int64_t place = chosen.place(static_cast<std::int64_t>(from.id[i]) - before - 1);
        if (place < 0) continue;
        const auto k = static_cast<std::size_t>(first + place);
        sample.id[k] = from.id[i];
        sample.species[k] = static_cast<std::uint8_t>(s);
        sample.mass[k] = options_.species[static_cast<std::size_t>(s)].mass;
        sample.x[k] = length * from.x[i], sample.y[k] = length * from.y[i], sample.z[k] = length * value(from.z, i);
        sample.vx[k] = velocity * from.vx[i], sample.vy[k] = velocity * from.vy[i];
        sample.vz[k] = velocity * value(from.vz, i);
      }
    };
    if (ranks_)
      for_pieces(s, take);
    else
      take(particles_->particles(s, false, &chosen));
    before += chosen.count();
    ++s;
  }
  return sample;
}

/// For pages: on one process the velocities are those of half a step before; finding those of now takes three times as
/// long.
SampledPoints PlasmaSystem::sample_points(std::int64_t most) {
  SampledPoints points;
  const double length = units_.length().file, velocity = units_.velocity().file;
  const auto add = [&](double x, double y, double vx, std::uint8_t species) {
    points.x.push_back(static_cast<float>(x)), points.y.push_back(static_cast<float>(y));
    points.z.push_back(static_cast<float>(vx)), points.speed.push_back(static_cast<float>(std::abs(vx)));
    points.species.push_back(species);
  };
  if (ranks_) {
    const Particles chosen = sample(most);
    for (std::size_t k = 0; k < chosen.id.size(); ++k) add(chosen.x[k], chosen.y[k], chosen.vx[k], chosen.species[k]);
    return points;
  }
  std::uint8_t s = 0;
  for (const PlasmaChoice& chosen : choice(most)) {
    const PlasmaParticles some = particles_->particles(s, true, &chosen);
    for (std::size_t k = 0; k < some.id.size(); ++k)
      add(length * some.x[k], length * some.y[k], velocity * some.vx[k], s);
    ++s;
  }
  return points;
}

SampleLook PlasmaSystem::sample_look() const {
  SampleLook look;
  for (const auto& species : options_.species) look.kinds.push_back(species.name);
  look.header.time = time();
  look.length_unit = units_.length_name();
  look.time_unit = units_.time_name();
  look.phase_space = true;
  return look;
}

// Along the axis in which the configured wave has the most wavelengths.
std::vector<StateCurve> PlasmaSystem::curves() const {
  const auto& mode = config_.plasma.wave.mode;
  const auto shorter = [](int a, int b) { return std::abs(a) < std::abs(b); };
  const auto axis = std::max_element(mode.begin(), mode.begin() + options_.dimensions, shorter) - mode.begin();
  const auto part = static_cast<std::int64_t>(electric_part(static_cast<int>(axis)));
  return plasma_curves(layers_of(part), options_, units_, static_cast<int>(axis));
}

std::vector<StateMap> PlasmaSystem::maps() const {
  const auto density = static_cast<std::int64_t>(PlasmaFieldPart::density);
  return plasma_maps(layers_of(density), layers_of(field_strength), options_, units_);
}

SeenDensity PlasmaSystem::density(const Sight& sight) {
  sight_ = sight;
  if (ranks_)
    bring_picture();
  else
    count_held();
  return std::exchange(seen_, {});
}

/// Whole numbers: the sums depend neither on the order of particles nor on which rank holds them.
void PlasmaSystem::count_held() const {
  CountSeen body{.sight = sight_};
  for (Sight::Row* row : {&body.sight.right, &body.sight.up, &body.sight.depth})
    (*row)[0] *= units_.length().file, (*row)[1] *= units_.length().file, (*row)[2] *= units_.velocity().file;
  seen_ = {sight_.width, sight_.height, {}};
  seen_.pixels.resize(static_cast<std::size_t>(sight_.width) * static_cast<std::size_t>(sight_.height));
  for (int s = 0; s < static_cast<int>(options_.species.size()); ++s)
    particles_->for_held(s, [&](const PlasmaParticles& some) {
      CountSeen here = body;
      here.x = some.x.data(), here.y = some.y.data(), here.z = some.vx.data();
      count_seen(here, 0, some.size(), seen_.pixels.data());
    });
}

void PlasmaSystem::write_records(const std::filesystem::path& directory) {
  if (!ranks_ || ranks_->is_root()) diagnostics_.write(directory);
}

std::vector<Remark> PlasmaSystem::remarks() {
  auto all = std::exchange(remarks_, {});
  return !ranks_ || ranks_->is_root() ? all : std::vector<Remark>();
}

std::vector<Check> PlasmaSystem::checks(const Energies& start, const Energies& end,
                                        const std::function<void(const std::string& part)>& /*begins*/) {
  RunEnds ends;
  ends.start = start;
  ends.end = end;
  ends.watched = [this](const std::string& name) { return diagnostics_.measure(name); };
  return report_card(config_.expectations(), ends);
}

std::string PlasmaSystem::describe() const {
  auto species = nlohmann::ordered_json::array();
  for (std::size_t s = 0; s < options_.species.size(); ++s) {
    const auto& one = options_.species[s];
    species.push_back({{"name", one.name},
                       {"n", loaded_count(options_, config_.plasma.load(config_.plasma.species[s]))},
                       {"charge", one.charge},
                       {"mass", one.mass},
                       {"weight", one.weight}});
  }
  nlohmann::ordered_json record;
  record["plasma"] = {{"dimensions", options_.dimensions},
                      {"cells", config_.plasma.cells},
                      {"species", species},
                      {"length_unit", units_.length_name()},
                      {"time_unit", units_.time_name()},
                      {"potential_unit", potential_unit_name(units_)},
                      {"energy_unit", energy_unit_name(units_)},
                      {"momentum_unit", momentum_unit_name(units_)},
                      {"omega_p_dt", config_.time.step / units_.time().file}};
  if (config_.output.spectrum_every > 0 && config_.plasma.wave.asked_for()) {
    const WaveFit fit = diagnostics_.wave_fit();
    const std::complex<double> theory = diagnostics_.theory_of_wave();
    const auto known = [](double value) {
      return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    };
    const bool stable = std::isnan(theory.real()) && theory.imag() == 0;
    record["wave"] = {{"mode", config_.plasma.wave.mode},
                      {"fit", fit.kind()},
                      {"growth_rate", known(fit.rate)},
                      {"error", known(fit.error)},
                      {"theory", stable ? nlohmann::ordered_json("stable") : known(theory.imag())},
                      {"frequency", known(fit.frequency)},
                      {"frequency_theory", known(theory.real())},
                      {"from", known(fit.from)},
                      {"until", known(fit.until)}};
  }
  return record.dump();
}

SystemEntry plasma_system_entry() {
  return {.kind = "plasma",
          .snapshots = "plasma_#.h5",
          .snapshots_by_step = true,
          .picture = [](const RunConfig&) -> std::string { return "plasma"; },
          .make = [](const RunConfig& config, std::shared_ptr<Communicator> communicator,
                     StateInput* state) -> std::unique_ptr<System> {
            return std::make_unique<PlasmaSystem>(config, state, std::move(communicator));
          }};
}

}  // namespace pergola
