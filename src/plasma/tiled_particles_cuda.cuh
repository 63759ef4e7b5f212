#pragma once
/// CUDA only: TiledParticles on a GPU.
///
/// A step: (1) push_species() moves the particles of each species and counts charge (push_cuda.cuh), (2) leavers go to
/// other ranks (leavers_cuda.cuh), (3) groups take in arrivals, on a side stream beside the field's solution if there
/// is one rank, (4) deposit() turns counts into a density (charge_cuda.cuh). check() reads what the kernels
/// found, and grows the memory (tile_memory_cuda.cuh) if a group was nearly full. Two sources instantiate it, one per
/// precision, for the time of a compilation.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "device/streams.cuh"
#include "plasma/charge_cuda.cuh"
#include "plasma/given_particles.hpp"
#include "plasma/leavers_cuda.cuh"
#include "plasma/push_cuda.cuh"
#include "plasma/tile_memory_cuda.cuh"
#include "plasma/tiled_particles.hpp"

namespace pergola::cuda {

/// Calls body with the PushKind of these options.
template <class Real, class Body>
void for_kind(const PlasmaOptions& options, const Body& body) {
  const auto with_points = [&]<int dimensions, int velocities, int points>() {
    physics::with_pusher<velocities>(plasma::pusher_of(options), [&](auto pusher) {
      body(PushKind<dimensions, velocities, points, decltype(pusher), Real>());
    });
  };
  const auto with_dimensions = [&]<int dimensions, int velocities>() {
    if (options.shape == PlasmaShape::linear)
      with_points.template operator()<dimensions, velocities, 2>();
    else
      with_points.template operator()<dimensions, velocities, 3>();
  };
  if (options.dimensions == 3)
    with_dimensions.template operator()<3, 3>();
  else if (options.velocities == 3)
    with_dimensions.template operator()<2, 3>();
  else
    with_dimensions.template operator()<2, 2>();
}

/// Measured on an H200; more registers where the cloud has 27 points.
template <class Kind>
struct ShapeOfKind {
  static constexpr bool single = sizeof(typename Kind::Real) == 4, volume = Kind::dimensions == 3;
  static constexpr bool light = Kind::Pusher::relativistic;  // one particle at a time, more registers
  using type = std::conditional_t<light, PushShape<128, 1, volume || Kind::points == 3 ? 4 : 6>,
                                  PushShape<128,
                                            !single  ? 1
                                            : volume ? 2
                                                     : 4,
                                            volume && Kind::points == 3 ? 4 : 8>>;
};

/// All calls begin with join(): work on the side stream must be done before groups are read.
template <class Real>
class TiledParticlesCuda final : public TiledParticles<Real> {
  using Counts = physics::PlasmaCounts<Real>;
  using Number = typename Counts::Place;

 public:
  TiledParticlesCuda(const Device& device, const PlasmaOptions& options, const std::vector<std::int64_t>& counts,
                     std::shared_ptr<Communicator> ranks)
      : device_(device),
        host_(Device::open("cpu", device.threads())),
        ranks_(std::move(ranks)),
        options_(options),
        slab_(options, ranks_.get()),
        wide_(slab_.widened()),
        memory_(device, options, slab_, counts),
        given_(options.species.size()) {
    device_.make_current();
    const std::int64_t with_tiles = slab_.tiles > 0 ? 1 : 0;
    charge_ = Buffer<unsigned long long>(device_, with_tiles * species_cells() * species_count());
    charge_.zero();
    if (has_currents()) {
      current_ = Buffer<unsigned long long>(device_, with_tiles * 3 * component_cells() * species_count());
      current_.zero();
    }
    charges_ = Buffer<SpeciesCharge>(device_, species_count());
    background_ = Buffer<double>(device_, 1);
    sums_ = Buffer<unsigned long long>(device_, 7);
    if (ranks_) {
      leavers_ = std::make_unique<SlabLeaversCuda<Real>>(device_, slab_, ranks_);
      around_ = std::make_unique<ChargeAroundCuda>(device_, slab_, species_count(), ranks_);
      if (has_currents())
        currents_around_ = std::make_unique<ChargeAroundCuda>(device_, wide_, 3 * species_count(), ranks_);
    }
    set_charges();
  }

