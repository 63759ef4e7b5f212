// A system under gravity as a run sees it: energies, files, remarks and the report card.
//
// Particles are with their ranks (distributed), or rank 0 has all. Each function treats both: measurements over own
// particles are collective, else on_root() does them on rank 0. Values that all ranks need are shared afterwards.
// Energies and momenta are in the run's units; in an expanding universe time is the scale factor a.
#include "analysis/radii.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "comm/shares.hpp"
#include "io/snapshot_writer.hpp"
#include "io/spread_snapshot.hpp"
#include "io/state_hash.hpp"
#include "sim/analysis_snapshot.hpp"
#include "sim/gravity_system.hpp"
#include "sim/spread_view.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace pergola {

namespace {

/// What was measured is known no better than so.
void allow(Check& check, double doubt) {
  check.tolerance += doubt;
  check.passed = std::abs(check.measured - check.expected) <= check.tolerance;
}

std::vector<Check> joined(std::vector<Check> list, const std::vector<Check>& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

/// The energy error over what the particles have among themselves: in an external field the total may be nearly all
/// that of the orbit in it.
Check internal_check(const Energies& start, const Energies& end, double tolerance) {
  Check check{"internal_energy_error", (end.total() - start.total()) / start.internal, 0, tolerance, false};
  check.passed = std::abs(check.measured) <= tolerance;
  return check;
}

/// The momentum that a universe has gained over that of particles which all go one way with their rms speed.
Check momentum_check(const Energies& start, const Energies& end, double scale_factor, double mass) {
  const Vec3<double> gained = end.momentum - start.momentum;
  Check check{"momentum", std::sqrt(dot(gained, gained) / (2 * end.kinetic * mass)) / scale_factor, 0, 1e-3, false};
  check.passed = check.measured <= check.tolerance;
  return check;
}

/// Shell by shell k, the number of waves and their power.
void put_starting_power(const StartingPower& power, StateSource& to) {
  if (power.scale_factor == 0) return;
  std::vector<double> rows;
  for (const PowerBin& bin : power.spectrum.bins)
    rows.insert(rows.end(), {bin.k, static_cast<double>(bin.modes), bin.power});
  to.put_value("starting_power.scale_factor", power.scale_factor);
  to.put_value("starting_power.shot_noise", power.spectrum.shot_noise);
  to.put("starting_power.shells", std::move(rows));
}

StartingPower get_starting_power(StateInput& state) {
  StartingPower power;
  if (!state.has("starting_power.shells")) return power;
  power.scale_factor = state.get_value<double>("starting_power.scale_factor");
  power.spectrum.shot_noise = state.get_value<double>("starting_power.shot_noise");
  const auto bytes = state.bytes("starting_power.shells");
  const auto rows = state.get<double>("starting_power.shells", static_cast<std::int64_t>(bytes / sizeof(double)));
  for (std::size_t i = 0; i + 2 < rows.size(); i += 3)
    power.spectrum.bins.push_back(
        {.k = rows[i], .modes = static_cast<std::int64_t>(rows[i + 1]), .power = rows[i + 2]});
  return power;
}

}  // namespace

/// A state that was saved without a run, or by an earlier version, has none of these blocks.
void GravitySystem::begin_report(StateInput* state) {
  if (state && config().cosmology && state->has("energy_equation") &&
      state->bytes("energy_equation") == sizeof(LayzerIrvine)) {
    energy_equation_ = state->get_value<LayzerIrvine>("energy_equation");
    energy_error_ = state->get_value<double>("energy_error");
    waves_ = state->get_value<WaveWatch>("large_waves");
    starting_power_ = get_starting_power(*state);
  }
  note_start(state);
  note_pairs(state);
}

/// A state of an earlier version has none.
void GravitySystem::note_pairs(StateInput* state) {
  pairs_.clear();
  softened_pairs_.clear();
  if (!state && looks_at_pairs(config(), size()))
    on_root([&] {
      const Particles all = particles();
      softened_pairs_ = softened_pairs_remark(config(), all);
      if (watches_pairs(config(), size())) pairs_ = find_hard_pairs(config(), all);
    });
  if (!state || !watches_pairs(config(), size()) || !state->has("hard_pairs")) return;
  pairs_ = state->get<HardPair>("hard_pairs", static_cast<std::int64_t>(state->bytes("hard_pairs") / sizeof(HardPair)));
}

/// The places of the start, if [expect] asks how far particles are from them; from the state for a resumed run.
void GravitySystem::note_start(StateInput* state) {
  if (!expects("return_distance")) return;
  if (!state || !state->has("starting.id")) {
    start_ = starting_places(fetch(*shown_here()));
    return;
  }
  const Shares shares{size(), communicator().size()};
  const int rank = communicator().rank();
  const auto get_own = [&]<class T>(const std::string& name, std::vector<T>& to) {
    state->expect<T>(name, size());
    to.resize(static_cast<std::size_t>(shares.count(rank)));
    state->read(name, static_cast<std::uint64_t>(shares.first(rank)) * sizeof(T), to.data(), to.size() * sizeof(T));
  };
  get_own("starting.id", start_.id);
  get_own("starting.x", start_.x);
  get_own("starting.y", start_.y);
  get_own("starting.z", start_.z);
}

/// Each rank saves its own range.
void GravitySystem::save_start(StateSource& to) const {
  if (!expects("return_distance")) return;
  const auto put_own = [&]<class T>(const char* name, const std::vector<T>& from) {
    to.put_range(
        name, sizeof(T), std::ssize(from),
        [&from](std::int64_t first, std::int64_t n, void* into) {
          if (n > 0) std::memcpy(into, from.data() + first, static_cast<std::size_t>(n) * sizeof(T));
        },
        true);
  };
  put_own("starting.id", start_.id);
  put_own("starting.x", start_.x);
  put_own("starting.y", start_.y);
  put_own("starting.z", start_.z);
}

void GravitySystem::save_report(StateSource& to) const {
  if (!pairs_.empty()) to.put("hard_pairs", pairs_);
  if (config().cosmology) {
    to.put_value("energy_equation", energy_equation_);
    to.put_value("energy_error", energy_error_);
    to.put_value("large_waves", waves_);
    put_starting_power(starting_power_, to);
  }
}

Particles GravitySystem::particles() const { return fetch(*shown()); }

/// Particles by species and the largest id, over all ranks.
ParticleCensus GravitySystem::census() const {
  ParticleCensus all;
  for (const ParticleCensus& one : gather_values(communicator(), census_of(*shown_here()))) {
    for (std::size_t k = 0; k < all.counts.size(); ++k) all.counts[k] += one.counts[k];
    all.largest_id = std::max(all.largest_id, one.largest_id);
  }
  return all;
}

/// A hash of the particles. Ranks hash their own ranges, which are then combined.
std::string GravitySystem::state_hash() {
  // On the host they stay in the cache; of a GPU parts of a piece come while others are copied on.
  const std::int64_t piece_particles = std::int64_t{1} << (device().is_cuda() ? 20 : 16);
  const auto particles = shown_here();
  FetchedParticles source(*particles);
  const std::int64_t end = particles->count();
  StateHash hash;
  Particles piece;
  for (std::int64_t first = 0; first < end; first += piece_particles) {
    source.read(first, std::min(piece_particles, end - first), piece);
    hash.add(piece, device().threads());
  }
  hash.add_over(communicator());
  return hash.text();
}

/// A line of the table of energies. All ranks get it.
EnergyRow GravitySystem::measure() {
  EnergyRow row;
  const bool expands = config().cosmology.has_value();
  row.energies = energies();
  if (expands) watch(row.energies);
  if (expands) row.error = share_value(communicator(), energy_error_);
  return row;
}

/// Errors of the forces on a sample, found at the places where the step has evaluated them. Ranks send their part of
/// the sample's forces to rank 0, which compares.
ForceErrors GravitySystem::audit(std::int64_t sample) {
  ForceErrors errors;
  const auto places = sample_places(size(), sample);
  const auto compare = [&](const ShownParticles& all, const ForceResult& forces) {
    FetchedParticles particles(all);
    errors = force_errors_at(gravity_of_step(), device(), particles, places, forces);
  };
  if (!is_distributed()) {
    const AuditedForces of = audited_forces(places);
    compare(*of.particles, of.forces);
    return errors;
  }
  const Shares shares{size(), communicator().size()};
  const std::int64_t first = shares.first(communicator().rank()), end = first + shares.count(communicator().rank());
  std::vector<std::int64_t> own;
  for (const std::int64_t place : places)
    if (place >= first && place < end) own.push_back(place - first);
  AuditedForces of = audited_forces(own);
  for (auto* axis : {&of.forces.ax, &of.forces.ay, &of.forces.az}) *axis = gather_on_root(communicator(), *axis);
  DistributedView view(communicator(), shares, std::move(of.particles), nullptr);
  view.on_root([&] { compare(*view.shown(), of.forces); });
  return share_value(communicator(), errors);
}

/// Three cases: ranks write their own files; or rank 0 writes all particles; or a sample of them.
void GravitySystem::write_snapshot(const std::filesystem::path& path, WriteQueue* queue,
                                   const std::function<void()>& done) {
  const std::int64_t most = config().output.particles_most;
  const bool all = most == 0 || most >= size();
  if (is_distributed() && config().output.files > 1 && all) {
    const auto own = particles_with_potentials();
    WriteOptions write = write_options();
    write.threads = device().threads();
    write_distributed_snapshot(communicator(), path, header(), *own, write);
    if (done) done();
    return;
  }
  if (all) find_contents();
  on_root([&] { hand_over_snapshot(path, queue, done); }, all ? Reading::potentials : Reading::particles);
}

void GravitySystem::find_contents() {
  if (contents_) return;
  const ParticleCensus census = this->census();
  contents_ = SnapshotContents{census.counts, census.largest_id, true};
}

WriteOptions GravitySystem::write_options() const {
  WriteOptions write;
  write.single_precision = config().precision() == Precision::single;
  write.files = static_cast<int>(config().output.files);
  return write;
}

SnapshotHeader GravitySystem::header() const {
  const RunConfig& config = this->config();
  SnapshotHeader header;
  header.time = time();
  if (config.cosmology) {
    header.redshift = 1 / header.time - 1;
    header.omega0 = config.cosmology->omega_matter;
    header.omega_lambda = config.cosmology->omega_lambda;
    header.omega_baryon = config.cosmology->omega_baryon;
    header.hubble_param = config.cosmology->h;
  }
  const Box box = this->box();
  header.box_size = box.periodic() ? std::max({box.side.x, box.side.y, box.side.z}) : 0;
  const auto units = config.unit_system();
  header.units = FileUnits{units.length_cm, units.mass_g, units.velocity_cm_per_s};
  return header;
}

SampleLook GravitySystem::sample_look() const {
  SampleLook look;
  look.kinds.assign(species_names.begin(), species_names.end());
  look.header = header();
  return look;
}

std::vector<StateCurve> GravitySystem::curves() const {
  StateCurve steps{.title = config().cosmology ? "particles by step in ln a" : "particles by step",
                   .look = StateCurve::Look::bars,
                   .x = {},
                   .y = {}};
  const auto classes = step_classes();
  std::for_each(classes.rbegin(), classes.rend(), [&](const StepClass& one) {
    steps.x.push_back(one.length);
    steps.y.push_back(static_cast<double>(one.particles));
  });
  if (steps.x.empty()) return {};
  return {steps};
}

/// On rank 0.
void GravitySystem::hand_over_snapshot(const std::filesystem::path& path, WriteQueue* queue,
                                       const std::function<void()>& done) {
  const WriteOptions write = write_options();
  if (const std::int64_t most = config().output.particles_most; most > 0 && most < size()) {
    const Particles sample = standing_for_all(most);
    HostParticles source(sample);
    return queue_snapshot(*queue, path, header(), source, contents_of(source), write, done);
  }
  const auto source = particles_with_potentials();
  queue_snapshot(*queue, path, header(), *source, *contents_, write, done);
}

/// A sample of at most `most` particles, with masses that make up for the others.
Particles GravitySystem::standing_for_all(std::int64_t most) {
  Particles sample = this->sample(most);
  const double each = static_cast<double>(size()) / static_cast<double>(sample.size());
  for (double& mass : sample.mass) mass *= each;
  return sample;
}

/// What was chosen and what the force evaluation has to say, once for each new sentence.
std::vector<Remark> GravitySystem::remarks() {
  if (!communicator().is_root()) return {};
  std::vector<Remark> sentences = said_start_ ? std::vector<Remark>{} : remarks_at_start();
  said_start_ = true;
  for (auto& choice : choices()) {
    if (std::find(choices_.begin(), choices_.end(), choice) != choices_.end()) continue;
    sentences.push_back({LogLevel::info, choice});
    choices_.push_back(std::move(choice));
  }
  if (const std::int64_t outside = this->outside(); outside > most_outside_) {
    most_outside_ = outside;
    sentences.push_back(
        {LogLevel::warning, fmt::format("{} of {} particles are outside the mesh: they are kept and pulled by the mass "
                                        "on it as by a point",
                                        outside, size())});
  }
  std::string text = remark();
  if (!text.empty() && text != remark_) sentences.push_back({LogLevel::warning, text});
  remark_ = std::move(text);
  return sentences;
}

/// What [expect] asks of the particles at the end, by name.
std::map<std::string, double> GravitySystem::measure_particles() {
  std::map<std::string, double> found;
  const bool radius = expects("half_mass_radius"), distance = expects("return_distance");
  const auto measure = [&](Particles own, Communicator& ranks) {
    if (distance) found["return_distance"] = return_distance(start_, own, ranks);
    if (!radius) return;
    auto seen = seen_masses(own, mass_center(own, ranks));
    own = {};
    found["half_mass_radius"] = lagrangian_radii(std::move(seen), {0.5}, ranks)[0];
  };
  if (!radius && !distance) return found;
  measure(fetch(*shown_here()), communicator());
  return found;
}

/// The report card. Its order: expectations, internal energy, hard pairs, momentum, growth of the largest waves, power
/// spectrum, halos.
std::vector<Check> GravitySystem::checks(const Energies& start, const Energies& end,
                                         const std::function<void(const std::string& part)>& begins) {
  std::vector<Check> card;
  const auto measured = measure_particles();
  const auto power = measure_end_power(begins);
  on_root([&] {
    RunEnds ends;
    ends.start = start;
    ends.end = end;
    ends.watched = [&](const std::string& name) {
      const auto found = measured.find(name);
      return found == measured.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
    };
    if (config().cosmology) ends.energy_error = energy_error_;
    const std::vector<Expectation> expected = config().expectations();
    card = report_card(expected, ends);
    for (Check& check : card)
      if (check.name == "energy_error") allow(check, energy_equation_doubt());
    if (!config().cosmology && !config().gravity.external.empty() && start.internal > 0)
      for (const Expectation& one : expected)
        if (one.name == "energy_error") card.push_back(internal_check(start, end, one.tolerance));
    if (!pairs_.empty()) card.push_back(pair_energy_check(config(), pairs_, particles(), end.total() - start.total()));
    if (config().cosmology && box().periodic() && !expects("momentum")) {
      const Vec3<double> side = box().side;
      const double density = physics::mean_density(*config().background(), config().gravitational_constant());
      card.push_back(momentum_check(start, end, time(), density * side.x * side.y * side.z));
    }
    card = joined(std::move(card), growth_checks());
    if (power) card = joined(std::move(card), power_checks(*power, begins));
  });
  std::vector<Check> halos;
  if (power) halos = halo_checks(begins);
  return communicator().is_root() ? joined(std::move(card), halos) : card;
}

/// For run.json: facts about the run that its configuration does not state.
std::string GravitySystem::describe() const {
  const Box box = this->box();
  nlohmann::ordered_json record = nlohmann::ordered_json::object();
  if (!made_on().empty()) record["initial_conditions_made_on"] = made_on();
  if (const auto waves = config().cosmology ? waves_at_start(config()) : std::nullopt) {
    record["waves"] = {{"from", waves->from}};
    if (!waves->table.empty()) record["waves"].update({{"table", waves->table}, {"hash", hash_of_file(waves->table)}});
  }
  if (!box.given()) return record.dump();
  const auto triple = [](const Vec3<double>& v) { return nlohmann::ordered_json{v.x, v.y, v.z}; };
  record["mesh"] = {{"box_corner", triple(box.corner)},
                    {"box_side", triple(box.side)},
                    {"boundary", box.periodic() ? "periodic" : "isolated"},
                    {"particles_outside", outside()}};
  return record.dump();
}

bool GravitySystem::expects(std::string_view name) const {
  const auto expectations = config().expectations();
  return std::any_of(expectations.begin(), expectations.end(),
                     [&](const Expectation& expectation) { return expectation.name == name; });
}

}  // namespace pergola
