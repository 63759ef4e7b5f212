// The exchange of particles with a mesh in slabs, on GPUs. Order of calls: bring() finds the routes and moves particles
// to the ranks that work on their cells; deposit() adds their masses; gather() or gather_component() sends answers
// back. bring_places(), force_at_places() and give_places() do the same for other places than particles. The arrays of
// received particles lie in one piece of memory, which the caller may lend between steps.
#include <algorithm>

#include "device/arena.hpp"
#include "domain/common_value.hpp"
#include "domain/device_routing.hpp"
#include "mesh/coupling/deposit_cuda.cuh"
#include "mesh/coupling/exchange.hpp"
#include "mesh/coupling/row_domains.hpp"
#include "mesh/coupling/slab_exchange.hpp"
#include "mesh/slab_planes.hpp"

namespace pergola {

namespace cuda {

namespace {

/// The plane in which a particle's cloud begins, or the row, counted over all planes; −1 for one off the mesh.
template <int order, bool by_row, class Real>
__device__ int find_start(const CellFrame<Real>& frame, const MeshParticles<Real>& particles, std::int64_t i) {
  const Real position[3] = {particles.x[i], particles.y[i], particles.z[i]};
  Real place[3];
  if (!find_place<3>(frame, position, place)) return -1;
  const auto first = [&](int axis) {  // a place may be no number
    return min(max(frame.wrapped(axis, physics::axis_weights<order, Real>(place[axis]).first), 0),
               frame.cells[axis] - 1);
  };
  return by_row ? first(2) * frame.cells[1] + first(1) : first(2);
}

/// By the particles' order: each and the rank that has the plane or row in which its cloud begins; the own one of those
/// that are off the mesh, and for now of those in rows without a rank.
template <int order, bool by_row, class Real>
struct ListByOwner {
  CellFrame<Real> frame;
  MeshParticles<Real> particles;
  const std::uint32_t* owner;
  DeviceRouting::Listing to;
  std::uint32_t own;
  int* uncovered;

  __device__ void operator()(std::int64_t k) const {
    const std::int64_t i = particles.order ? particles.order[k] : k;
    const int start = find_start<order, by_row>(frame, particles, i);
    std::uint32_t rank = start < 0 ? own : owner[start];
    if (by_row && rank == RowDomains::nobody) *uncovered = 1, rank = own;
    to.rank[k] = rank;
    to.particle[k] = static_cast<std::uint32_t>(i);
  }
};

/// How many particles' clouds begin in each row.
template <int order, class Real>
struct CountByRow {
  CellFrame<Real> frame;
  MeshParticles<Real> particles;
  unsigned long long* counts;

  __device__ void operator()(std::int64_t i) const {
    const int row = find_start<order, true>(frame, particles, i);
    if (row >= 0) atomicAdd(&counts[row], 1ull);
  }
};

/// MeshExchangeSlabs (mesh/coupling/exchange_slabs.cpp) on a GPU: particles go to the rank that has the plane in which
/// their cloud begins, or the row (row_domains.hpp), whose own exchange does the rest.
template <class Real>
class ExchangeSlabsCuda final : public SlabExchange<Real>, public LentArrivals {
  using SlabExchange<Real>::own_;

 public:
  ExchangeSlabsCuda(const Device& device, const Grid& grid, const ExchangeOptions& options)
      : ExchangeSlabsCuda(device, grid, options,
                          options.messages ? options.messages : make_device_messages(device, options.ranks)) {}
  ExchangeSlabsCuda(const Device& device, const Grid& grid, const ExchangeOptions& options,
                    const std::shared_ptr<DeviceMessages>& messages)
      : SlabExchange<Real>(make_own(device, grid, options, messages)),
        device_(device),
        grid_(grid),
        options_(options),
        whole_(grid),
        division_(options.ranks, grid, RowCosts::of(device.is_cuda())),
        masses_(device, options.ranks),
        routing_(messages),
        places_(messages) {
    if (grid.dimensions != 3) throw Error(ErrorKind::input, "mesh: expected a box in three dimensions for slabs");
    const SlabPlanes slab(*options.ranks, grid.cells[2], options.slab_unit);
    options_.messages = messages;
    uncovered_ = Buffer<int>(device, 1);
    uncovered_.zero();
    own_rank_ = static_cast<std::uint32_t>(options.ranks->rank());
    std::vector<std::uint32_t> owner;
    for (int plane = 0; plane < grid.cells[2]; ++plane) owner.push_back(static_cast<std::uint32_t>(slab.owner(plane)));
    owner_ = Buffer<std::uint32_t>(device, owner);
  }

