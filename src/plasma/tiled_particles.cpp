// TiledParticles on the CPU, and the choice of the implementation by device: see tiled_particles.hpp.
#include "plasma/tiled_particles.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "device/parallel.hpp"
#include "physics/mesh_weights.hpp"
#include "plasma/charge_rows.hpp"
#include "plasma/field.hpp"
#include "plasma/given_particles.hpp"
#include "plasma/slab_leavers.hpp"
#include "plasma/tile_loops.hpp"

namespace pergola {

namespace {

using plasma::Leaver;
using plasma::PushRest;
using plasma::PushTask;
using plasma::TileBounds;
using plasma::TileParticles;
using plasma::TileSums;

/// On the CPU threads work on tiles. A push moves the particles of a tile, counts the charge of those that stay and
/// lists those that leave. Then every tile fills the holes of its leavers with its arrivals, and closes remaining holes
/// with its last particles. Charge is counted per tile, with the grid points around it, and added up by rows. With
/// ranks, leavers of a slab and the charge beyond its layers go to their owners.
template <class Real>
class TiledParticlesCpu final : public TiledParticles<Real> {
  using Counts = physics::PlasmaCounts<Real>;

  /// The particles of one species and what the last push left over, per tile.
  struct Species {
    std::vector<TileParticles<Real>> tiles;
    std::vector<PushRest<Real>> rest;   // per tile
    std::vector<std::int64_t> charge;   // patches of all tiles; with currents only while a density is made
    std::vector<std::int64_t> current;  // the same of the last push
    plasma::GivenParticles given;
    std::int64_t here = 0;  // particles in the tiles
    bool charged = false;   // `charge` is that of the present positions, `current` that of the push to them
  };

 public:
  TiledParticlesCpu(const Device& device, const PlasmaOptions& options, std::shared_ptr<Communicator> ranks)
      : device_(device),
        ranks_(std::move(ranks)),
        options_(options),
        grid_(options),
        slab_(options, ranks_.get()),
        loops_(plasma::choose_tile_loops<Real>(options)),
        rows_(grid_, slab_, static_cast<int>(options.shape)),
        current_rows_(grid_, slab_.widened(), static_cast<int>(options.shape), 1, 3),
        species_(options.species.size()) {
    const std::int64_t tiles = slab_.tiles;
    if (ranks_) around_.emplace(slab_, species_.size(), ranks_);
    if (ranks_ && has_currents()) currents_around_.emplace(slab_.widened(), 3 * species_.size(), ranks_);
    for (std::size_t s = 0; s < species_.size(); ++s) {
      species_[s].tiles.resize(static_cast<std::size_t>(tiles));
      species_[s].rest.resize(static_cast<std::size_t>(tiles));
      species_[s].charge.resize(static_cast<std::size_t>(has_currents() ? 0 : tiles * loops_.patch_size));
      species_[s].current.resize(static_cast<std::size_t>(tiles * current_values()));
    }
  }

  void load(int species, const PlasmaParticles& particles) override {
    Species& to = species_[species];
    to.given =
        plasma::load_given(device_, options_, options_.species[species], slab_, ranks_.get(), particles, to.tiles);
    to.charged = false;
    to.here = counted(to);
  }
  PlasmaParticles unload(int species, const std::function<void(PlasmaParticles&)>& change,
                         const PlasmaChoice* chosen) const override {
    const Species& from = species_[species];
    return plasma::unload_given(device_, options_, slab_, ranks_.get(), from.tiles, from.given, change, chosen);
  }
  void for_held(int species, const std::function<void(const PlasmaParticles&)>& use) const override {
    plasma::for_tiles(device_, options_, slab_, species_[species].tiles, use);
  }
  std::int64_t count(int species) const override { return counted(species_[species]); }
  void deposit(const DepositedFields<Real>& fields) override;
  void deposit_charge(const Field<Real>& density) override;
  void push(const GatheredFields<Real>& fields, const PushTimes& times) override;
  std::vector<PlasmaSums> measure(const GatheredFields<Real>& fields, double kick) const override;
  void check() override;
  std::int64_t device_bytes() const override;

