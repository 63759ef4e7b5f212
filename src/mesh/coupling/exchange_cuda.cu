// CUDA only. The traffic between particles and a mesh: which kernel, on what memory, in what order.
#include <vector>

#include "device/arena.hpp"
#include "domain/device_messages.hpp"
#include "mesh/coupling/chunk_deposit_cuda.cuh"
#include "mesh/coupling/density_cuda.cuh"
#include "mesh/coupling/gather_cuda.cuh"
#include "mesh/coupling/order_cuda.cuh"
#include "mesh/coupling/slab_exchange.hpp"

namespace pergola::cuda {

/// By measurement on an H200. The triangular cloud needs more cells and registers; that of four cells along an axis is
/// TreePM's, whose mesh has two cells for the distance of two particles, and whose chunks are usual_chunk long on
/// average.
template <int order>
using UsualChunk = ChunkShape<256, order == 4 ? 2 * usual_chunk / 256 : 4, order >= 3 ? 4096 : 3072,
                              order == 3   ? 3
                              : order == 4 ? 4
                                           : 6>;

/// The exchange on a GPU. With slabs it is the exchange of a rank's planes, or of those that it works on, with
/// particles whose clouds begin in them (exchange_slabs_cuda.cu sends them there).
///
/// A deposit: (1) zero the sums; (2) add the particles by the route of the options; (3) send sums of planes of other
/// ranks to them; (4) in an isolated box find the monopole; (5) turn sums into densities. Nothing waits for the host on
/// one rank.
template <class Real>
class ExchangeCuda final : public MeshExchange<Real> {
 public:
  ExchangeCuda(const Device& device, const Grid& grid, const ExchangeOptions& options)
      : device_(device),
        grid_(grid),
        options_(options),
        reach_(options, grid),
        whole_(grid),
        frame_(whole_),
        layers_(whole_.cells[2]),
        columns_(grid.dimensions, whole_.cells) {
    device_.make_current();
    if (options.slabs()) take_slab();
    counts_ = Buffer<DepositCounts>(device_, 1);
    counts_.zero();
    if (!grid.periodic()) {
      moments_ = Buffer<LayerMoments>(device_, whole_.cells[2]);
      monopole_ = Buffer<Monopole>(device_, 1);
      monopole_.zero();
    }
    if (options.route == DensityRoute::sorted) strays_ = std::make_unique<CountsOnHost>();
  }

  std::int64_t scratch_bytes() const override {
    return domain_ ? sum_bytes() : stored_cells() * static_cast<std::int64_t>(sizeof(CellForce<Real>));
  }
  std::int64_t sum_bytes() const override {
    return (domain_ ? layers_ * plane_cells() : stored_cells()) * static_cast<std::int64_t>(sizeof(std::int64_t));
  }
  std::int64_t own_bytes(std::int64_t particles) const override {
    auto always = static_cast<std::int64_t>(counts_.bytes() + moments_.bytes() + monopole_.bytes()) +
                  (sums_ ? sums_->bytes() : 0);
    if (domain_) always += domain_->bytes();
    return always + (has_starts() ? start_count(particles) * std::int64_t{sizeof(std::uint32_t)} : 0) +
           (options_.route == DensityRoute::sorted ? order_bytes(particles) + 4 * particles : 0);
  }

  /// The larger of a message of sums and one of a field; rows of a padded field are twice as wide.
  std::int64_t message_bytes(std::int64_t) const override {
    const auto cells = static_cast<std::size_t>(plane_cells()), padded = std::size_t{grid_.periodic() ? 1u : 4u};
    if (domain_) return domain_->message_bytes(cells * sizeof(std::int64_t));
    return std::max(sums_above_.message_bytes(cells * sizeof(std::int64_t)),
                    around_.message_bytes(padded * cells * sizeof(Real)));
  }

