// Particles of a configuration: from a model, from a file, or two parts on an orbit.
//
// A source reads particles in ranges, so that no rank holds all. `whole`: particles are read at once, because a box
// must be found from all of them. `shared`: several ranks make a model together. `device`: a model may be made there.
#include "sim/open_particles.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "gravity/solver_entry.hpp"
#include "io/snapshot.hpp"
#include "models/merge.hpp"
#include "models/model_source.hpp"
#include "particles/particle_check.hpp"

#include <fmt/core.h>

#include <array>
#include <optional>
#include <utility>

namespace pergola {

namespace {

/// A snapshot whose particles are checked when they are read for the first time, so that no file is read twice.
class CheckedSnapshot final : public ParticleSource {
 public:
  CheckedSnapshot(const std::string& file, int threads)
      : source_(file, threads), check_(std::in_place, file, source_.count(), source_.threads()) {}
  const SnapshotHeader& header() const { return source_.summary().header; }
  std::int64_t count() const override { return source_.count(); }
  std::string name() const override { return source_.name(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override {
    source_.read(first, n, to);
    if (!check_ || first != checked_) return;
    check_->add(to);
    checked_ += n;
    if (checked_ < count()) return;
    check_->finish();
    check_.reset();
  }

 private:
  SnapshotSource source_;
  std::optional<ParticleCheck> check_;  // until all have been read
  std::int64_t checked_ = 0;
};

/// Tries in turn: on the device, shared by ranks, at once on the host, or range by range.
StartingPoint open_model(const RunConfig& config, const RunConfig::ParticlesPart& part, int threads, bool whole,
                         const Device* device, bool shared) {
  StartingPoint begin;
  auto options = part.options;
  options.gravitational_constant = config.gravitational_constant();
  options.external = config.gravity.external;
  if (device) begin.particles = make_model_on(*device, part.model, options);
  if (!begin.particles && shared) begin.particles = make_shared_model(part.model, options, threads);
  if (begin.particles) {
    // It is made when it is taken.
  } else if (whole)
    begin.particles = std::make_unique<KeptParticles>(make_model(part.model, options, threads), "model");
  else
    begin.particles = make_model_source(part.model, options, threads);
  begin.box_side = model_box_side(part.model, options);
  if (const auto start = model_cosmology(part.model, options)) begin.time = start->scale_factor;
  return begin;
}

/// One file or one model. The time and the box are those that it states.
StartingPoint open_part(const RunConfig& config, const RunConfig::ParticlesPart& part, int threads, bool whole,
                        const Device* device, bool shared) {
  if (part.file.empty()) return open_model(config, part, threads, whole, device, shared);
  StartingPoint begin;
  SnapshotHeader header;
  if (whole) {
    Snapshot snapshot = read_snapshot(part.file);
    header = std::move(snapshot.header);
    begin.particles = std::make_unique<KeptParticles>(std::move(snapshot.particles), part.file);
  } else {
    auto source = std::make_unique<CheckedSnapshot>(part.file, threads);
    header = source->header();
    begin.particles = std::move(source);
  }
  const bool by_itself = config.particles.parts.empty();  // else it is refused for its box
  if (by_itself && is_cosmological(header) && !config.cosmology)
    throw Error(ErrorKind::input, fmt::format("{}: particles.file: expected [cosmology] for {}, a box at redshift {}, "
                                              "found none",
                                              config.source, part.file, to_text(header.redshift)));
  begin.time = header.time;
  begin.box_side = header.box_size;
  return begin;
}

/// Two systems on an orbit about each other. They begin at time 0.
StartingPoint open_parts(const RunConfig& config, int threads, bool whole) {
  std::array<std::unique_ptr<ParticleSource>, 2> systems;
  for (std::size_t k = 0; k < systems.size(); ++k) {
    StartingPoint begin = open_part(config, config.particles.parts.at(k), threads, false, nullptr, false);
    if (begin.box_side != 0)
      throw Error(
          ErrorKind::input,
          fmt::format("{}: particles.parts.{}: expected a system in open space, found a periodic box of side {}",
                      config.source, k + 1, to_text(begin.box_side)));
    systems[k] = std::move(begin.particles);
  }
  MergeOptions orbit = config.particles.orbit;
  orbit.gravitational_constant = config.gravitational_constant();
  std::unique_ptr<MergedSource> merged;
  try {
    merged = std::make_unique<MergedSource>(std::move(systems[0]), std::move(systems[1]), orbit, threads);
  } catch (const Error& error) {
    const std::string message = error.what();
    if (!message.starts_with("mass: ") && !message.starts_with("ids: ")) throw;
    throw Error(error.kind(), fmt::format("{}: particles.parts: {}", config.source, message));
  }
  StartingPoint begin;
  begin.particles = std::move(merged);
  if (!whole) return begin;
  Particles all;
  begin.particles->read(0, begin.particles->count(), all);
  begin.particles = std::make_unique<KeptParticles>(std::move(all), "particles.parts");
  return begin;
}

}  // namespace

StartingPoint open_particles(const RunConfig& config, int threads, bool whole, const Device* device, bool shared) {
  config.require_particles();
  return config.particles.parts.empty() ? open_part(config, config.particles, threads, whole, device, shared)
                                        : open_parts(config, threads, whole);
}

// The entry of the solver knows how to find a box; errors name the configuration's file.
Box find_solver_box(const RunConfig& config, ParticleSource& particles, double stated_side) {
  const SolverEntry& entry = solver_entry(config.gravity.solver);
  if (!entry.find_box) return box_of(config.gravity);
  try {
    return entry.find_box(config.gravity, particles, stated_side);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", config.source, error.what()));
  }
}

bool box_is_for_all(const SolverOptions& options) {
  const SolverEntry& entry = solver_entry(options.solver);
  return entry.box && (entry.cost == StepCost::cells || box_of(options).periodic());
}

Box find_solver_box(const RunConfig& config, const Particles& particles, double stated_side) {
  HostParticles source(particles);
  return find_solver_box(config, source, stated_side);
}

}  // namespace pergola
