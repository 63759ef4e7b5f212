// Mass to the cells and forces back on the CPU. The hot loops over particles are in exchange_loops.cpp; this file
// decides which thread works on which layers, and what is exchanged between ranks. Layers are planes along the slowest
// axis. Memory: `scratch` is the caller's and holds sums during deposit(), then forces of cells for gather(). Order of
// calls: deposit(); the caller solves for the potential; set_potential() or set_forces(); gather().
#include <algorithm>
#include <vector>

#include "device/parallel.hpp"
#include "device/sort.hpp"
#include "mesh/coupling/exchange.hpp"
#include "mesh/coupling/exchange_loops.hpp"
#include "mesh/coupling/slab_exchange.hpp"
#include "mesh/coupling/slab_lists.hpp"
#include "mesh/slab_planes.hpp"
#include "physics/multipole.hpp"

namespace pergola {

namespace {

using exchange::CellForce;
using exchange::group_size;
using exchange::Loops;
using exchange::SlabLists;
using exchange::SlabPart;
using exchange::SumBlock;
using exchange::Walk;

constexpr std::int64_t chunk = 128 * group_size;

/// Moments of the sums in one layer: quanta, and quanta times the place of the cells' centres along x and y.
struct LayerSums {
  std::int64_t quanta = 0;
  double x = 0, y = 0;
};

/// Enough slabs for all threads; nothing else depends on it, for the sums are whole numbers.
int choose_slab_layers(int layers, int threads) {
  return threads == 1 ? 16 : std::clamp(layers / (4 * threads), 4, 16);
}

/// The exchange on the CPU, of a whole mesh or of a rank's planes.
///
/// Deposit: (1) particles are listed by slab, a few layers of the grid; (2) each slab has a block of sums of its own (a
/// crowded one has several), with the layers that its particles' clouds reach beyond it, so that no two threads ever
/// add to the same cell; (3) the blocks are added up and become densities. With ranks the sums of layers beyond the
/// rank's planes go to their owners in between. Gather: by the same lists, or by ranges of particles.
/// Sums are whole numbers: the result depends neither on the number of threads nor on the slabs.
template <class Real>
class MeshExchangeCpu final : public MeshExchange<Real> {
 public:
  MeshExchangeCpu(const Device& device, const Grid& grid, const ExchangeOptions& options)
      : device_(device),
        threads_(device.threads()),
        grid_(grid),
        options_(options),
        reach_(options, grid),
        walk_(make_walk(grid, options, reach_)),
        loops_(exchange::choose_loops<Real>(grid.dimensions, options.assignment)),
        slab_layers_(choose_slab_layers(walk_.layers, threads_)),
        lists_(walk_, slab_layers_, lists_in_runs(grid, options)) {
    const int reached = slab_layers_ + SlabLists<Real>::spare_layers;
    block_cells_ = ((walk_.slab ? std::min(reached, walk_.layers) : reached) + walk_.ghosts) * walk_.layer_cells;
    layers_ = options.slabs() ? reach_.slab.count() : walk_.layers;
    layer_sums_.resize(static_cast<std::size_t>(layers_));
    if (options_.domains) {
      domain_ = std::make_unique<ExchangeDomain<Real>>(device_, reach_, loops_bytes(), sums_plane_bytes());
      if (options_.gradient == Gradient::spectral)
        forces_ = PlanesWorkedOn(*reach_.ranks, reach_.slab, reach_.domains->planes(), 0, walk_.ghosts,
                                 reach_.beyond_sums, force_layer_bytes(), std::int64_t{8} << 20);
    } else if (options_.slabs()) {
      above_ = reach_.sums_above();
      around_ = reach_.around();
    }
  }

  /// Sums and forces of cells take turns in the scratch memory. If this rank works on other planes than its slab, they
  /// are in memory of its own (ExchangeDomain).
  std::int64_t scratch_bytes() const override { return domain_ ? forces_bytes(slab_walk()) : loops_bytes(); }
  std::int64_t own_bytes(std::int64_t particles) const override {
    std::int64_t bytes = SlabLists<Real>::bytes(particles);
    if (domain_) return bytes + domain_->bytes() + 2 * domain_->message_bytes(sums_plane_bytes());
    if (options_.slabs()) bytes += above_.bytes(sums_plane_bytes());  // sums for others and of others
    return bytes;
  }

