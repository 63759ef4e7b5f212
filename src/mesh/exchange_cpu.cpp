#include <algorithm>
#include <numeric>
#include <vector>

#include "device/parallel.hpp"
#include "mesh/cell_order.hpp"
#include "mesh/exchange.hpp"
#include "mesh/exchange_loops.hpp"
#include "mesh/force_field.hpp"
#include "physics/point_mass.hpp"

namespace pergola {

namespace {

using exchange::CellForce;
using exchange::Walk;

/// Layers whose particles are added into one block of sums. The sums are whole numbers, so nothing depends on it.
constexpr int slab_layers = 8;
constexpr std::int64_t chunk = 8192;

/// Moments of the sums in one layer: quanta, and quanta times the place of the cells' centres along x and y.
struct LayerSums {
  std::int64_t quanta = 0;
  double x = 0, y = 0;
};

/// Particles of one slab whose shares are added into one block of sums. A crowded slab has several.
struct Part {
  int slab = 0;
  std::int64_t begin = 0, end = 0;  // in the list of particles by slab
};

/// Deposit: particles are listed by slab, a group of layers; each slab has a block of sums of its own, with the layers
/// that its particles' clouds reach beyond it, so that no two threads ever add to the same cell. Then the blocks are
/// added up.
template <class Real>
class MeshExchangeCpu final : public MeshExchange<Real> {
 public:
  MeshExchangeCpu(const Device& device, const Grid& grid, const ExchangeOptions& options)
      : threads_(device.threads()), grid_(grid), options_(options), walk_(grid, options.assignment) {
    slabs_ = (walk_.layers + slab_layers - 1) / slab_layers;
    block_cells_ = (slab_layers + walk_.ghosts) * walk_.layer_cells;
    layer_sums_.resize(static_cast<std::size_t>(walk_.layers));
  }

  std::int64_t scratch_bytes() const override {
    const std::int64_t blocks = slabs_ + most_further_parts();
    return std::max(blocks * block_cells_ * std::int64_t{sizeof(std::int64_t)},
                    exchange::force_cells(walk_) * std::int64_t{sizeof(CellForce<Real>)});
  }
  std::int64_t own_bytes(std::int64_t particles) const override {
    return particles * std::int64_t{sizeof(std::uint32_t) + sizeof(std::uint16_t)};
  }

  void deposit(const MeshParticles<Real>& particles, double quantum, const Field<Real>& density, void* scratch,
               StageClock& clock) override {
    clock.begin("cell assignment");
    list_by_slab(particles);
    clock.begin("histogram");
    make_parts();
    auto* const sums = static_cast<std::int64_t*>(scratch);
    parallel_for(threads_, static_cast<std::int64_t>(parts_.size()), [&](std::int64_t p) {
      const Part& part = parts_[static_cast<std::size_t>(p)];
      std::int64_t* const block = sums + p * block_cells_;
      std::fill_n(block, block_cells_, 0);
      exchange::deposit_particles(walk_, particles, list_.data() + part.begin, part.end - part.begin, 1.0 / quantum,
                                  part.slab * slab_layers, block);
    });
    clock.begin("density");
    const double factor = quantum / grid_.cell_volume();
    const int field_layers = grid_.dimensions == 3 ? density.nz : density.ny;
    parallel_for(threads_, field_layers,
                 [&](std::int64_t layer) { write_layer(static_cast<int>(layer), factor, sums, density); });
    find_monopole(quantum);
    clock.end();
  }

  std::int64_t deposited_quanta() override { return deposited_; }
  std::int64_t outside() override { return outside_; }

  void set_potential(const Field<const Real>& potential, bool, void* scratch) override {
    exchange::differentiate(threads_, walk_, options_.gradient, potential, static_cast<CellForce<Real>*>(scratch));
  }
  void set_force(int axis, const Field<const Real>& force, void* scratch) override {
    exchange::copy_force(threads_, walk_, axis, force, static_cast<CellForce<Real>*>(scratch));
  }