  void deposit(const MeshParticles<Real>& particles, double quantum, const Field<Real>& density, void* scratch,
               StageClock& clock) override {
    device_.make_current();
    counts_.zero();
    // Less by one than what a chunk can hold, for the mass is rounded to Real.
    constexpr double most_small = 0x7fffffff / UsualChunk<1>::chunk - 1;
    void* const added = domain_ ? domain_->memory() : scratch;
    DepositTask<Real> task{frame_,        particles,
                           1 / quantum,   static_cast<Real>(most_small * quantum),
                           nullptr,       static_cast<unsigned long long*>(added),
                           counts_.data()};
    if (stored_cells() == 0) {
      // A rank without planes has no particles but some off the mesh.
    } else {
      const bool given = particles.order;
      if (options_.route == DensityRoute::sorted && !given) order_first(task, clock);
      if (given || !task.particles.order) clock.begin("histogram");
      device_.memory().zero(added, static_cast<std::size_t>(stored_cells()) * sizeof(std::int64_t));
      with_shape([&](auto dimensions, auto order) { add<dimensions(), order()>(task); });
      if (strays_) strays_->fetch(counts_.data(), device_.stream());
    }
    clock.begin("density");
    if (options_.slabs()) give_sums(static_cast<std::int64_t*>(added), static_cast<std::int64_t*>(scratch));
    if (!grid_.periodic()) find_monopole(quantum, static_cast<const std::int64_t*>(scratch), particles.count);
    make_density(quantum, static_cast<const std::int64_t*>(scratch), density);
    clock.end();
  }

  std::int64_t deposited_quanta() override {
    std::int64_t quanta = counts_.to_host()[0].quanta;
    if (options_.slabs()) options_.ranks->all_reduce(&quanta, 1, Reduction::sum);
    return quanta;
  }
  std::int64_t outside() override { return options_.slabs() ? outside_ : counts_.to_host()[0].outside; }

  int planes_below() const override { return reach_.below(); }
  int planes_above() const override { return reach_.above(); }
  void fetch_planes_around(const Field<Real>& field) override {
    if (!options_.slabs()) return;
    const auto plane = static_cast<std::size_t>(field.pitch * field.ny) * sizeof(Real);
    if (domain_) return fetch_field(field, plane);
    planes_->fetch(around_, reinterpret_cast<std::byte*>(field.data), plane);
  }

  /// A spectral gradient has no such pass: the solver gives its components (gather_component).
  void set_potential(const Field<const Real>& potential, void* scratch) override {
    if (options_.gradient == Gradient::spectral || stored_cells() == 0) return;
    device_.make_current();
    const auto h = grid_.spacing();
    const Vec3<Real> per_spacing{static_cast<Real>(1 / h[0]), static_cast<Real>(1 / h[1]), static_cast<Real>(1 / h[2])};
    Field<const Real> with_around = domain_ ? domain_->field() : potential;
    with_around.data -= planes_below() * potential.pitch * potential.ny;
    with_around.nz += planes_below() + planes_above();
    launch_differentiate(frame_, options_.gradient == Gradient::four_point, with_around, planes_below(), per_spacing,
                         static_cast<CellForce<Real>*>(domain_ ? domain_->memory() : scratch), device_.stream());
  }

  /// A thread per particle; `index` lists the places that ask, null: all.
  void gather(const MeshParticles<Real>& particles, const std::int64_t* index, std::int64_t count,
              const Field<const Real>&, double gravitational_constant, const MeshForces<Real>& forces,
              const void* scratch) override {
    if (count <= 0) return;
    device_.make_current();
    GatherTask<Real> task{frame_,
                          particles,
                          index,
                          count,
                          static_cast<const CellForce<Real>*>(domain_ ? domain_->memory() : scratch),
                          monopole_.data(),
                          gravitational_constant,
                          forces};
    with_shape([&](auto dimensions, auto order) {
      const auto run = [&](auto kernel) {
        kernel<<<blocks_for(count, gather_threads), gather_threads, 0, handle(device_.stream())>>>(task);
        check(cudaGetLastError(), "gather forces");
      };
      if (forces.potential)
        run(gather_forces<dimensions(), order(), true, Real>);
      else
        run(gather_forces<dimensions(), order(), false, Real>);
    });
  }

  /// One component of the force, from a field that has it in its cells.
  void gather_component(int component, const MeshParticles<Real>& particles, const std::int64_t* index,
                        std::int64_t count, const Field<const Real>& slab_field, double gravitational_constant,
                        Real* into) override {
    if (count <= 0) return;
    device_.make_current();
    const Field<const Real> field = domain_ ? domain_->field() : slab_field;
    const bool by_fours = reinterpret_cast<std::uintptr_t>(field.data) % 16 == 0 && field.pitch % 4 == 0 &&
                          field.pitch >= frame_.cells[0] / 4 * 4 + 4;
    const ComponentTask<Real> task{
        frame_, particles, index, count, field, by_fours, component, monopole_.data(), gravitational_constant, into};
    with_shape([&](auto dimensions, auto order) {
      gather_one<dimensions(), order(), Real>
          <<<blocks_for(count, gather_threads), gather_threads, 0, handle(device_.stream())>>>(task);
    });
    check(cudaGetLastError(), "gather a component");
  }