  void load(int species, const PlasmaParticles& particles) override {
    join();
    std::vector<plasma::TileParticles<Real>> tiles(static_cast<std::size_t>(slab_.tiles));
    given(species) = plasma::load_given(host_, options_, kind_of(species), slab_, ranks_.get(), particles, tiles);
    memory_.load(species, tiles);
    set_charges();
    counted_ = false;
  }
  PlasmaParticles unload(int species, const std::function<void(PlasmaParticles&)>& change,
                         const PlasmaChoice* chosen) const override {
    join();
    return plasma::unload_given(host_, options_, slab_, ranks_.get(), memory_.unload(species, host_), given(species),
                                change, chosen);
  }
  void for_held(int species, const std::function<void(const PlasmaParticles&)>& use) const override {
    join();
    plasma::for_tiles(host_, options_, slab_, memory_.unload(species, host_), use);
  }
  std::int64_t count(int species) const override {
    join();
    return memory_.count(species);
  }

  void deposit(const DepositedFields<Real>& fields) override {
    device_.make_current();
    if (has_currents()) {
      if (!counted_) deposit_charge(fields.density), current_.zero();
      add_up_currents(fields.current);
    } else {
      if (!counted_) join(), count_charge();
      add_up_charge(fields.density);
    }
    counted_ = false;
  }
  void deposit_charge(const Field<Real>& density) override {
    if (!has_currents()) return deposit({density});
    join();
    count_charge();
    add_up_charge(density);
  }

  void push(const GatheredFields<Real>& fields, const PushTimes& times) override {
    join();
    if (counted_) (has_currents() ? current_ : charge_).zero();
    if (ranks_) leavers_->clear();
    for (int s = 0; s < species_count(); ++s)
      if (given(s).total > 0 && slab_.tiles > 0) push_species(s, fields, times);
    if (ranks_) {
      leavers_->exchange([&] { return groups(); }, [&] { close_gaps(stream()); });
      if (!take_in()) close_gaps(stream());
    } else {
      side_.fork(stream());
      close_gaps(side_.stream());
    }
    counted_ = true;
  }
  void join() const override {
    device_.make_current();
    side_.join(stream());
  }

  std::vector<PlasmaSums> measure(const GatheredFields<Real>& fields, double kick) const override {
    join();
    std::vector<PlasmaSums> result;
    for (int s = 0; s < species_count(); ++s) result.push_back(measure_species(s, fields, kick));
    return result;
  }

  void check() override;
  std::uint64_t layout_version() const override { return memory_.version(); }
  std::int64_t device_bytes() const override {
    return memory_.bytes() + (ranks_ ? leavers_->bytes() + around_->bytes() : 0) +
           (currents_around_ ? currents_around_->bytes() : 0) +
           static_cast<std::int64_t>(charge_.bytes() + current_.bytes() + charges_.bytes() + background_.bytes() +
                                     sums_.bytes());
  }

 private:
  int species_count() const { return static_cast<int>(options_.species.size()); }
  plasma::GivenParticles& given(int s) { return given_[static_cast<std::size_t>(s)]; }
  const plasma::GivenParticles& given(int s) const { return given_[static_cast<std::size_t>(s)]; }
  const PlasmaSpecies& kind_of(int s) const { return options_.species[static_cast<std::size_t>(s)]; }
  cudaStream_t stream() const { return handle(device_.stream()); }
  static void check_launch(const char* name) { cuda::check(cudaGetLastError(), name); }

  bool has_currents() const { return options_.light_speed > 0; }
  std::int64_t layer_cells() const { return slab_.rows_in_layer() * options_.cells[0]; }
  /// Cells of one species, with the layers around; of a component of its current.
  std::int64_t species_cells() const { return slab_.window.count * layer_cells(); }
  std::int64_t component_cells() const { return wide_.window.count * layer_cells(); }
  /// The counts of a species, from the first layer in memory on: of its charge, or of its current along x.
  SlabSums sums_of(const plasma::LayerWindow& window, unsigned long long* counts) const {
    SlabSums sums{{{options_.cells[0], options_.cells[1], options_.cells[2]}, counts}, {}};
    sums.first[slab_.axis] = (window.first + window.cells) % window.cells;
    return sums;
  }
  SlabSums charge_of(int s) { return sums_of(slab_.window, charge_.data() + s * species_cells()); }
  SlabSums current_of(int s) { return sums_of(wide_.window, current_.data() + 3 * s * component_cells()); }