  void lend_arrivals(const LentMemory& arrivals, const LentMemory& way) override {
    borrowed_ = arrivals, borrowed_way_ = way;
  }
  std::int64_t sum_bytes() const override { return own_->sum_bytes(); }
  std::int64_t own_bytes(std::int64_t particles) const override {
    Arena count;
    if (!borrowed_) count.room(memory_, room_bytes(particles, particles));
    return count.bytes() + static_cast<std::int64_t>(owner_.bytes() + row_owner_.bytes()) +
           routing_.own_bytes(particles, !borrowed_way_) + own_->own_bytes(particles);
  }
  std::int64_t message_bytes(std::int64_t particles) const override {
    const std::int64_t coordinates = 3 * particles * std::int64_t{sizeof(Real)};
    return std::max(std::min(routing_.message_bytes(particles), coordinates), own_->message_bytes(particles));
  }

  /// Equal masses are not sent. Waits for the counts of the routes.
  void bring(const MeshParticles<Real>& particles, StageClock& clock) override {
    device_.make_current();
    clock.begin("to slabs");
    kept_ = particles.count;
    route(particles);
    const bool uncovered = options_.domains && uncovered_.to_host()[0] != 0;
    if (options_.by_rows && division_.should_count(kept_, routing_.arriving(), uncovered)) divide(particles);
    const std::int64_t count = routing_.arriving();
    room_for(kept_, count);
    const Arrivals arrivals(arriving_, count);
    arrived_ = {};
    arrived_.count = count;
    arrived_.x = arrivals.x, arrived_.y = arrivals.y, arrived_.z = arrivals.z, arrived_.mass = arrivals.mass;
    routing_.template there<Real, 3>({particles.x, particles.y, particles.z}, {arrivals.x, arrivals.y, arrivals.z});
    if (const auto equal = masses_.of(particles.mass, kept_))
      fill_cuda(device_, *equal, count, arrivals.mass);
    else
      routing_.template there<Real, 1>({particles.mass}, {arrivals.mass});
    places_are_here_ = brought_ = true;
  }
  void deposit(const MeshParticles<Real>& particles, double quantum, const Field<Real>& density, void* scratch,
               StageClock& clock) override {
    if (!brought_) bring(particles, clock);
    brought_ = false;
    own_->deposit(arrived_, quantum, density, scratch, clock);
  }

  void gather(const MeshParticles<Real>& particles, const std::int64_t* index, std::int64_t count,
              const Field<const Real>& potential, double gravitational_constant, const MeshForces<Real>& forces,
              const void* scratch) override {
    begin_gather(particles, index, count);
    const bool all = !index && count == kept_;
    const Arrivals arrivals(arriving_, arrived_.count);
    MeshForces<Real> here;
    if (forces.ax) here.ax = arrivals.x, here.ay = arrivals.y, here.az = arrivals.z;
    if (forces.potential) here.potential = arrivals.mass;
    own_->gather(arrived_, nullptr, arrived_.count, potential, gravitational_constant, here, scratch);
    places_are_here_ = !forces.ax;
    if (!all) {
      const Real* const from[4] = {here.ax, here.ay, here.az, here.potential};
      Real* const into[4] = {forces.ax, forces.ay, forces.az, forces.potential};
      for (int k = 0; k < 4; ++k)
        if (into[k]) answer_some(from[k], index, count, into[k]);
      return;
    }
    if (forces.ax) routing_.template back<Real, 3>({here.ax, here.ay, here.az}, {forces.ax, forces.ay, forces.az});
    if (forces.potential) routing_.template back<Real, 1>({here.potential}, {forces.potential});
  }
  /// The component stands in the memory of the masses.
  void gather_component(int component, const MeshParticles<Real>& particles, const std::int64_t* index,
                        std::int64_t count, const Field<const Real>& field, double gravitational_constant,
                        Real* into) override {
    begin_gather(particles, index, count);
    Real* const here = Arrivals(arriving_, arrived_.count).mass;
    own_->gather_component(component, arrived_, nullptr, arrived_.count, field, gravitational_constant, here);
    if (index || count != kept_) return answer_some(here, index, count, into);
    routing_.template back<Real, 1>({here}, {into});
  }