  /// Collective with slabs. The lists are kept: gather() may use them.
  void deposit(const MeshParticles<Real>& particles, double quantum, const Field<Real>& density, void* scratch,
               StageClock& clock) override {
    clock.begin("cell assignment");
    lists_.fill(threads_, walk_, loops_, particles);
    listed_ = particles;
    parts_ = lists_.parts(std::max<std::int64_t>(1, most_further_parts()));
    clock.begin("histogram");
    auto* const sums = static_cast<std::int64_t*>(domain_ ? domain_->memory() : scratch);
    blocks_.resize(parts_.size());
    parallel_for(threads_, static_cast<std::int64_t>(parts_.size()), [&](std::int64_t p) {
      const SlabPart& part = parts_[static_cast<std::size_t>(p)];
      SumBlock block{sums + p * block_cells_, part.slab * slab_layers_, 0};
      loops_.deposit_groups(walk_, particles, part.groups, part.group_count, 1.0 / quantum, block);
      loops_.deposit_listed(walk_, particles, part.singles, part.single_count, 1.0 / quantum, block);
      blocks_[static_cast<std::size_t>(p)] = block;
    });
    clock.begin("density");
    const double factor = quantum / grid_.cell_volume();
    outside_ = lists_.outside();
    if (options_.slabs() && !grid_.periodic()) options_.ranks->all_reduce(&outside_, 1, Reduction::sum);
    if (domain_)
      write_given_layers(factor, density, static_cast<std::int64_t*>(scratch));
    else if (options_.slabs())
      write_slab_layers(factor, density);
    else
      parallel_for(threads_, walk_.layers,
                   [&](std::int64_t layer) { write_layer(static_cast<int>(layer), factor, density); });
    clear_padding(density);
    find_monopole(quantum);
    clock.end();
  }

  /// Of all ranks: whether no mass was lost can be checked exactly.
  std::int64_t deposited_quanta() override {
    std::int64_t quanta = deposited_;
    if (options_.slabs()) options_.ranks->all_reduce(&quanta, 1, Reduction::sum);
    return quanta;
  }
  std::int64_t outside() override { return outside_; }

  int planes_below() const override { return reach_.below(); }
  int planes_above() const override { return reach_.above(); }
  void fetch_planes_around(const Field<Real>& field) override {
    if (!options_.slabs()) return;
    const auto plane = static_cast<std::size_t>(field.pitch * field.ny) * sizeof(Real);
    if (domain_) return fetch_field(field, plane);
    around_.fetch(*options_.ranks, device_, reinterpret_cast<std::byte*>(field.data), plane);
  }

  /// Differences of the potential, into forces of cells.
  void set_potential(const Field<const Real>& potential, void* scratch) override {
    exchange::differentiate(threads_, walk_, options_.gradient, domain_ ? domain_->field() : potential,
                            static_cast<CellForce<Real>*>(domain_ ? domain_->memory() : scratch));
  }
  void set_forces(const ForceRows<Real>& rows, void* scratch) override {
    exchange::set_forces(domain_ ? slab_walk() : walk_, rows, static_cast<CellForce<Real>*>(scratch));
  }
  /// Ghost layers of forces, which clouds of this rank's particles reach.
  void fetch_forces_around(void* scratch) override {
    if (!options_.slabs()) return;
    auto* const forces = static_cast<std::byte*>(scratch);
    if (!domain_) return above_.fetch(*options_.ranks, device_, forces, force_layer_bytes());
    for (auto& round : forces_.rounds())
      round.planes.fetch(*options_.ranks, device_, forces, domain_->memory(), force_layer_bytes());
  }