  void gather(const MeshParticles<Real>& particles, const std::int64_t* index, std::int64_t count,
              const Field<const Real>& potential, double gravitational_constant, const MeshForces<Real>& forces,
              const void* scratch) override {
    const auto* const cells = static_cast<const CellForce<Real>*>(scratch);
    parallel_chunks(threads_, count, chunk, [&](std::int64_t begin, std::int64_t end) {
      bool any_off = false;
      if (forces.ax) any_off |= exchange::gather_forces(walk_, particles, index, begin, end, cells, forces);
      if (forces.potential)
        any_off |= exchange::gather_potential(walk_, particles, index, begin, end, potential, forces.potential);
      if (any_off) pull_from_outside(particles, index, begin, end, gravitational_constant, forces);
    });
  }

  std::int64_t order_bytes(std::int64_t count) const override { return sort_bytes(count); }

  void find_order(const MeshParticles<Real>& particles, std::uint32_t* order, void* work) override {
    auto* const keys = static_cast<std::uint32_t*>(work);
    parallel_chunks(threads_, particles.count, chunk, [&](std::int64_t begin, std::int64_t end) {
      exchange::find_cells(walk_, particles, begin, end, keys + begin);
    });
    sort_by_key(threads_, particles.count, grid_.cell_count() + 1, order, work);
  }

 private:
  /// A slab has one part for every 1/(2 threads) of all particles that it holds, and one for the rest.
  std::int64_t most_further_parts() const { return 2 * std::int64_t{threads_}; }

  void list_by_slab(const MeshParticles<Real>& particles) {
    const std::int64_t count = particles.count;
    const std::size_t bins = static_cast<std::size_t>(slabs_) + 1;  // the last: off the mesh
    slab_of_.resize(static_cast<std::size_t>(count));
    list_.resize(static_cast<std::size_t>(count));
    std::vector<std::uint32_t> places(static_cast<std::size_t>((count + chunk - 1) / chunk) * bins, 0);
    const auto places_of = [&](std::int64_t begin) {
      return places.data() + static_cast<std::size_t>(begin / chunk) * bins;
    };
    parallel_chunks(threads_, count, chunk, [&](std::int64_t begin, std::int64_t end) {
      int layers[chunk];
      exchange::find_layers(walk_, particles, begin, end, layers);
      std::uint32_t* const mine = places_of(begin);
      for (std::int64_t i = begin; i < end; ++i) {
        const int layer = layers[i - begin], slab = layer == exchange::off_mesh ? slabs_ : layer / slab_layers;
        slab_of_[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(slab);
        ++mine[slab];
      }
    });
    slab_begin_.assign(bins + 1, 0);
    std::uint32_t next = 0;
    for (std::size_t slab = 0; slab < bins; ++slab) {
      slab_begin_[slab] = next;
      for (std::size_t at = slab; at < places.size(); at += bins) {
        const std::uint32_t here = places[at];
        places[at] = next;
        next += here;
      }
    }
    slab_begin_[bins] = next;
    outside_ = count - slab_begin_[bins - 1];
    parallel_chunks(threads_, count, chunk, [&](std::int64_t begin, std::int64_t end) {
      std::uint32_t* const mine = places_of(begin);
      for (std::int64_t i = begin; i < end; ++i)
        list_[mine[slab_of_[static_cast<std::size_t>(i)]]++] = static_cast<std::uint32_t>(i);
    });
  }

  void make_parts() {
    const std::int64_t on_mesh = slab_begin_[static_cast<std::size_t>(slabs_)];
    const std::int64_t most = std::max<std::int64_t>(1, (on_mesh + most_further_parts() - 1) / most_further_parts());
    parts_.clear();
    for (int slab = 0; slab < slabs_; ++slab) {
      const std::int64_t end = slab_begin_[static_cast<std::size_t>(slab) + 1];
      for (std::int64_t begin = slab_begin_[static_cast<std::size_t>(slab)]; begin < end; begin += most)
        parts_.push_back({slab, begin, std::min(begin + most, end)});
    }
  }

  /// Adds the rows of a layer from all blocks that hold it, makes densities of them, and clears the padding.
  void write_layer(int layer, double factor, const std::int64_t* sums, const Field<Real>& density) {
    const int field_rows = grid_.dimensions == 3 ? density.ny : 1;
    Real* const out = density.data + std::int64_t{layer} * field_rows * density.pitch;
    if (layer >= walk_.layers) {
      std::fill_n(out, field_rows * density.pitch, Real(0));
      return;
    }
    std::vector<const std::int64_t*> from;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const int first = parts_[p].slab * slab_layers, held = std::min(slab_layers, walk_.layers - first) + walk_.ghosts;
      for (int at = layer - first; at < held; at += walk_.layers)
        if (at >= 0) from.push_back(sums + static_cast<std::int64_t>(p) * block_cells_ + at * walk_.layer_cells);
    }
    std::vector<std::int64_t> total(static_cast<std::size_t>(walk_.row_cells));
    LayerSums moments;
    for (int row = 0; row < walk_.rows; ++row) {
      std::fill(total.begin(), total.end(), 0);
      for (const std::int64_t* const block : from)
        for (int r = row; r < walk_.rows + walk_.ghost_rows; r += walk_.rows)
          for (std::int64_t x = 0; x < walk_.row_cells; ++x)
            total[static_cast<std::size_t>(x)] += block[r * walk_.row_cells + x];
      for (int x = 0; x < walk_.ghosts; ++x)
        total[static_cast<std::size_t>(x)] += total[static_cast<std::size_t>(walk_.nx + x)];
      Real* const out_row = out + row * density.pitch;
      for (int x = 0; x < walk_.nx; ++x)
        out_row[x] = physics::density<Real>(total[static_cast<std::size_t>(x)], factor);
      std::fill(out_row + walk_.nx, out_row + density.pitch, Real(0));
      add_row(total, row, moments);
    }
    std::fill(out + walk_.rows * density.pitch, out + field_rows * density.pitch, Real(0));
    layer_sums_[static_cast<std::size_t>(layer)] = moments;
  }