  void force_at_places(int component, const MeshPlaces<Real>& places, const Field<const Real>& field) override {
    device_.make_current();
    launch("forces at places", places.count, device_.stream(), ForceAtPlace<Real>{frame_, places, field, component});
  }

  std::int64_t order_bytes(std::int64_t count) const override {
    device_.make_current();
    return KeySort(count, columns_.bits).bytes();
  }
  void find_order(const MeshParticles<Real>& particles, std::uint32_t* order, void* work) override {
    if (particles.count == 0) return;
    device_.make_current();
    const KeySort sort(particles.count, columns_.bits);
    number_particles(particles, sort.keys(work), sort.values(work, order));
    sort.sort(order, work, device_.stream());
    disordered_ = false;
  }

 private:
  /// Cells of the sums and of the force field.
  std::int64_t stored_cells() const { return std::int64_t{frame_.cells[0]} * frame_.cells[1] * frame_.cells[2]; }

  /// The layers of sums that this rank has: its planes and the ghost planes above, which clouds reach.
  void take_slab() {
    layers_ = reach_.slab.count();
    frame_.grid_layers = grid_.cells[2], frame_.first_layer = reach_.own().first;
    frame_.cells[2] = reach_.own().count > 0 ? reach_.own().count + reach_.ghosts : 0;
    const auto messages = options_.messages ? options_.messages : make_device_messages(device_, options_.ranks);
    planes_ = std::make_unique<DevicePlanes>(messages);
    int at_once = reach_.ghosts;
    if (options_.domains) {
      const std::size_t cell = options_.gradient == Gradient::spectral ? sizeof(std::int64_t) : sizeof(CellForce<Real>);
      domain_ = std::make_unique<ExchangeDomain<Real>>(
          device_, reach_, stored_cells() * static_cast<std::int64_t>(cell),
          static_cast<std::size_t>(plane_cells()) * sizeof(std::int32_t), messages->most_bytes());
      at_once = domain_->sums().most_at_once();
    } else {
      sums_above_ = reach_.sums_above();
      around_ = reach_.around();
    }
    sums_ = std::make_unique<SumsForOthers>(device_, options_.ranks, *planes_, plane_cells(), at_once);
  }
  /// The planes of a field that this rank works on, and those around.
  void fetch_field(const Field<Real>& field, std::size_t plane) {
    auto* const first = reinterpret_cast<std::byte*>(domain_->make_room(reach_, field));
    for (const auto& round : domain_->planes().rounds())
      planes_->fetch({{&round.planes, first, plane, reinterpret_cast<const std::byte*>(field.data)}});
  }
  /// Sends sums to the owners of the planes. Of a slab alone: those beyond it.
  void give_sums(const std::int64_t* added, std::int64_t* sums) {
    const int layers = frame_.cells[2];
    sums_->look(added, domain_ ? 0 : layers_, layers);
    if (!domain_) return sums_->give(sums_above_, added, layers_, layers, sums);
    if (layers_ > 0) device_.memory().zero(sums, static_cast<std::size_t>(sum_bytes()));
    for (const auto& round : domain_->sums().rounds())
      sums_->give(round.planes, added, round.begin, std::min(round.end, layers), sums);
  }