  /// Takes in particles without room, whose counts are on their way.
  void take_in_all() {
    while (take_in()) memory_.make_room();
  }
  void add_up_currents(const std::array<Field<Real>, 3>& current) {
    if (ranks_) currents_around_->give(current_.data()), take_in_all();
    const std::int64_t own = slab_.count * layer_cells();
    if (own == 0) return;
    CurrentOfCounts<Real> task{options_.cells[0],
                               species_count(),
                               own,
                               current_.data() + wide_.below * layer_cells(),
                               component_cells(),
                               charges_.data(),
                               {current[0], current[1], current[2]}};
    launch("currents", 3 * own, device_.stream(), task);
  }
  void add_up_charge(const Field<Real>& density) {
    if (ranks_) {
      around_->give(charge_.data());
      if (!has_currents()) take_in_all();
    }
    ++densities_;
    const std::int64_t cells = std::int64_t{density.nx} * density.ny * density.nz;
    if (cells == 0) return;
    const DensityTask<Real> task{{density.nx, density.ny, density.nz},
                                 species_count(),
                                 Counts::charge_bits,
                                 charge_.data() + slab_.below * layer_cells(),
                                 species_cells(),
                                 charges_.data(),
                                 background_.data(),
                                 density,
                                 memory_.groups().status};
    const std::int64_t each = sums_threads * cells_of_thread;
    const auto blocks = static_cast<unsigned>((cells + each - 1) / each);
    if (ranks_)
      charge_to_density<true><<<blocks, sums_threads, 0, stream()>>>(task);
    else
      charge_to_density<false><<<blocks, sums_threads, 0, stream()>>>(task);
    check_launch("charge_to_density");
  }

  Groups<Real> groups() const {
    auto all = memory_.groups();
    if (ranks_) all.outbox = leavers_->outbox();
    return all;
  }

  /// The field as kernels see it, with the cells of the box.
  GridField<Real> grid_field(const GatheredFields<Real>& fields) const {
    GridField<Real> on_grid{{}, fields.window.first, fields.window.count};
    for (std::size_t c = 0; c < 6; ++c) {
      const Field<const Real>& from = c < 3 ? fields.electric[c] : fields.magnetic[c - 3];
      on_grid.of[c] = {from.data, options_.cells[0], options_.cells[1], options_.cells[2], from.pitch, true};
    }
    return on_grid;
  }

  /// Groups take in the particles in their inboxes.
  void close_gaps(cudaStream_t stream) {
    const auto all = groups();
    if (all.groups == 0) return;
    take_arrivals<<<static_cast<unsigned>(all.groups), move_threads, memory_.move_bytes(), stream>>>(all);
    check_launch("take_arrivals");
  }
  /// Takes in particles of other ranks: those of the last exchange, then those that had no room. False if there are
  /// none.
  bool take_in() {
    bool some = false;
    for_kind<Real>(options_, [&](auto kind) {
      using Kind = decltype(kind);
      const SlabSums counts = has_currents() ? SlabSums{} : charge_of(0);
      some = leavers_->template take_in<Kind::dimensions, Kind::points>(groups(), counts, species_cells());
    });
    if (some) close_gaps(stream());
    return some;
  }

  /// The charge of a macro-particle and the background that makes the box neutral.
  void set_charges() {
    std::vector<SpeciesCharge> charges;
    double background = 0;
    for (int s = 0; s < species_count(); ++s) {
      const double each = kind_of(s).charge * kind_of(s).weight;
      charges.push_back({std::ldexp(each, -Counts::charge_bits), given(s).total, 0});
      background -= each * static_cast<double>(given(s).total);
    }
    charges_.from_host(charges.data());
    densities_ = 0;
    background = options_.background ? background / static_cast<double>(options_.cell_count()) : 0;
    background_.from_host(&background);
  }

  /// After a load, when no push has counted the charge.
  void count_charge() {
    charge_.zero();
    const auto groups = memory_.groups();
    if (groups.groups == 0) return;
    for_kind<Real>(options_, [&](auto kind) {
      using Kind = decltype(kind);
      for (int s = 0; s < species_count(); ++s)
        deposit_particles<Kind::dimensions, Kind::points, Kind::Pusher::relativistic, Real>
            <<<static_cast<unsigned>(groups.box.here), sums_threads, 0, stream()>>>(groups, s * groups.box.here,
                                                                                    charge_of(s));
    });
    check_launch("deposit_particles");
  }