  /// Forces at listed particles or at all. If all particles of the last deposit ask, its lists give a good order.
  void gather(const MeshParticles<Real>& particles, const std::int64_t* index, std::int64_t count,
              const Field<const Real>& potential, double gravitational_constant, const MeshForces<Real>& forces,
              const void* scratch) override {
    const auto* const cells = static_cast<const CellForce<Real>*>(domain_ ? domain_->memory() : scratch);
    const bool all = !index && count == listed_.count && particles.x == listed_.x && outside_ == 0;
    // Before accelerations take the memory of places.
    if (options_.slabs() && lists_.outside() > 0)
      parallel_chunks(threads_, count, chunk, [&](std::int64_t begin, std::int64_t end) {
        pull_from_outside(particles, nullptr, begin, end, gravitational_constant, forces);
      });
    if (options_.slabs() || (all && lists_in_runs(grid_, options_)))
      return gather_listed(particles, domain_ ? domain_->field() : potential, forces, cells);
    parallel_chunks(threads_, count, chunk, [&](std::int64_t begin, std::int64_t end) {
      bool any_off = false;
      if (forces.ax) any_off |= loops_.gather_forces(walk_, particles, index, begin, end, cells, forces);
      if (forces.potential)
        any_off |= loops_.gather_potential(walk_, particles, index, begin, end, potential, forces.potential);
      if (any_off) pull_from_outside(particles, index, begin, end, gravitational_constant, forces);
    });
  }

  std::int64_t order_bytes(std::int64_t count) const override { return order_by_key_bytes(count); }

  /// The order of particles by their cell, for a caller that moves them in memory.
  void find_order(const MeshParticles<Real>& particles, std::uint32_t* order, void* work) override {
    auto* const keys = static_cast<std::uint32_t*>(work);
    parallel_chunks(threads_, particles.count, chunk, [&](std::int64_t begin, std::int64_t end) {
      loops_.find_cells(walk_, particles, begin, end, keys + begin);
    });
    order_by_key(threads_, particles.count, grid_.cell_count() + 1, order, work);
  }

 private:
  /// A spectral force is that of TreePM, whose particles come in any order.
  static bool lists_in_runs(const Grid& grid, const ExchangeOptions& options) {
    return options.slabs() || (grid.dimensions == 3 && options.gradient == Gradient::spectral);
  }
  /// The layers that this rank works on: of the whole mesh, or of its slab.
  static Walk<Real> make_walk(const Grid& grid, const ExchangeOptions& options, const SlabReach& reach) {
    const Walk<Real> whole(grid, options.assignment);
    return options.slabs() ? whole.of_slab(reach.own().first, reach.own().count) : whole;
  }
  /// Of the slab, whatever is worked on.
  Walk<Real> slab_walk() const { return walk_.of_slab(reach_.slab.first(), reach_.slab.count()); }
  /// The planes of a field that this rank works on, and those around.
  void fetch_field(const Field<Real>& field, std::size_t plane) {
    auto* const first = reinterpret_cast<std::byte*>(domain_->make_room(reach_, field));
    for (auto& round : domain_->planes().rounds())
      round.planes.fetch(*options_.ranks, device_, reinterpret_cast<const std::byte*>(field.data), first, plane);
  }

  std::size_t force_layer_bytes() const {
    return static_cast<std::size_t>(walk_.layer_cells) * sizeof(CellForce<Real>);
  }
  std::int64_t forces_bytes(const Walk<Real>& walk) const {
    return exchange::force_cells(walk) * std::int64_t{sizeof(CellForce<Real>)};
  }
  /// What the loops over the particles here need: blocks of sums, or forces.
  std::int64_t loops_bytes() const {
    const std::int64_t blocks = lists_.slabs() + most_further_parts();
    return std::max(blocks * block_cells_ * std::int64_t{sizeof(std::int64_t)}, forces_bytes(walk_));
  }

  /// Of one layer of sums as ranks exchange them, without ghost rows.
  std::size_t sums_plane_bytes() const {
    return static_cast<std::size_t>(walk_.rows * walk_.row_cells) * sizeof(std::int64_t);
  }

  /// Blocks that crowded slabs may have in all beyond one each.
  std::int64_t most_further_parts() const { return threads_ == 1 ? 0 : 2 * std::int64_t{threads_}; }

  /// The sums of a layer in the blocks that hold it; those beyond the last layer are the first ones, but of a slab.
  std::vector<const std::int64_t*> blocks_with(int layer) const {
    std::vector<const std::int64_t*> from;
    const int again = walk_.slab ? walk_.layers + walk_.ghosts : walk_.layers;
    for (const SumBlock& block : blocks_)
      for (int at = layer - block.first_layer; at < block.cleared; at += again)
        if (at >= 0) from.push_back(block.sums + at * walk_.layer_cells);
    return from;
  }