 private:
  static std::int64_t counted(const Species& species) {
    std::int64_t count = 0;
    for (const auto& tile : species.tiles) count += tile.count();
    return count;
  }
  double charge_per_mass(std::size_t s) const { return options_.species[s].charge / options_.species[s].mass; }
  bool has_currents() const { return loops_.currents > 0; }
  std::int64_t current_values() const { return std::int64_t{loops_.currents} * loops_.current_size; }
  std::int64_t* charge_of(Species& species, std::int64_t tile) const {
    return species.charge.data() + tile * loops_.patch_size;
  }
  /// Charge per unit of a species.
  double charge_unit(std::size_t s) const {
    return std::ldexp(options_.species[s].charge * options_.species[s].weight, -Counts::charge_bits);
  }
  void count_charge(Species& species);
  void add_up_charge(const Field<Real>& density);
  void add_up_currents(const std::array<Field<Real>, 3>& current);
  /// body(tile) for the tiles that are here, counted from the first.
  template <class Body>
  void each_tile(const Body& body) const {
    parallel_for(device_.threads(), slab_.tiles, [&](std::int64_t tile) { body(static_cast<int>(tile)); });
  }
  /// The field around a tile.
  /// One patch per component, with the grid points around the tile.
  std::vector<Real> fetch(const GatheredFields<Real>& fields, int tile) const {
    std::vector<Real> patch(static_cast<std::size_t>(loops_.components * loops_.patch_size));
    for (int c = 0; c < loops_.components; ++c) {
      const Field<const Real>& from = c < 3 ? fields.electric[c] : fields.magnetic[c - 3];
      loops_.fetch(grid_, slab_.first_tile + tile, from.data, fields.window, from.pitch,
                   patch.data() + c * loops_.patch_size);
    }
    return patch;
  }
  void set_tile(PushTask<Real>& task, int tile, const std::vector<Real>& patch) const {
    task.tile = slab_.first_tile + tile, task.at = grid_.tile(task.tile), task.field = patch.data();
  }
  PushTask<Real> task_for(std::size_t s, const PushTimes& times) const {
    PushTask<Real> task;
    task.grid = &grid_;
    task.factors =
        physics::boris_factors<Real>(charge_per_mass(s), options_.magnetic_field, times.kick, options_.light_speed);
    task.time = static_cast<Real>(times.drift);
    task.drift = static_cast<Real>(times.drift * static_cast<double>(physics::place_grains<Real>));
    return task;
  }
  void hand_over(Species& species, const std::vector<Leaver<Real>>& from_others);
  void take_in(Species& species, int tile, const Leaver<Real>* const* begin, const Leaver<Real>* const* end);
  void note_lost(std::size_t s, const Species& species);

