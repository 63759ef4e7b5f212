#include "sim/gravity_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "comm/agreement.hpp"
#include "io/snapshot_writer.hpp"

namespace pergola {

namespace {

Simulation make_simulation(const RunConfig& config, std::shared_ptr<Communicator> communicator, StateInput* state) {
  return state ? Simulation(config, *state, std::move(communicator)) : Simulation(config, std::move(communicator));
}

}  // namespace

GravityRun::GravityRun(const RunConfig& config, std::shared_ptr<Communicator> communicator, StateInput* state)
    : simulation_(make_simulation(config, std::move(communicator), state)) {
  if (state && simulation_.config().cosmology) restore_watch(*state);
  if (!expects("return_distance")) return;
  if (!state) {
    on_root([&] { starting_particles_ = particles(); });
    return;
  }
  const std::int64_t n = simulation_.size();
  starting_particles_.id = state->get<std::uint64_t>("starting.id", n);
  starting_particles_.x = state->get<double>("starting.x", n);
  starting_particles_.y = state->get<double>("starting.y", n);
  starting_particles_.z = state->get<double>("starting.z", n);
}

GravityRun::GravityRun(const RunConfig& config, const Particles& particles, double time)
    : simulation_(config, particles, time) {
  if (expects("return_distance")) starting_particles_ = particles;
}

bool GravityRun::advance(double limit, const std::function<bool()>& enough) {
  shown_.reset();
  return simulation_.advance(limit, enough);
}

void GravityRun::finish() {
  shown_.reset();
  simulation_.run_until(simulation_.config().run.end_time);
}

const Particles& GravityRun::particles() {
  if (!shown_) shown_ = simulation_.particles();
  return *shown_;
}

EnergyRow GravityRun::measure() {
  Energies energies;
  const bool expands = simulation_.config().cosmology.has_value();
  simulation_.on_root(
      [&] {
        energies = simulation_.energies();
        if (expands) watch(energies);
      },
      Simulation::Reading::pair_potentials);
  EnergyRow row{share_value(simulation_.communicator(), energies), {}};
  if (expands) row.error = share_value(simulation_.communicator(), energy_error_);
  return row;
}

ForceErrors GravityRun::audit(std::int64_t sample) {
  ForceErrors errors;
  simulation_.on_root([&] { errors = simulation_.audit(sample); }, Simulation::Reading::latest_step);
  return share_value(simulation_.communicator(), errors);
}

void GravityRun::write_snapshot(const std::filesystem::path& path, WriteQueue* queue,
                                const std::function<void()>& done) {
  simulation_.on_root([&] { hand_over_snapshot(path, queue, done); }, Simulation::Reading::potentials);
}

SnapshotHeader GravityRun::header() const {
  const RunConfig& config = simulation_.config();
  SnapshotHeader header;
  header.time = time();
  if (config.cosmology) {
    header.redshift = 1 / header.time - 1;
    header.omega0 = config.cosmology->omega_matter;
    header.omega_lambda = config.cosmology->omega_lambda;
    header.hubble_param = config.cosmology->h;
  }
  const Box box = simulation_.box();
  header.box_size = box.periodic() ? std::max({box.side.x, box.side.y, box.side.z}) : 0;
  const auto units = config.unit_system();
  header.units = FileUnits{units.length_cm, units.mass_g, units.velocity_cm_per_s};
  return header;
}

SampleLook GravityRun::sample_look() const {
  SampleLook look;
  look.kinds.assign(species_names.begin(), species_names.end());
  look.header = header();
  return look;
}

std::vector<StateCurve> GravityRun::curves() const {
  StateCurve steps{.title = simulation_.config().cosmology ? "particles by step in ln a" : "particles by step",
                   .look = StateCurve::Look::bars,
                   .x = {},
                   .y = {}};
  const auto classes = simulation_.step_classes();
  std::for_each(classes.rbegin(), classes.rend(), [&](const StepClass& one) {
    steps.x.push_back(one.length);
    steps.y.push_back(static_cast<double>(one.particles));
  });
  if (steps.x.empty()) return {};
  return {steps};
}

/// On rank 0.
void GravityRun::hand_over_snapshot(const std::filesystem::path& path, WriteQueue* queue,
                                    const std::function<void()>& done) {
  WriteOptions write;
  write.single_precision = simulation_.config().precision() == Precision::single;
  if (const std::int64_t most = simulation_.config().output.particles_most; most > 0 && most < simulation_.size()) {
    const Particles sample = standing_for_all(most);
    HostParticles source(sample);
    return queue_snapshot(*queue, path, header(), source, contents_of(source), write, done);
  }
  const auto source = simulation_.particles_with_potentials();
  if (!contents_) {  // the same through the whole run
    const ParticleCensus census = simulation_.census();
    contents_ = SnapshotContents{census.counts, census.largest_id, true};
  }
  queue_snapshot(*queue, path, header(), *source, *contents_, write, done);
}

/// A sample of so many, with masses that make up for the others.
Particles GravityRun::standing_for_all(std::int64_t most) const {
  Particles sample = simulation_.sample(most);
  const double each = static_cast<double>(simulation_.size()) / static_cast<double>(sample.size());
  for (double& mass : sample.mass) mass *= each;
  return sample;
}

/// What the force evaluation has to say, once for each new sentence.
std::vector<std::string> GravityRun::remarks() {
  if (!simulation_.communicator().is_root()) return {};
  std::vector<std::string> sentences = said_start_ ? std::vector<std::string>{} : remarks_at_start();
  said_start_ = true;
  if (const std::int64_t outside = simulation_.outside(); outside > most_outside_) {
    most_outside_ = outside;
    sentences.push_back(
        fmt::format("{} of {} particles are outside the mesh: they are kept and pulled by the mass on "
                    "it as by a point",
                    outside, simulation_.size()));
  }
  std::string text = simulation_.remark();
  if (!text.empty() && text != remark_) sentences.push_back(text);
  remark_ = std::move(text);
  return sentences;
}

std::vector<Check> GravityRun::checks(const Energies& start, const Energies& end) {
  std::vector<Check> card;
  on_root([&] {
    RunEnds ends;
    ends.start = start;
    ends.end = end;
    if (expects("half_mass_radius") || expects("return_distance")) ends.particles = &particles();
    ends.starting_particles = expects("return_distance") ? &starting_particles_ : nullptr;
    if (simulation_.config().cosmology) ends.energy_error = energy_error_;
    card = report_card(simulation_.config().expectations(), ends);
    for (const Check& check : growth_checks()) card.push_back(check);
  });
  return card;
}

void GravityRun::save(StateSource& to) {
  simulation_.save(to);
  if (simulation_.config().cosmology) {
    to.put_value("energy_equation", energy_equation_);
    to.put_value("energy_error", energy_error_);
    to.put_value("large_waves", waves_);
  }
  if (!expects("return_distance")) return;
  to.put("starting.id", starting_particles_.id);
  to.put("starting.x", starting_particles_.x);
  to.put("starting.y", starting_particles_.y);
  to.put("starting.z", starting_particles_.z);
}

std::string GravityRun::describe() const {
  const Box box = simulation_.box();
  if (!box.given()) return "{}";
  const auto triple = [](const Vec3<double>& v) { return nlohmann::ordered_json{v.x, v.y, v.z}; };
  nlohmann::ordered_json record;
  record["mesh"] = {{"box_corner", triple(box.corner)},
                    {"box_side", triple(box.side)},
                    {"boundary", box.periodic() ? "periodic" : "isolated"},
                    {"particles_outside", simulation_.outside()}};
  return record.dump();
}

bool GravityRun::expects(std::string_view name) const {
  const auto expectations = simulation_.config().expectations();
  return std::any_of(expectations.begin(), expectations.end(),
                     [&](const Expectation& expectation) { return expectation.name == name; });
}

}  // namespace pergola