  /// A row of a layer in these blocks, and the ghosts that repeat it.
  void find_rows(const std::vector<const std::int64_t*>& from, int row, std::vector<const std::int64_t*>& rows) const {
    rows.clear();
    for (const std::int64_t* const block : from)
      for (int r = row; r < walk_.rows + walk_.ghost_rows; r += walk_.rows) rows.push_back(block + r * walk_.row_cells);
  }
  /// Adds them up. `rows` is work memory.
  void add_row(const std::vector<const std::int64_t*>& from, int row, std::vector<const std::int64_t*>& rows,
               std::int64_t* total) const {
    find_rows(from, row, rows);
    loops_.add_rows(walk_, rows.data(), rows.size(), total);
  }

  /// Makes densities of a layer's rows, total_of(row) each, and clears their padding.
  template <class TotalOf>
  void finish_layer(int layer, double factor, const Field<Real>& density, const TotalOf& total_of) {
    const int field_rows = grid_.dimensions == 3 ? density.ny : 1;
    Real* const out = density.data + std::int64_t{layer} * field_rows * density.pitch;
    LayerSums sums;
    for (int row = 0; row < walk_.rows; ++row) {
      Real* const out_row = out + row * density.pitch;
      double moment = 0;
      const std::int64_t quanta =
          loops_.finish_row(walk_, total_of(row), factor, out_row, grid_.periodic() ? nullptr : &moment);
      std::fill(out_row + walk_.nx, out_row + density.pitch, Real(0));
      sums.quanta += quanta;
      sums.x += moment;
      sums.y += static_cast<double>(quanta) * (row + 0.5);
    }
    std::fill(out + walk_.rows * density.pitch, out + field_rows * density.pitch, Real(0));
    layer_sums_[static_cast<std::size_t>(layer)] = sums;
  }

  /// Adds the blocks that hold a layer and writes its density.
  void write_layer(int layer, double factor, const Field<Real>& density) {
    const auto from = blocks_with(layer);
    std::vector<const std::int64_t*> rows;
    std::vector<std::int64_t> total(static_cast<std::size_t>(walk_.row_cells));
    finish_layer(layer, factor, density, [&](int row) {
      add_row(from, row, rows, total.data());
      return total.data();
    });
  }

  /// Sums of layers from the first on, for other ranks.
  void add_layers(int first, int count) {
    const std::int64_t plane = walk_.rows * walk_.row_cells;
    beyond_.resize(static_cast<std::size_t>(count * plane));
    parallel_for(threads_, count, [&](std::int64_t g) {
      const auto from = blocks_with(first + static_cast<int>(g));
      std::vector<const std::int64_t*> rows;
      for (int row = 0; row < walk_.rows; ++row) {
        std::int64_t* const total = beyond_.data() + g * plane + row * walk_.row_cells;
        add_row(from, row, rows, total);
        std::fill_n(total + walk_.nx, walk_.ghosts, 0);  // they are in the first cells
      }
    });
  }

  /// If ranks work on other planes than those of their slabs: all sums go to the owners of the planes.
  void write_given_layers(double factor, const Field<Real>& density, std::int64_t* sums) {
    const std::int64_t plane = walk_.rows * walk_.row_cells;
    std::fill_n(sums, layers_ * plane, 0);
    for (auto& round : domain_->sums().rounds()) {
      const int end = walk_.layers > 0 ? std::min(round.end, walk_.layers + walk_.ghosts) : 0;
      add_layers(round.begin, std::max(0, end - round.begin));
      const auto* const arrived = reinterpret_cast<const std::int64_t*>(
          round.planes.give(*options_.ranks, reinterpret_cast<const std::byte*>(beyond_.data()), sums_plane_bytes()));
      const auto& arriving = round.planes.arriving();
      parallel_for(threads_, walk_.rows, [&](std::int64_t row) {
        for (std::size_t k = 0; k < arriving.size(); ++k) {
          const std::int64_t* const from = arrived + static_cast<std::int64_t>(k) * plane + row * walk_.row_cells;
          std::int64_t* const to = sums + arriving[k] * plane + row * walk_.row_cells;
          for (std::int64_t x = 0; x < walk_.nx; ++x) to[x] += from[x];
        }
      });
    }
    parallel_for(threads_, layers_, [&](std::int64_t layer) {
      finish_layer(static_cast<int>(layer), factor, density,
                   [&](int row) { return sums + layer * plane + row * walk_.row_cells; });
    });
  }