  void add_row(const std::vector<std::int64_t>& total, int row, LayerSums& moments) const {
    std::int64_t quanta = 0;
    for (int x = 0; x < walk_.nx; ++x) quanta += total[static_cast<std::size_t>(x)];
    moments.quanta += quanta;
    if (grid_.periodic()) return;
    for (int x = 0; x < walk_.nx; ++x) moments.x += static_cast<double>(total[static_cast<std::size_t>(x)]) * (x + 0.5);
    moments.y += static_cast<double>(quanta) * (row + 0.5);
  }

  void find_monopole(double quantum) {
    deposited_ = 0;
    double x = 0, y = 0, z = 0;
    for (std::size_t layer = 0; layer < layer_sums_.size(); ++layer) {
      const LayerSums& sums = layer_sums_[layer];
      deposited_ += sums.quanta;
      x += sums.x, y += sums.y;
      z += static_cast<double>(sums.quanta) * (static_cast<double>(layer) + 0.5);
    }
    mass_ = static_cast<double>(deposited_) * quantum;
    if (deposited_ == 0) return;
    const auto h = grid_.spacing();
    const double quanta = static_cast<double>(deposited_);
    centre_ = grid_.box.corner;
    centre_.x += x / quanta * h[0];
    centre_.y += (grid_.dimensions == 3 ? y : z) / quanta * h[1];
    if (grid_.dimensions == 3) centre_.z += z / quanta * h[2];
  }

  /// For the particles off the mesh: the mass on it as a point.
  void pull_from_outside(const MeshParticles<Real>& particles, const std::int64_t* index, std::int64_t begin,
                         std::int64_t end, double gravitational_constant, const MeshForces<Real>& forces) const {
    const bool flat = grid_.dimensions == 2;
    int layers[chunk];
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t i = index ? index[k] : k;
      exchange::find_layers(walk_, particles, i, i + 1, layers);
      if (layers[0] != exchange::off_mesh) continue;
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

  int threads_;
  Grid grid_;
  ExchangeOptions options_;
  Walk<Real> walk_;
  int slabs_ = 0;
  std::int64_t block_cells_ = 0;
  std::vector<std::uint16_t> slab_of_;     // by particle
  std::vector<std::uint32_t> list_;        // particles by slab, in each in their order
  std::vector<std::uint32_t> slab_begin_;  // in the list
  std::vector<Part> parts_;
  std::vector<LayerSums> layer_sums_;
  std::int64_t deposited_ = 0, outside_ = 0;
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