  /// All mass on the mesh as a point; ranks tell each other of their layers, and how many particles are off the mesh.
  void find_monopole(double quantum, const std::int64_t* sums, std::int64_t particles) {
    const auto stream = handle(device_.stream());
    if (layers_ > 0)
      find_layer_moments<<<static_cast<unsigned>(layers_), density_threads, 0, stream>>>(
          sums, frame_.cells[0], frame_.cells[1], moments_.data() + (options_.slabs() ? reach_.slab.first() : 0));
    if (options_.slabs()) {
      std::vector<LayerMoments> all = moments_.to_host();
      std::vector<std::size_t> bytes;
      for (int rank = 0; rank < options_.ranks->size(); ++rank)
        bytes.push_back(static_cast<std::size_t>(reach_.slab.count(rank)) * sizeof(LayerMoments));
      options_.ranks->all_gather_in_place(all.data(), bytes);
      moments_.from_host(all.data());
      outside_ = stored_cells() > 0 ? counts_.to_host()[0].outside : particles;
      options_.ranks->all_reduce(&outside_, 1, Reduction::sum);
    }
    const auto h = grid_.spacing();
    sum_moments<<<1, density_threads, 0, stream>>>(moments_.data(), whole_.cells[2], quantum, grid_.box.corner,
                                                   Vec3<double>{h[0], h[1], h[2]}, monopole_.data());
    check(cudaGetLastError(), "monopole");
  }
  std::int64_t plane_cells() const { return std::int64_t{frame_.cells[0]} * frame_.cells[1]; }

  /// body(dimensions, order) with the numbers as types.
  template <class Body>
  void with_shape(const Body& body) const {
    with_order(options_.assignment, [&](auto order) {
      if (grid_.dimensions == 3)
        body(std::integral_constant<int, 3>{}, order);
      else
        body(std::integral_constant<int, 2>{}, order);
    });
  }
  /// Whether chunks begin where find_chunk_starts() says.
  bool has_starts() const { return options_.assignment == Assignment::pcs && options_.route != DensityRoute::atomic; }
  static unsigned chunks_of(std::int64_t particles) { return blocks_for(particles, usual_chunk); }
  static std::int64_t start_count(std::int64_t particles) { return std::int64_t{chunks_of(particles)} + 1; }
  /// Begins of chunks of any length; one block finds one of them.
  template <int dimensions>
  const std::uint32_t* find_starts(const MeshParticles<Real>& particles) {
    const std::int64_t starts = start_count(particles.count);
    Arena(device_).room(starts_, starts, options_.slabs() ? starts / 16 : 0);
    find_chunk_starts<dimensions, Real><<<static_cast<unsigned>(starts), usual_chunk, 0, handle(device_.stream())>>>(
        whole_, particles, starts_.data());
    return starts_.data();
  }
  static unsigned blocks_for(std::int64_t count, int threads) {
    return static_cast<unsigned>((count + threads - 1) / threads);
  }

  /// One launch by the route of the options: atomics on global memory, or chunks in shared memory.
  template <int dimensions, int order>
  void add(DepositTask<Real> task) {
    const std::int64_t count = task.particles.count;
    if (count == 0) return;
    const auto stream = handle(device_.stream());
    if (options_.route == DensityRoute::atomic) {
      deposit_by_atomics<dimensions, order, Real><<<blocks_for(count, 256), 256, 0, stream>>>(task);
    } else {
      if (has_starts()) task.starts = find_starts<dimensions>(task.particles);
      deposit_by_chunks<dimensions, order, UsualChunk<order>, Real>
          <<<task.starts ? chunks_of(count) : blocks_for(count, UsualChunk<order>::chunk), UsualChunk<order>::threads,
             0, stream>>>(task);
    }
    check(cudaGetLastError(), "deposit");
  }

  void number_particles(const MeshParticles<Real>& particles, std::uint32_t* keys, std::uint32_t* values) {
    with_shape([&](auto dimensions, auto order) {
      launch("number particles", particles.count, device_.stream(),
             NumberParticles<dimensions(), order(), Real>{whole_, columns_, particles, keys, values});
    });
  }

  /// Route "sorted": where the last deposit met many particles far from their neighbours, finds an order first.
  void order_first(DepositTask<Real>& task, StageClock& clock) {
    const std::int64_t count = task.particles.count;
    if (const auto* last = strays_->arrived(); last && last->strays > count / 4) disordered_ = true;
    if (!disordered_ || count == 0) return;
    const KeySort sort(count, columns_.bits);
    if (order_.size() < count) order_ = Buffer<std::uint32_t>(device_, count);
    if (sort_work_.size() < sort.bytes()) sort_work_ = Buffer<std::uint8_t>(device_, sort.bytes());
    clock.begin("cell assignment");
    number_particles(task.particles, sort.keys(sort_work_.data()), sort.values(sort_work_.data(), order_.data()));
    clock.begin("histogram");
    sort.sort(order_.data(), sort_work_.data(), device_.stream());
    task.particles.order = order_.data();
  }