  /// By planes only; each place goes to the rank that owns its nearest plane.
  void bring_places(const MeshPlaces<Real>& places) override {
    device_.make_current();
    if (options_.by_rows) throw Error(ErrorKind::input, "mesh: forces at other places are found by planes only");
    Arena arena(device_);
    arena.room(place_work_, places_.work_bytes(places.count), places_.work_bytes(places.count) / 16);
    list<false>({places.count, places.x, places.y, places.z}, Assignment::ngp, owner_.data(),
                places_.listing(places.count, place_work_.data()));
    places_.plan(places.count, place_work_.data());
    const std::int64_t count = places_.arriving();
    for (auto& values : place_values_) arena.room(values, count, count / 16);
    places_.template there<Real, 3>({places.x, places.y, places.z},
                                    {place_values_[0].data(), place_values_[1].data(), place_values_[2].data()});
  }
  void force_at_places(int component, const MeshPlaces<Real>&, const Field<const Real>& field) override {
    own_->force_at_places(component,
                          {places_.arriving(),
                           place_values_[0].data(),
                           place_values_[1].data(),
                           place_values_[2].data(),
                           {place_values_[3].data(), place_values_[4].data(), place_values_[5].data()}},
                          field);
  }
  void give_places(const MeshPlaces<Real>& places) override {
    places_.template back<Real, 3>({place_values_[3].data(), place_values_[4].data(), place_values_[5].data()},
                                   {places.into[0], places.into[1], places.into[2]});
  }

  /// Answers come back for all particles of this rank, and the active ones take theirs. Public, for nvcc allows no
  /// device lambda in a private function.
  void answer_some(const Real* here, const std::int64_t* index, std::int64_t count, Real* into) {
    Arena(device_).room(answer_, kept_);
    routing_.template back<Real, 1>({here}, {answer_.data()});
    launch("forces of some", count, device_.stream(),
           [index, into, from = answer_.data()] __device__(std::int64_t t) { into[t] = from[index[t]]; });
  }

 private:
  static std::unique_ptr<MeshExchange<Real>> make_own(const Device& device, const Grid& grid, ExchangeOptions options,
                                                      const std::shared_ptr<DeviceMessages>& messages) {
    options.messages = messages;
    return make_mesh_exchange_cuda<Real>(device, grid, options);
  }

  /// The arrays of the received particles. Places become accelerations where those are wanted. Masses are those of a
  /// deposit: then a component of the force, or the potential, stands there.
  struct Arrivals {
    Real *x, *y, *z, *mass;
    std::int64_t bytes;
    Arrivals(std::byte* memory, std::int64_t count) {
      MemoryParts parts(memory);
      x = parts.take<Real>(count), y = parts.take<Real>(count), z = parts.take<Real>(count);
      mass = parts.take<Real>(count);
      bytes = parts.used();
    }
  };
  /// One piece of memory for the listing of this rank's particles and, after it, for the received ones.
  std::int64_t room_bytes(std::int64_t kept, std::int64_t arriving) const {
    return std::max(routing_.work_bytes(kept), Arrivals(nullptr, arriving).bytes);
  }
  void room_for(std::int64_t kept, std::int64_t arriving) {
    const std::int64_t bytes = room_bytes(kept, arriving);
    if (!borrowed_) Arena(device_).room(memory_, bytes, bytes / 16);  // numbers change a little from step to step
    arriving_ = borrowed_ ? borrowed_(bytes) : memory_.data();
  }

