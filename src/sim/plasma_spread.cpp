// What rank 0 reads of a plasma: each rank has a slab of the field and a range of the particles. Rank 0 asks for a kind
// of data by number; all ranks prepare theirs (bring_own), and rank 0 then reads it piece by piece.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "comm/collectives.hpp"
#include "domain/spread_state.hpp"
#include "plasma/host_field.hpp"
#include "sim/plasma_system.hpp"

namespace pergola {

namespace {

// What rank 0 asks for: particles, a field in the layers of each rank, some columns and some layers of that, a picture,
// or a range of what a rank saves, by its number.
constexpr std::int64_t ask_particles = 0, ask_field = 1, ask_columns = 2, ask_layers = 3, ask_picture = 4,
                       ask_plasma_state = 5;
// That rank 0 gets at a time, of values at least a column or a layer.
constexpr std::int64_t piece_particles = std::int64_t{1} << 18, block_values = std::int64_t{1} << 18;

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

// Whatever was prepared for rank 0 is dropped at the end, also after an error.
void PlasmaSystem::on_root(const std::function<void()>& action) {
  if (!ranks_) return action();
  RankRows rows(*ranks_, {size_, ranks_->size()});
  rows_ = &rows;
  const auto end = [this] {
    rows_ = nullptr;
    own_particles_.clear();
    own_state_.reset();
    own_field_ = std::vector<double>();
    block_ = std::vector<double>();
    own_field_number_ = -1;
    seen_ = {};
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
  of_state.what -= ask_plasma_state;
  answer_state(own_state_.value(), of_state, to);
}

// On rank 0: makes all ranks prepare the data, unless they have done so before.
void PlasmaSystem::bring(std::int64_t what, std::int64_t which) const {
  if (!rows_)
    throw Error(ErrorKind::input,
                "plasma: expected a call within PlasmaSystem::on_root(), for each rank has its own "
                "particles, found one outside it");
  const auto s = static_cast<std::size_t>(which);
  const bool here = what == ask_particles      ? s < own_particles_.size() && own_particles_[s].has_value()
                    : what == ask_field        ? own_field_number_ == which
                    : what == ask_plasma_state ? own_state_.has_value() && own_state_steps_ == particles_->steps()
                                               : false;
  if (!here) rows_->together({what, which});
}

void PlasmaSystem::bring_own(std::int64_t what, std::int64_t which) const {
  if (what == ask_columns || what == ask_layers) {
    block_ = gather_block(*ranks_, particles_->slab(), own_field_, block(what, which));
    return;
  }
  if (what == ask_picture) return add_up_picture();
  own_field_ = std::vector<double>();
  own_field_number_ = -1;
  if (what == ask_particles) {
    own_particles_.resize(options_.species.size());
    own_particles_[static_cast<std::size_t>(which)] = particles_->particles(static_cast<int>(which));
  } else if (what == ask_field) {
    own_field_ = own_field(which);
    own_field_number_ = which;
  } else {
    particles_->save(own_state_.emplace());
    own_state_steps_ = particles_->steps();
  }
}

void PlasmaSystem::bring_picture() const { bring(ask_picture); }

void PlasmaSystem::add_up_picture() const {
  ranks_->broadcast(&sight_, sizeof sight_);
  count_held();
  ranks_->all_reduce(reinterpret_cast<std::int64_t*>(seen_.pixels.data()), seen_.pixels.size(), Reduction::sum);
}

// field_strength is no field of its own: it is the length of the electric field.
std::vector<double> PlasmaSystem::own_field(std::int64_t field) const {
  if (field != field_strength) return particles_->field(static_cast<PlasmaFieldPart>(field));
  std::array<std::vector<double>, 3> electric;
  for (int a = 0; a < options_.dimensions; ++a)
    electric[static_cast<std::size_t>(a)] = particles_->field(electric_part(a));
  return lengths_of(electric);
}

/// Piece number `piece` of a field; one beyond the last has nothing.
FieldBlock PlasmaSystem::block(std::int64_t what, std::int64_t piece) const {
  const int columns = options_.cells[0], layers = options_.cells[static_cast<std::size_t>(options_.dimensions - 1)];
  const std::int64_t cut = what == ask_columns ? columns : layers;
  const std::int64_t most = std::max<std::int64_t>(1, block_values * cut / options_.cell_count());
  const auto first = static_cast<int>(std::min(cut, most * piece));
  const auto count = static_cast<int>(std::min(most, cut - first));
  return what == ask_columns ? FieldBlock{first, count, 0, layers} : FieldBlock{0, columns, first, count};
}

// use(block, values) for a field piece by piece, whole on one process.
void PlasmaSystem::for_blocks(
    std::int64_t field, std::int64_t what,
    const std::function<void(const FieldBlock& block, std::vector<double> values)>& use) const {
  if (!ranks_) {
    const int layers = options_.cells[static_cast<std::size_t>(options_.dimensions - 1)];
    return use({0, options_.cells[0], 0, layers}, own_field(field));
  }
  bring(ask_field, field);
  for (std::int64_t piece = 0;; ++piece) {
    const FieldBlock next = block(what, piece);
    if (next.columns == 0 || next.layers == 0) return;
    bring(what, piece);
    use(next, std::exchange(block_, {}));
  }
}

void PlasmaSystem::for_columns(std::int64_t field, const std::function<void(std::vector<double> columns)>& use) const {
  for_blocks(field, ask_columns, [&](const FieldBlock&, std::vector<double> values) { use(std::move(values)); });
}

FieldLayers PlasmaSystem::layers_of(std::int64_t field) const {
  return [this, field](const auto& use) {
    for_blocks(field, ask_layers, [&](const FieldBlock& block, const std::vector<double>& values) {
      use(block.first_layer * particles_->slab().rows_in_layer() * options_.cells[0], values);
    });
  };
}

/// Each rank adds its rows to what the ones before it have summed up.
void PlasmaSystem::record() {
  const std::vector<double> own = particles_->field(PlasmaFieldPart::potential);
  const plasma::TileSlab& slab = particles_->slab();
  const ModeRecorder& modes = diagnostics_.modes();
  const auto add = [&](std::vector<double>& to) { modes.add(slab.first * slab.rows_in_layer(), own, to); };
  std::vector<double> sums = modes.no_sums();
  if (ranks_)
    sums = add_lists_in_turn(*ranks_, std::move(sums), add);
  else
    add(sums);
  diagnostics_.record_sums(time() / units_.time().file, sums);
}

// Rows of the wanted range; ranges of a rank run over its species one after the other.
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
    bring(ask_plasma_state);
    put_distributed_state(*rows_, *own_state_, ask_plasma_state, to);
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