  void push_species(int s, const GatheredFields<Real>& fields, const PushTimes& times) {
    PushTask<Real> task;
    task.all = groups();
    task.first_group = s * task.all.box.here;
    task.parts = memory_.parts(s);
    task.field = grid_field(fields);
    task.charge = has_currents() ? current_of(s) : charge_of(s);
    task.next_component = has_currents() ? component_cells() : 0;
    task.factors = factors(s, times.kick);
    task.drift = static_cast<Real>(times.drift * static_cast<double>(physics::place_grains<Real>));
    task.time = static_cast<Real>(times.drift);
    const auto blocks = static_cast<unsigned>(task.all.box.here * task.parts);
    for_kind<Real>(options_, [&](auto kind) {
      using Kind = decltype(kind);
      using Shape = typename ShapeOfKind<Kind>::type;
      if (ranks_)
        push_particles<Kind, Shape, true><<<blocks, Shape::threads, 0, stream()>>>(task);
      else
        push_particles<Kind, Shape, false><<<blocks, Shape::threads, 0, stream()>>>(task);
    });
    check_launch("push_particles");
  }

  physics::BorisFactors<Real> factors(int s, double time) const {
    return physics::boris_factors<Real>(kind_of(s).charge / kind_of(s).mass, options_.magnetic_field, time,
                                        options_.light_speed);
  }

  PlasmaSums measure_species(int s, const GatheredFields<Real>& fields, double kick) const {
    PlasmaSums result;
    if (given(s).total == 0) return result;
    MeasureTask<Real> task;
    task.all = memory_.groups();
    task.first_group = s * task.all.box.here;
    task.field = grid_field(fields);
    task.factors = factors(s, kick);
    sums_.zero();
    task.sums = sums_.data(), task.fastest = sums_.data() + 6;
    launch_measure<false>(task);
    auto bits = static_cast<std::int64_t>(sums_.to_host()[6]);  // of numbers that are not negative: in their order
    if (ranks_) ranks_->all_reduce(&bits, 1, Reduction::maximum);
    const auto largest = std::bit_cast<double>(bits);
    if (!(largest > 0) || !std::isfinite(largest)) {
      result.energy.x = largest;
      return result;
    }
    // Scales for which the sum over all particles stays below 2⁶².
    const double all = static_cast<double>(given(s).total);
    task.energy_scale = std::exp2(std::floor(61 - std::log2(all * largest)));
    task.momentum_scale = std::exp2(std::floor(61 - std::log2(all * std::sqrt(largest))));
    launch_measure<true>(task);
    auto sums = sums_.to_host();
    if (ranks_) ranks_->all_reduce(reinterpret_cast<std::int64_t*>(sums.data()), 6, Reduction::sum);
    const auto number = [&](int k) {
      return static_cast<double>(static_cast<std::int64_t>(sums[static_cast<std::size_t>(k)]));
    };
    const double mass = kind_of(s).mass * kind_of(s).weight;
    result.energy = (0.5 * mass / task.energy_scale) * Vec3<double>{number(0), number(1), number(2)};
    result.momentum = (mass / task.momentum_scale) * Vec3<double>{number(3), number(4), number(5)};
    return result;
  }

  /// One block per tile; does nothing if this rank has none.
  template <bool scaled>
  void launch_measure(const MeasureTask<Real>& task) const {
    if (task.all.groups == 0) return;
    for_kind<Real>(options_, [&](auto kind) {
      using Kind = decltype(kind);
      measure_particles<Kind::dimensions, Kind::velocities, Kind::points, typename Kind::Pusher, scaled, Real>
          <<<static_cast<unsigned>(task.all.box.here), sums_threads, 0, stream()>>>(task);
    });
    check_launch("measure_particles");
  }