  /// Finds which particles go where.
  void route(const MeshParticles<Real>& particles) {
    room_for(kept_, 0);
    const DeviceRouting::Listing to = routing_.listing(kept_, arriving_);
    if (options_.domains)
      list<true>(particles, options_.assignment, row_owner_.data(), to);
    else
      list<false>(particles, options_.assignment, owner_.data(), to);
    constexpr std::int64_t word = sizeof(std::uint32_t);
    routing_.plan(kept_, arriving_,
                  borrowed_way_ ? reinterpret_cast<std::uint32_t*>(borrowed_way_(kept_ * word)) : nullptr);
  }
  /// By rows, with an exchange for other planes from now on, if that helps.
  void divide(const MeshParticles<Real>& particles) {
    Buffer<unsigned long long> on_device(device_, division_.rows());
    on_device.zero();
    with_order(options_.assignment, [&](auto order) {
      launch("particles in rows", particles.count, device_.stream(),
             CountByRow<order(), Real>{whole_, particles, on_device.data()});
    });
    const auto found = on_device.to_host();
    std::vector<std::int64_t> counts(found.begin(), found.end());
    if (!division_.divide(counts)) return;
    options_.domains = division_.domains();
    row_owner_ = Buffer<std::uint32_t>(device_, options_.domains->owners());
    uncovered_.zero();
    own_.reset();
    own_ = make_mesh_exchange_cuda<Real>(device_, grid_, options_);
    route(particles);
  }

  /// By the planes, or rows, in which clouds begin.
  template <bool by_row>
  void list(const MeshParticles<Real>& particles, Assignment assignment, const std::uint32_t* owner,
            const DeviceRouting::Listing& to) {
    with_order(assignment, [&](auto order) {
      launch("particles by owner", particles.count, device_.stream(),
             ListByOwner<order(), by_row, Real>{whole_, particles, owner, to, own_rank_, uncovered_.data()});
    });
  }

  /// Places are sent again if accelerations have taken their memory.
  void begin_gather(const MeshParticles<Real>& particles, const std::int64_t* index, std::int64_t count) {
    if (particles.count != kept_ || (!index && count != kept_ && count > 0))
      throw Error(ErrorKind::input, "mesh: expected particles of a rank that ask by their places, found a range");
    device_.make_current();
    if (places_are_here_) return;
    const Arrivals arrivals(arriving_, arrived_.count);
    routing_.template there<Real, 3>({particles.x, particles.y, particles.z}, {arrivals.x, arrivals.y, arrivals.z});
    places_are_here_ = true;
  }

  Device device_;
  Grid grid_;
  ExchangeOptions options_;
  CellFrame<Real> whole_;
  RowDivision division_;
  LentMemory borrowed_, borrowed_way_;
  CommonValue<Real> masses_;
  Buffer<std::uint32_t> owner_, row_owner_;  // of each plane; and of each row, where particles go by rows
  Buffer<int> uncovered_;                    // whether some were in rows without a rank
  std::uint32_t own_rank_ = 0;
  DeviceRouting routing_;
  std::int64_t kept_ = 0;
  MeshParticles<Real> arrived_;
  Buffer<std::byte> memory_;  // if the caller lends none
  std::byte* arriving_ = nullptr;
  Buffer<Real> answer_;           // if not all particles are active
  bool places_are_here_ = false;  // else the memory holds accelerations
  bool brought_ = false;          // for a deposit() that is to come
  DeviceRouting places_;          // of other places than the particles'
  Buffer<std::byte> place_work_;
  Buffer<Real> place_values_[6];  // coordinates, and what is found there
};

}  // namespace

}  // namespace cuda

template <class Real>
std::unique_ptr<MeshExchange<Real>> make_mesh_exchange_slabs_cuda(const Device& device, const Grid& grid,
                                                                  const ExchangeOptions& options) {
  return std::make_unique<cuda::ExchangeSlabsCuda<Real>>(device, grid, options);
}
template std::unique_ptr<MeshExchange<float>> make_mesh_exchange_slabs_cuda(const Device&, const Grid&,
                                                                            const ExchangeOptions&);
template std::unique_ptr<MeshExchange<double>> make_mesh_exchange_slabs_cuda(const Device&, const Grid&,
                                                                             const ExchangeOptions&);

}  // namespace pergola