  Device device_;
  std::shared_ptr<Communicator> ranks_;  // null: all particles are here
  PlasmaOptions options_;
  plasma::TileGrid grid_;
  plasma::TileSlab slab_;
  plasma::TileLoops<Real> loops_;
  plasma::ChargeRows rows_, current_rows_;
  std::optional<plasma::ChargeAround> around_, currents_around_;  // of several ranks
  std::vector<Species> species_;
  plasma::Lost lost_;
  std::string failure_;
};

/// Positions that have been loaded but not pushed are counted first.
template <class Real>
void TiledParticlesCpu<Real>::deposit(const DepositedFields<Real>& fields) {
  const bool charged = std::all_of(species_.begin(), species_.end(), [](const Species& one) { return one.charged; });
  if (!has_currents()) {
    for (Species& species : species_)
      if (!species.charged) count_charge(species);
    add_up_charge(fields.density);
  } else {
    if (!charged) {
      deposit_charge(fields.density);
      for (Species& species : species_) std::fill(species.current.begin(), species.current.end(), 0);
    }
    add_up_currents(fields.current);
  }
  for (Species& species : species_) species.charged = true;
}

/// With currents: the patches of the charge take memory only here.
template <class Real>
void TiledParticlesCpu<Real>::deposit_charge(const Field<Real>& density) {
  if (!has_currents()) return deposit({density});
  for (Species& species : species_) {
    species.charge.resize(static_cast<std::size_t>(slab_.tiles * loops_.patch_size));
    count_charge(species);
  }
  add_up_charge(density);
  for (Species& species : species_) species.charge = {};
}

template <class Real>
void TiledParticlesCpu<Real>::count_charge(Species& species) {
  std::fill(species.charge.begin(), species.charge.end(), 0);
  each_tile([&](int tile) { loops_.deposit(species.tiles[tile], charge_of(species, tile)); });
}

/// The currents of all species, a component at a time.
template <class Real>
void TiledParticlesCpu<Real>::add_up_currents(const std::array<Field<Real>, 3>& current) {
  const auto patches = [&](std::size_t s, std::size_t component) {
    return species_[s].current.data() + component * static_cast<std::size_t>(loops_.current_size);
  };
  if (currents_around_)
    currents_around_->give(device_.threads(), [&](std::size_t kind, std::int64_t row, std::int64_t* to) {
      const auto sum = current_rows_.add_row(row, patches(kind / 3, kind % 3));
      std::copy(sum.begin(), sum.end(), to);
    });
  std::vector<double> factor;
  for (std::size_t s = 0; s < species_.size(); ++s) factor.push_back(charge_unit(s));
  const std::int64_t first_row = slab_.widened().below * slab_.rows_in_layer();
  for (std::size_t component = 0; component < 3; ++component) {
    const auto counts = [&](std::size_t s, std::int64_t row) {
      auto sum = current_rows_.add_row(first_row + row, patches(s, component));
      if (currents_around_) currents_around_->add_to(3 * s + component, row, sum);
      return sum;
    };
    current_rows_.add_up(device_.threads(), counts, factor, 0, current[component]);
  }
}

/// A sum that is not that of the particles is noted for check().
template <class Real>
void TiledParticlesCpu<Real>::add_up_charge(const Field<Real>& density) {
  std::vector<double> factor;
  double total = 0;
  for (std::size_t s = 0; s < species_.size(); ++s) {
    factor.push_back(charge_unit(s));
    total += options_.species[s].charge * options_.species[s].weight * static_cast<double>(species_[s].given.total);
  }
  const double background = options_.background ? -total / static_cast<double>(options_.cell_count()) : 0.0;
  if (around_)
    around_->give(device_.threads(), [&](std::size_t s, std::int64_t row, std::int64_t* to) {
      const auto sum = rows_.add_row(row, species_[s].charge.data());
      std::copy(sum.begin(), sum.end(), to);
    });
  const std::int64_t first_row = slab_.below * slab_.rows_in_layer();
  const auto counts = [&](std::size_t s, std::int64_t row) {
    auto sum = rows_.add_row(first_row + row, species_[s].charge.data());
    if (around_) around_->add_to(s, row, sum);
    return sum;
  };
  auto units = rows_.add_up(device_.threads(), counts, factor, background, density);
  if (ranks_) ranks_->all_reduce(reinterpret_cast<std::int64_t*>(units.data()), units.size(), Reduction::sum);
  for (std::size_t s = 0; s < species_.size() && failure_.empty(); ++s)
    if (units[s] != static_cast<std::uint64_t>(species_[s].given.total) << Counts::charge_bits)
      failure_ = fmt::format("plasma: species {}: the charge on the grid is {} units, expected {} particles of 2^{}",
                             options_.species[s].name, units[s], species_[s].given.total, Counts::charge_bits);
}

/// Tiles in parallel, all species of a tile together, as they share its field. Then leavers between ranks, then between
/// tiles.
template <class Real>
void TiledParticlesCpu<Real>::push(const GatheredFields<Real>& fields, const PushTimes& times) {
  std::vector<PushTask<Real>> tasks;
  for (std::size_t s = 0; s < species_.size(); ++s) tasks.push_back(task_for(s, times));
  each_tile([&](int tile) {
    const auto patch = fetch(fields, tile);
    for (std::size_t s = 0; s < species_.size(); ++s) {
      Species& species = species_[s];
      auto& rest = species.rest[tile];
      rest.leavers.clear(), rest.holes.clear(), rest.lost.clear();
      const bool currents = has_currents();
      std::int64_t* const counts =
          currents ? species.current.data() + tile * current_values() : charge_of(species, tile);
      std::fill_n(counts, currents ? current_values() : loops_.patch_size, 0);
      PushTask<Real> task = tasks[s];
      set_tile(task, tile, patch);
      loops_.push(task, species.tiles[tile], counts, rest);
    }
  });
  std::vector<std::vector<Leaver<Real>>> from_others(species_.size());
  if (ranks_) {
    std::vector<const std::vector<PushRest<Real>>*> rests;
    for (const Species& species : species_) rests.push_back(&species.rest);
    from_others = plasma::exchange_leavers(*ranks_, slab_, rests);
  }
  for (std::size_t s = 0; s < species_.size(); ++s) {
    note_lost(s, species_[s]);
    hand_over(species_[s], from_others[s]);
    species_[s].charged = true;
    const std::int64_t held = counted(species_[s]), expected = species_[s].here;
    if (held != expected && failure_.empty())
      failure_ =
          fmt::format("plasma: species {}: {} particles are left of {}", options_.species[s].name, held, expected);
  }
}

/// Hands the leavers to their tiles, in the order of the tiles that they left.
template <class Real>
void TiledParticlesCpu<Real>::hand_over(Species& species, const std::vector<Leaver<Real>>& from_others) {
  std::vector<std::int64_t> begin(static_cast<std::size_t>(slab_.tiles) + 1);
  const auto each_arrival = [&](const auto& body) {
    for (const auto& rest : species.rest)
      for (const auto& leaver : rest.leavers)
        if (const int tile = leaver.tile - slab_.first_tile; tile >= 0 && tile < slab_.tiles)
          body(static_cast<std::size_t>(tile), leaver);
    for (const auto& leaver : from_others) body(static_cast<std::size_t>(leaver.tile - slab_.first_tile), leaver);
  };
  each_arrival([&](std::size_t tile, const Leaver<Real>&) { ++begin[tile + 1]; });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<const Leaver<Real>*> arrivals(static_cast<std::size_t>(begin.back()));
  auto next = begin;
  each_arrival([&](std::size_t tile, const Leaver<Real>& leaver) { arrivals[next[tile]++] = &leaver; });
  for (const auto& rest : species.rest) species.here -= std::ssize(rest.leavers);
  species.here += begin.back();
  each_tile(
      [&](int tile) { take_in(species, tile, arrivals.data() + begin[tile], arrivals.data() + begin[tile + 1]); });
}

/// Arrivals fill holes first, then the end of the tile. Their charge is counted here, at their new places; their
/// currents by the tile that they left.
template <class Real>
void TiledParticlesCpu<Real>::take_in(Species& species, int tile, const Leaver<Real>* const* begin,
                                      const Leaver<Real>* const* end) {
  auto& particles = species.tiles[tile];
  const auto& holes = species.rest[tile].holes;
  const auto arriving = end - begin;
  auto filled = static_cast<std::ptrdiff_t>(std::min<std::size_t>(static_cast<std::size_t>(arriving), holes.size()));
  for (std::ptrdiff_t k = 0; k < filled; ++k) particles.put(holes[k], *begin[k]);
  std::int64_t count = particles.count();
  particles.reserve(device_, count + arriving - filled, options_.dimensions, options_.velocities);
  for (std::ptrdiff_t k = filled; k < arriving; ++k) particles.put(count++, *begin[k]);
  if (!has_currents())
    for (std::ptrdiff_t k = 0; k < arriving; ++k) loops_.deposit_one(begin[k]->place, charge_of(species, tile));
  // Remaining holes, from the last one: behind it there is no further hole.
  for (auto k = static_cast<std::ptrdiff_t>(holes.size()); k-- > filled;) {
    --count;
    const std::int64_t hole = holes[k];
    if (hole != count) particles.move(count, hole);
  }
  particles.set_count(count);
}

/// Keeps the first lost particle only: check() names it.
template <class Real>
void TiledParticlesCpu<Real>::note_lost(std::size_t s, const Species& species) {
  for (const auto& rest : species.rest) {
    if (rest.lost.empty() || lost_.species >= 0) continue;
    const auto& first = rest.lost.front();
    lost_ = {static_cast<std::int64_t>(s), first.rank, {first.velocity[0], first.velocity[1], first.velocity[2]}};
  }
}

/// Two passes: the first finds the scale of the fixed-point sums, the second adds up.
template <class Real>
std::vector<PlasmaSums> TiledParticlesCpu<Real>::measure(const GatheredFields<Real>& fields, double kick) const {
  const auto tiles = static_cast<std::size_t>(slab_.tiles);
  std::vector<PlasmaSums> result;
  for (std::size_t s = 0; s < species_.size(); ++s) {
    const Species& species = species_[s];
    const PushTask<Real> task = task_for(s, {kick, 0});
    std::vector<TileBounds> bounds(tiles);
    std::vector<TileSums> sums(tiles);
    const auto on_each_tile = [&](const auto& body) {
      each_tile([&](int tile) {
        const auto patch = fetch(fields, tile);
        PushTask<Real> here = task;
        set_tile(here, tile, patch);
        body(here, species.tiles[tile], static_cast<std::size_t>(tile));
      });
    };
    on_each_tile([&](const auto& here, const auto& particles, std::size_t t) {
      loops_.find_bounds(here, particles, bounds[t]);
    });
    TileBounds most;
    for (const auto& one : bounds)
      most = {std::fmax(most.square, one.square), std::fmax(most.component, one.component)};
    if (ranks_) ranks_->all_reduce(&most.square, 1, Reduction::maximum);
    if (ranks_) ranks_->all_reduce(&most.component, 1, Reduction::maximum);
    const auto count = static_cast<double>(species.given.total);
    const double square = physics::mass_quantum(most.square * count, most.square);
    const double component = physics::mass_quantum(most.component * count, most.component);
    on_each_tile([&](const auto& here, const auto& particles, std::size_t t) {
      loops_.add_up(here, particles, 1 / square, 1 / component, sums[t]);
    });
    TileSums total;
    for (const auto& one : sums)
      for (std::size_t a = 0; a < 3; ++a) total.square[a] += one.square[a], total.component[a] += one.component[a];
    if (ranks_) ranks_->all_reduce(total.square.data(), 3, Reduction::sum);
    if (ranks_) ranks_->all_reduce(total.component.data(), 3, Reduction::sum);
    const double mass = options_.species[s].mass * options_.species[s].weight;
    const auto energy = [&](std::size_t a) { return 0.5 * mass * square * static_cast<double>(total.square[a]); };
    const auto momentum = [&](std::size_t a) { return mass * component * static_cast<double>(total.component[a]); };
    result.push_back({{energy(0), energy(1), energy(2)}, {momentum(0), momentum(1), momentum(2)}});
  }
  return result;
}

template <class Real>
void TiledParticlesCpu<Real>::check() {
  const auto fail = [&] {
    if (!failure_.empty()) throw Error(ErrorKind::numerics, failure_);
  };
  const auto lost = plasma::name_lost(
      ranks_.get(), options_, lost_, [&](std::size_t s) -> const plasma::GivenParticles& { return species_[s].given; });
  if (!lost.empty()) failure_ = lost;
  if (ranks_)
    on_all(*ranks_, fail);
  else
    fail();
}

template <class Real>
std::int64_t TiledParticlesCpu<Real>::device_bytes() const {
  std::int64_t bytes = 0;
  for (const Species& species : species_) {
    for (const auto& tile : species.tiles) bytes += tile.bytes();
    for (const auto& rest : species.rest)
      bytes += static_cast<std::int64_t>(rest.leavers.capacity() * sizeof(Leaver<Real>) +
                                         rest.holes.capacity() * sizeof(std::uint32_t));
    bytes += static_cast<std::int64_t>((species.charge.size() + species.current.size()) * sizeof(std::int64_t) +
                                       species.given.id.size() * sizeof(std::uint64_t));
  }
  return bytes + (around_ ? around_->bytes() : 0) + (currents_around_ ? currents_around_->bytes() : 0);
}

/// What a uniform density takes, as reserve() would lay it out.
template <class Real>
std::int64_t tiled_bytes_cpu(const PlasmaOptions& options, const std::vector<std::int64_t>& counts, double part) {
  const plasma::TileGrid grid(options);
  const auto tiles = std::max<std::int64_t>(1, std::llround(part * grid.count()));
  const auto loops = plasma::choose_tile_loops<Real>(options);
  const std::int64_t patch = loops.currents > 0 ? std::int64_t{loops.currents} * loops.current_size : loops.patch_size;
  std::int64_t bytes = 0;
  for (const std::int64_t count : counts) {
    const std::int64_t room = tiles * TileParticles<Real>::room_for((count + tiles - 1) / tiles);
    bytes += TileParticles<Real>::bytes_for(room, options.dimensions, options.velocities) +
             tiles * patch * std::int64_t{sizeof(std::int64_t)} + count * std::int64_t{sizeof(std::uint64_t)};
  }
  return bytes;
}

template <class Real>
std::int64_t tiled_bytes_of(const Device& device, const PlasmaOptions& options, const std::vector<std::int64_t>& counts,
                            double part) {
  if constexpr (cuda_built)
    if (device.is_cuda()) return tiled_bytes_cuda<Real>(options, counts, part);
  return tiled_bytes_cpu<Real>(options, counts, part);
}

}  // namespace

template <class Real>
std::unique_ptr<TiledParticles<Real>> make_tiled_particles(const Device& device, const PlasmaOptions& options,
                                                           const std::vector<std::int64_t>& counts,
                                                           std::shared_ptr<Communicator> ranks) {
  if constexpr (cuda_built)
    if (device.is_cuda()) return make_tiled_particles_cuda<Real>(device, options, counts, std::move(ranks));
  return std::make_unique<TiledParticlesCpu<Real>>(device, options, std::move(ranks));
}

template std::unique_ptr<TiledParticles<float>> make_tiled_particles(const Device&, const PlasmaOptions&,
                                                                     const std::vector<std::int64_t>&,
                                                                     std::shared_ptr<Communicator>);
template std::unique_ptr<TiledParticles<double>> make_tiled_particles(const Device&, const PlasmaOptions&,
                                                                      const std::vector<std::int64_t>&,
                                                                      std::shared_ptr<Communicator>);

void check_loops(const PlasmaOptions& options) {
  const PlasmaFieldEntry& field = plasma_field_entry(options);
  const bool currents = field.deposits == PlasmaDeposit::charge_and_current;
  const bool magnetic = field.gathers == PlasmaGather::electric_and_magnetic;
  if (currents != magnetic)
    throw Error(ErrorKind::input,
                fmt::format("plasma: particles deposit charge and gather an electric field, or deposit currents and "
                            "gather a magnetic field too; the field solver {} wants neither",
                            field.name));
  if (currents != (options.light_speed > 0))
    throw Error(ErrorKind::input, fmt::format("plasma: the field solver {} {} a speed of light, found {}", field.name,
                                              currents ? "needs" : "does not know", options.light_speed));
}

std::int64_t tiled_bytes(const Device& device, const PlasmaOptions& options, const std::vector<std::int64_t>& counts,
                         bool double_precision, double part) {
  return double_precision ? tiled_bytes_of<double>(device, options, counts, part)
                          : tiled_bytes_of<float>(device, options, counts, part);
}

}  // namespace pergola