  /// The same for a slab: sums beyond its last layer go to the ranks that have these planes.
  void write_slab_layers(double factor, const Field<Real>& density) {
    const std::int64_t plane = walk_.rows * walk_.row_cells;
    add_layers(walk_.layers, walk_.layers > 0 ? walk_.ghosts : 0);
    const auto* const arrived = reinterpret_cast<const std::int64_t*>(
        above_.give(*options_.ranks, reinterpret_cast<const std::byte*>(beyond_.data()), sums_plane_bytes()));
    parallel_for(threads_, walk_.layers, [&](std::int64_t layer) {
      const auto from = blocks_with(static_cast<int>(layer));
      std::vector<const std::int64_t*> rows;
      std::vector<std::int64_t> total(static_cast<std::size_t>(walk_.row_cells));
      finish_layer(static_cast<int>(layer), factor, density, [&](int row) {
        find_rows(from, row, rows);
        for (std::size_t k = 0; k < above_.arriving().size(); ++k)
          if (above_.arriving()[k] == layer)
            rows.push_back(arrived + static_cast<std::int64_t>(k) * plane + row * walk_.row_cells);
        loops_.add_rows(walk_, rows.data(), rows.size(), total.data());
        return total.data();
      });
    });
  }

  /// The layers of the field beyond those of the grid.
  void clear_padding(const Field<Real>& density) {
    const bool deep = grid_.dimensions == 3;
    const std::int64_t layers = deep ? density.nz : density.ny, layer = (deep ? density.ny : 1) * density.pitch;
    parallel_for(threads_, layers - layers_,
                 [&](std::int64_t k) { std::fill_n(density.data + (layers_ + k) * layer, layer, Real(0)); });
  }

  /// Those of all ranks where each has some.
  std::vector<LayerSums> sums_of_all_layers() const {
    if (!options_.slabs() || grid_.periodic()) return layer_sums_;
    const SlabPlanes& slab = reach_.slab;
    std::vector<LayerSums> all(static_cast<std::size_t>(slab.planes()));
    std::copy(layer_sums_.begin(), layer_sums_.end(), all.begin() + slab.first());
    std::vector<std::size_t> bytes;
    for (int rank = 0; rank < options_.ranks->size(); ++rank)
      bytes.push_back(static_cast<std::size_t>(slab.count(rank)) * sizeof(LayerSums));
    options_.ranks->all_gather_in_place(all.data(), bytes);
    return all;
  }

  /// Mass on the mesh and its centre, from the moments of layers in their order.
  void find_monopole(double quantum) {
    deposited_ = 0;
    for (const LayerSums& sums : layer_sums_) deposited_ += sums.quanta;
    std::int64_t all = 0;
    double x = 0, y = 0, z = 0, layer = 0;
    for (const LayerSums& sums : sums_of_all_layers()) {
      all += sums.quanta;
      x += sums.x, y += sums.y;
      z += static_cast<double>(sums.quanta) * (layer + 0.5);
      layer += 1;
    }
    mass_ = static_cast<double>(all) * quantum;
    if (all == 0) return;
    const auto h = grid_.spacing();
    const double quanta = static_cast<double>(all);
    centre_ = grid_.box.corner;
    centre_.x += x / quanta * h[0];
    centre_.y += (grid_.dimensions == 3 ? y : z) / quanta * h[1];
    if (grid_.dimensions == 3) centre_.z += z / quanta * h[2];
  }