  Device device_, host_;
  std::shared_ptr<Communicator> ranks_;  // null: all particles are here
  PlasmaOptions options_;
  plasma::TileSlab slab_, wide_;  // the latter with the layers around of currents
  TileMemory<Real> memory_;
  std::vector<plasma::GivenParticles> given_;                   // by species
  std::unique_ptr<SlabLeaversCuda<Real>> leavers_;              // of several ranks
  std::unique_ptr<ChargeAroundCuda> around_, currents_around_;  // of several ranks
  Buffer<unsigned long long> charge_;   // of all species, at the grid points; in a slab with the layers around
  Buffer<unsigned long long> current_;  // [species][component], the same
  Buffer<SpeciesCharge> charges_;
  Buffer<double> background_;
  mutable SideStream side_;                  // groups take in arrivals on it, beside the field's solution
  mutable Buffer<unsigned long long> sums_;  // the sums of measure()
  bool counted_ = false;                     // charge_ is that of the present positions, current_ of the push to them
  std::int64_t densities_ = 0;               // made since charges_ was set
};

template <class Real>
void TiledParticlesCuda<Real>::check() {
  join();
  const StreamStatus status = memory_.read_status();
  plasma::Lost lost;
  if (status.bad_group != 0)
    lost = {static_cast<std::int64_t>(status.bad_group - 1) / slab_.tiles,
            status.bad_rank,
            {status.bad_velocity[0], status.bad_velocity[1], status.bad_velocity[2]}};
  const std::string named = plasma::name_lost(
      ranks_.get(), options_, lost, [&](std::size_t s) -> const plasma::GivenParticles& { return given_[s]; });
  if (!named.empty()) throw Error(ErrorKind::numerics, named);
  // Present particles, arrivals less leavers, and units of charge, over all ranks.
  std::vector<std::int64_t> sums;
  for (int s = 0; s < species_count(); ++s) sums.push_back(memory_.count(s));
  sums.push_back(static_cast<std::int64_t>(status.balance));
  for (const SpeciesCharge& one : charges_.to_host()) sums.push_back(static_cast<std::int64_t>(one.sum));
  if (ranks_) ranks_->all_reduce(sums.data(), sums.size(), Reduction::sum);
  for (int s = 0; s < species_count(); ++s) {
    const auto k = static_cast<std::size_t>(s);
    const std::int64_t total = given(s).total;
    if (sums[k] != total)
      throw Error(ErrorKind::numerics,
                  fmt::format("plasma: species {}: {} particles are left of {}", kind_of(s).name, sums[k], total));
    const auto units =
        static_cast<std::uint64_t>(densities_) * (static_cast<std::uint64_t>(total) << Counts::charge_bits);
    const bool wrong = ranks_ ? static_cast<std::uint64_t>(sums[given_.size() + 1 + k]) != units
                              : status.wrong_charge == static_cast<unsigned>(s) + 1;
    if (wrong)
      throw Error(ErrorKind::numerics,
                  fmt::format("plasma: species {}: the charge on the grid was not that of {} particles",
                              kind_of(s).name, total));
  }
  if (sums[given_.size()] != 0)
    throw Error(ErrorKind::numerics, "plasma: particles that left their tiles are not those that arrived");
  if (status.crowded != 0) memory_.grow(status.refused != 0);
}

/// The memory of TiledParticlesCuda for a uniform density in this part of the tiles.
template <class Real>
std::int64_t stream_bytes(const PlasmaOptions& options, const std::vector<std::int64_t>& counts, double part) {
  const std::int64_t tiles = std::max<std::int64_t>(1, std::llround(part * plasma::TileGrid(options).count()));
  const std::int64_t groups = tiles * std::ssize(options.species);
  std::int64_t all = 0, slots = 0, largest = 0;
  for (const std::int64_t count : counts) {
    const std::int64_t each = (count + tiles - 1) / tiles;
    slots += tiles * slots_for(each);
    all += count, largest = std::max(largest, each);
  }
  const std::int64_t of_particle = options.dimensions * std::int64_t{sizeof(Place<Real>)} +
                                   options.velocities * std::int64_t{sizeof(Real)} +
                                   2 * std::int64_t{sizeof(std::uint32_t)};
  return of_particle * (slots + groups * inbox_for(largest, all, groups)) +
         static_cast<std::int64_t>(8 * part * static_cast<double>(options.cell_count())) * std::ssize(options.species) *
             (options.light_speed > 0 ? 4 : 1) +
         24 * groups;
}

}  // namespace pergola::cuda
