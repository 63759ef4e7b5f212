// What of a plasma is asked for on rank 0, where each rank has a slab of it, and gives a stretch of the particles.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "domain/spread_state.hpp"
#include "sim/plasma_system.hpp"

namespace pergola {

namespace {

// What rank 0 asks for: particles, the fields, or a range of what a rank saves, by its number.
constexpr std::int64_t ask_particles = 0, ask_fields = 1, ask_state = 2;
constexpr std::int64_t piece_particles = std::int64_t{1} << 18;  // that rank 0 gets at a time

/// A particle on its way to rank 0.
struct ParticleRow {
  std::uint64_t id = 0;
  double x = 0, y = 0, z = 0, vx = 0, vy = 0, vz = 0;
};

/// Calls body(row member, values of the particles) for the numbers that particles have.
template <class Particles, class Body>
void for_numbers(Particles& particles, const Body& body) {
  using R = ParticleRow;
  body(&R::x, particles.x), body(&R::y, particles.y), body(&R::z, particles.z);
  body(&R::vx, particles.vx), body(&R::vy, particles.vy), body(&R::vz, particles.vz);
}

}  // namespace

void PlasmaSystem::on_root(const std::function<void()>& action) {
  if (!ranks_) return action();
  RankRows rows(*ranks_, {size_, ranks_->size()});
  rows_ = &rows;
  const auto end = [this] {
    rows_ = nullptr;
    own_particles_.clear();
    own_state_.reset();
    fields_.reset();
  };
  try {
    rows.on_root(action, [this](const RankRows::Request& request, std::byte* to) { answer(request, to); });
  } catch (...) {
    end();
    throw;
  }
  end();
}

void PlasmaSystem::answer(const RankRows::Request& own, std::byte* to) const {
  if (!to) return bring_own(own.what, own.first);
  if (own.what == ask_particles) return answer_particles(own, to);
  RankRows::Request of_state = own;
  of_state.what -= ask_state;
  answer_state(own_state_.value(), of_state, to);
}

void PlasmaSystem::bring(std::int64_t what, std::int64_t species) const {
  if (!rows_)
    throw Error(ErrorKind::input,
                "plasma: expected a call within PlasmaSystem::on_root(), for each rank has its own "
                "particles, found one outside it");
  const auto s = static_cast<std::size_t>(species);
  const bool here = what == ask_particles ? s < own_particles_.size() && own_particles_[s].has_value()
                    : what == ask_fields  ? fields_.has_value()
                                          : own_state_.has_value() && own_state_steps_ == particles_->steps();
  if (!here) rows_->together({what, species});
}

void PlasmaSystem::bring_own(std::int64_t what, std::int64_t species) const {
  if (what == ask_particles) {
    own_particles_.resize(options_.species.size());
    own_particles_[static_cast<std::size_t>(species)] = particles_->particles(static_cast<int>(species));
  } else if (what == ask_fields) {
    fields_ = particles_->fields();
  } else {
    particles_->save(own_state_.emplace());
    own_state_steps_ = particles_->steps();
  }
}

PlasmaFields PlasmaSystem::fields() const {
  if (!ranks_) return particles_->fields();
  bring(ask_fields);
  return *fields_;
}

void PlasmaSystem::answer_particles(const RankRows::Request& own, std::byte* to) const {
  std::int64_t before = 0;
  for (std::size_t s = 0; s < options_.species.size(); ++s) {
    const std::int64_t here = particles_->own_count(static_cast<int>(s));
    const std::int64_t first = std::clamp(own.first, before, before + here) - before;
    const std::int64_t last = std::clamp(own.first + own.count, before, before + here) - before;
    before += here;
    if (first == last) continue;
    const PlasmaParticles& from = own_particles_.at(s).value();
    for (std::int64_t i = first; i < last; ++i, to += sizeof(ParticleRow)) {
      const auto k = static_cast<std::size_t>(i);
      ParticleRow row;
      row.id = from.id[k];
      for_numbers(from, [&](double ParticleRow::*number, const std::vector<double>& values) {
        if (!values.empty()) row.*number = values[k];
      });
      std::memcpy(to, &row, sizeof row);
    }
  }
}

void PlasmaSystem::for_pieces(int species, const std::function<void(PlasmaParticles piece)>& use) const {
  if (!ranks_) return use(particles_->particles(species));
  bring(ask_particles, species);
  std::int64_t first = 0;
  for (int s = 0; s < species; ++s) first += loaded_count(options_, config_.plasma.load(config_.plasma.species[s]));
  const std::int64_t end = first + loaded_count(options_, config_.plasma.load(config_.plasma.species[species]));
  for (; first < end; first += piece_particles) {
    const std::int64_t count = std::min(piece_particles, end - first);
    PlasmaParticles piece;
    const auto size = static_cast<std::size_t>(count);
    piece.id.resize(size);
    for (auto* values : {&piece.x, &piece.y, &piece.vx, &piece.vy}) values->resize(size);
    if (options_.dimensions == 3) piece.z.resize(size);
    if (options_.velocities == 3) piece.vz.resize(size);
    rows_->read({ask_particles, first, count, sizeof(ParticleRow)},
                [&](std::int64_t at, std::int64_t n, const std::byte* rows) {
                  for (std::int64_t i = at; i < at + n; ++i, rows += sizeof(ParticleRow)) {
                    ParticleRow row;
                    std::memcpy(&row, rows, sizeof row);
                    const auto k = static_cast<std::size_t>(i);
                    piece.id[k] = row.id;
                    for_numbers(piece, [&](double ParticleRow::*number, std::vector<double>& values) {
                      if (!values.empty()) values[k] = row.*number;
                    });
                  }
                });
    use(std::move(piece));
  }
}

void PlasmaSystem::save(StateSource& to) {
  if (rows_) {
    bring(ask_state);
    put_spread_state(*rows_, *own_state_, ask_state, to);
  } else {
    particles_->save(to);
  }
  save_record(to);
}

bool PlasmaSystem::save_own(StateSource& to) {
  if (!ranks_) return false;
  particles_->save(to);
  own_state_ = to;  // without a copy of the values; a checkpoint asks for the state of all ranks next
  own_state_steps_ = particles_->steps();
  save_record(to);
  return true;
}

void PlasmaSystem::save_record(StateSource& to) const {
  StateBlocks blocks;
  diagnostics_.save(blocks);
  to.put_blocks(std::move(blocks));
}

}  // namespace pergola