  /// Forces at all particles of the last deposit, in the order of its lists. Accelerations may take the memory of the
  /// particles' places.
  void gather_listed(const MeshParticles<Real>& particles, const Field<const Real>& potential,
                     const MeshForces<Real>& forces, const CellForce<Real>* cells) const {
    parallel_for(threads_, static_cast<std::int64_t>(parts_.size()), [&](std::int64_t p) {
      const SlabPart& part = parts_[static_cast<std::size_t>(p)];
      for (std::int64_t g = 0; g < part.group_count; ++g) {
        if (g + 2 < part.group_count) exchange::fetch_group(particles, part.groups[g + 2]);
        const std::int64_t begin = std::int64_t{part.groups[g]} * group_size, end = begin + group_size;
        if (forces.potential)
          loops_.gather_potential(walk_, particles, nullptr, begin, end, potential, forces.potential);
        if (forces.ax) loops_.gather_forces(walk_, particles, nullptr, begin, end, cells, forces);
      }
      Real found[4][group_size];
      std::int64_t index[group_size];
      for (std::int64_t from = 0; from < part.single_count; from += group_size) {
        const std::int64_t count = std::min<std::int64_t>(group_size, part.single_count - from);
        std::copy_n(part.singles + from, count, index);
        if (forces.ax)
          loops_.gather_forces(walk_, particles, index, 0, count, cells, {found[0], found[1], found[2], nullptr});
        if (forces.potential) loops_.gather_potential(walk_, particles, index, 0, count, potential, found[3]);
        Real* const out[4] = {forces.ax, forces.ay, forces.az, forces.potential};
        for (int field = 0; field < 4; ++field)
          for (std::int64_t k = 0; k < count && out[field]; ++k) out[field][index[k]] = found[field][k];
      }
    });
  }

  /// For the particles off the mesh: the mass on it as a point.
  void pull_from_outside(const MeshParticles<Real>& particles, const std::int64_t* index, std::int64_t begin,
                         std::int64_t end, double gravitational_constant, const MeshForces<Real>& forces) const {
    const bool flat = grid_.dimensions == 2;
    int layers[group_size];
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t i = index ? index[k] : k, in_group = (k - begin) % group_size;
      if (index || in_group == 0)
        loops_.find_layers(walk_, particles, i, index ? i + 1 : std::min(k + group_size, end), layers);
      if (layers[index ? 0 : in_group] != exchange::off_mesh) continue;
      const Vec3<double> d{particles.x[i] - centre_.x, particles.y[i] - centre_.y,
                           flat ? 0.0 : particles.z[i] - centre_.z};
      const double gm = gravitational_constant * mass_;
      const auto field = flat ? physics::point_field<2>(d, gm) : physics::point_field<3>(d, gm);
      if (forces.ax) forces.ax[k] = static_cast<Real>(field.acceleration.x);
      if (forces.ay) forces.ay[k] = static_cast<Real>(field.acceleration.y);
      if (forces.az) forces.az[k] = static_cast<Real>(field.acceleration.z);
      if (forces.potential) forces.potential[k] = static_cast<Real>(field.potential);
    }
  }

  Device device_;
  int threads_;
  Grid grid_;
  ExchangeOptions options_;
  SlabReach reach_;
  Walk<Real> walk_;
  Loops<Real> loops_;
  int slab_layers_;
  SlabLists<Real> lists_;
  int layers_ = 0;                                // of the density; walk_ has those that particles are worked on in
  std::unique_ptr<ExchangeDomain<Real>> domain_;  // where these are not the same
  PlanesWorkedOn forces_;                         // then: of a spectral gradient
  std::int64_t block_cells_ = 0;
  std::vector<SlabPart> parts_;
  std::vector<SumBlock> blocks_;  // of the parts
  std::vector<LayerSums> layer_sums_;
  std::vector<std::int64_t> beyond_;  // sums of some layers, for other ranks
  PlanesAround above_, around_;       // of a slab alone: that clouds reach, and that forces are made of
  MeshParticles<Real> listed_;        // of the last deposit
  std::int64_t outside_ = 0;
  std::int64_t deposited_ = 0;
  double mass_ = 0;
  Vec3<double> centre_{0, 0, 0};
};

}  // namespace

template <class Real>
std::unique_ptr<MeshExchange<Real>> make_mesh_exchange_cpu(const Device& device, const Grid& grid,
                                                           const ExchangeOptions& options) {
  return std::make_unique<MeshExchangeCpu<Real>>(device, grid, options);
}
template std::unique_ptr<MeshExchange<float>> make_mesh_exchange_cpu(const Device&, const Grid&,
                                                                     const ExchangeOptions&);
template std::unique_ptr<MeshExchange<double>> make_mesh_exchange_cpu(const Device&, const Grid&,
                                                                      const ExchangeOptions&);

}  // namespace pergola