  /// Rows of the density that can be written while the sums of its rows from `first` on are still to be read.
  std::int64_t last_row(const std::int64_t* sums, const Field<Real>& density, std::int64_t first) const {
    const std::int64_t rows = std::int64_t{density.ny} * density.nz;
    const auto begin = reinterpret_cast<std::uintptr_t>(density.data), from = reinterpret_cast<std::uintptr_t>(sums);
    const auto row = static_cast<std::uintptr_t>(density.pitch) * sizeof(Real);
    if (from + static_cast<std::uintptr_t>(sum_bytes()) <= begin ||
        from >= begin + static_cast<std::uintptr_t>(rows) * row)
      return rows;
    const auto unread = from + static_cast<std::uintptr_t>(first * frame_.cells[0]) * sizeof(std::int64_t);
    const std::int64_t last = unread < begin ? 0 : static_cast<std::int64_t>((unread - begin) / row);
    if (!grid_.periodic() || last <= first)
      throw Error(ErrorKind::input, "mesh: expected sums that a density may be written over, found " +
                                        std::to_string(last) + " rows of room");
    return std::min(last, rows);
  }

  /// Sums may lie in the memory of the density: then rows are written in several launches, behind those read.
  void make_density(double quantum, const std::int64_t* sums, const Field<Real>& density) {
    DensityTask<Real> task{{frame_.cells[0], frame_.cells[1], layers_},
                           quantum / grid_.cell_volume(),
                           sums,
                           density,
                           frame_.cells[0] % 2 == 0 && density.pitch % 2 == 0 &&
                               reinterpret_cast<std::uintptr_t>(density.data) % (2 * sizeof(Real)) == 0 &&
                               reinterpret_cast<std::uintptr_t>(sums) % 16 == 0,
                           counts_.data()};
    const std::int64_t rows = std::int64_t{density.ny} * density.nz;
    const auto blocks_of = [](std::int64_t some) {
      return std::min(blocks_for(some, density_threads / 32), unsigned{most_density_blocks});
    };
    for (std::int64_t first = 0; first < rows; first = task.end_row) {
      task.first_row = static_cast<int>(first), task.end_row = static_cast<int>(last_row(sums, density, first));
      sums_to_density<Real><<<blocks_of(task.end_row - first), density_threads, 0, handle(device_.stream())>>>(task);
    }
    check(cudaGetLastError(), "density");
  }

  Device device_;
  Grid grid_;
  ExchangeOptions options_;
  SlabReach reach_;
  CellFrame<Real> whole_;  // of all ranks
  SlabFrame<Real> frame_;  // of what is worked on here
  int layers_;             // of the density
  ColumnOrder columns_;
  Buffer<DepositCounts> counts_;
  Buffer<LayerMoments> moments_;  // of an isolated mesh, all layers
  std::int64_t outside_ = 0;      // of all ranks
  Buffer<Monopole> monopole_;
  std::unique_ptr<CountsOnHost> strays_;
  bool disordered_ = false;
  Buffer<std::uint32_t> order_;
  Buffer<std::uint8_t> sort_work_;
  Buffer<std::uint32_t> starts_;                  // of chunks
  PlanesAround sums_above_, around_;              // of a slab alone: that sums go to, and that forces are made of
  std::unique_ptr<ExchangeDomain<Real>> domain_;  // where that is not what the rank works on
  std::unique_ptr<DevicePlanes> planes_;
  std::unique_ptr<SumsForOthers> sums_;
};

}  // namespace pergola::cuda

namespace pergola {

template <class Real>
std::unique_ptr<MeshExchange<Real>> make_mesh_exchange_cuda(const Device& device, const Grid& grid,
                                                            const ExchangeOptions& options) {
  return std::make_unique<cuda::ExchangeCuda<Real>>(device, grid, options);
}
template std::unique_ptr<MeshExchange<float>> make_mesh_exchange_cuda(const Device&, const Grid&,
                                                                      const ExchangeOptions&);
template std::unique_ptr<MeshExchange<double>> make_mesh_exchange_cuda(const Device&, const Grid&,
                                                                       const ExchangeOptions&);

}  // namespace pergola
