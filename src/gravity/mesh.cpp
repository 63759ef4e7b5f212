// The particle-mesh solver, alone and as the long range of TreePM, on CPU and GPU, for one rank or several; and the
// unit in which it counts mass.
//
// A step: (1) deposit masses on the cells in fixed-point units (the quantum), (2) solve Poisson's equation, (3) forces
// of the cells, (4) gather them at the targets. prepare() does the first three, evaluate() the last one; with spectral
// gradients on a GPU, evaluate() makes one component after the other from the modes of the potential (by_modes).
// Lengths and masses are those of the run; the source of Poisson's equation is 4πG times the density.
#include "gravity/mesh.hpp"
#include "base/text.hpp"
#include "comm/communicator.hpp"
#include "device/arena.hpp"
#include "device/device.hpp"
#include "device/parallel.hpp"
#include "domain/common_value.hpp"
#include "domain/device_messages.hpp"
#include "mesh/coupling/cell_frame.hpp"
#include "mesh/coupling/exchange.hpp"
#include "mesh/poisson.hpp"
#include "physics/mesh_weights.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace pergola {

/// mass_quantum() of the same particles again and again. To find it the masses of all ranks are added up in order;
/// where all are the same, as many and as large as the last time, it is the same too. All ranks call it.
template <class Real>
class KnownQuantum {
 public:
  double of(const Device& device, const Real* mass, std::int64_t count, Communicator* ranks);

 private:
  double mass_ = 0, quantum_ = 0;
  std::int64_t count_ = -1;  // of all ranks, all with this mass; -1: nothing is known
};

namespace {

/// Quanta of a particle where all have the same mass, in single precision: finer than its weights, whose places are
/// rounded to 2⁻²⁴ of the box, and a GPU adds up a thousand such particles in 32 bits.
constexpr double short_quanta = 0x1p20;

/// On the host: whether all are the same, bit by bit.
template <class Real>
bool are_same(int threads, const Real* values, std::int64_t count) {
  constexpr std::int64_t chunk = 1 << 16;
  std::atomic<bool> same = true;
  parallel_chunks(threads, std::max<std::int64_t>(count - 1, 0), chunk, [&](std::int64_t begin, std::int64_t end) {
    if (std::memcmp(values + begin, values + begin + 1, static_cast<std::size_t>(end - begin) * sizeof(Real)) != 0)
      same = false;
  });
  return same;
}

}  // namespace

template <class Real>
double KnownQuantum<Real>::of(const Device& device, const Real* mass, std::int64_t count, Communicator* ranks) {
  if (device.is_cuda()) return mass_quantum(device, mass, count, ranks);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double least[2] = {infinity, infinity};  // of the mass and of what it is below 0
  std::int64_t total = count;
  if (count > 0) {
    const bool same = are_same(device.threads(), mass, count);
    least[0] = same ? static_cast<double>(mass[0]) : -infinity;
    least[1] = same ? -static_cast<double>(mass[0]) : -infinity;
  }
  if (ranks) {
    ranks->all_reduce(least, 2, Reduction::minimum);
    ranks->all_reduce(&total, 1, Reduction::sum);
  }
  const bool same = least[0] == -least[1];
  if (same && least[0] == mass_ && total == count_) return quantum_;
  quantum_ = mass_quantum(device, mass, count, ranks);
  mass_ = least[0], count_ = same ? total : -1;
  return quantum_;
}
template class KnownQuantum<float>;
template class KnownQuantum<double>;

// Equal masses in single precision get a coarse quantum, so that GPUs can add them in 32 bits.
double mass_quantum(const MassRange& masses, bool single_precision) {
  const bool fits = static_cast<double>(masses.count) * short_quanta <= physics::most_in_all;
  const bool equal = masses.least == masses.largest && masses.largest > 0;
  if (single_precision && equal && fits) return masses.largest / short_quanta;
  return physics::mass_quantum(masses.total, masses.largest);
}

template <class Real>
double mass_quantum(const Device& device, const Real* mass, std::int64_t count, Communicator* ranks) {
  constexpr std::int64_t piece = std::int64_t{1} << 22;
  MassRange range;
  if constexpr (cuda_built && std::is_same_v<Real, float>) {
    if (device.is_cuda() && !ranks) {  // equal masses decide by themselves, and need not travel
      if (const auto one = CommonValue<Real>(device, serial_communicator()).of(mass, count); one && *one > 0)
        return mass_quantum({count, 0, *one, *one}, true);
    }
  }
  std::vector<Real> values;
  // One rank after the other goes on with the sum: its bits are those of one rank that has all.
  for (int rank = 0; rank < (ranks ? ranks->size() : 1); ++rank) {
    if (!ranks || rank == ranks->rank())
      for (std::int64_t first = 0; first < count; first += piece) {
        values.resize(static_cast<std::size_t>(std::min(piece, count - first)));
        device.memory().to_host(values.data(), mass + first, values.size() * sizeof(Real));
        for (const Real one : values) range.add(static_cast<double>(one));
      }
    if (ranks) ranks->broadcast(&range, sizeof range, rank);
  }
  return mass_quantum(range, std::is_same_v<Real, float>);
}
template double mass_quantum(const Device& device, const float* mass, std::int64_t count, Communicator* ranks);
template double mass_quantum(const Device& device, const double* mass, std::int64_t count, Communicator* ranks);

namespace {

constexpr double pi = 3.14159265358979323846;

Grid grid_of(const MeshOptions& mesh) { return {3, mesh.cells, mesh.box}; }

/// The solver of the options; a split law adds its Gaussian filter and the softening that is taken off.
template <class Real>
std::unique_ptr<PoissonSolver<Real>> make_poisson(const Device& device, const Grid& grid, const MeshOptions& mesh,
                                                  const SmoothedLaw& law, std::shared_ptr<Communicator> slabs_of,
                                                  std::shared_ptr<DeviceMessages> messages) {
  if (mesh.poisson == Poisson::multigrid)
    return make_poisson_multigrid<Real>(device, grid, mesh.multigrid, std::move(slabs_of));
  PoissonFftOptions options;
  options.laplacian = mesh.laplacian;
  options.smoothing = law.smoothing;
  options.softening = law.softening;
  options.deconvolve = mesh.deconvolve ? static_cast<int>(mesh.assignment) : 0;
  options.spectral_force = mesh.gradient == Gradient::spectral;
  options.ranks = std::move(slabs_of);
  options.messages = std::move(messages);
  options.planes_beyond = mesh.gradient == Gradient::four_point;
  return make_poisson_fft<Real>(device, grid, options);
}

/// What a mesh needs at least, known before anything is made: the field and one force or density number of four reals
/// per cell, with the padding of an isolated FFT; or two fields (MeshSolver::by_modes).
double least_bytes(const MeshOptions& mesh, std::size_t real, bool by_modes) {
  const double cells = static_cast<double>(grid_of(mesh).cell_count());
  const bool padded = mesh.poisson == Poisson::fft && !mesh.box.periodic();
  return cells * static_cast<double>(real) * (by_modes ? (padded ? 16 : 2) : padded ? 8 + 4 : 1 + 4);
}

/// For a mesh alone and, with a SmoothedLaw, for the long range of TreePM; with ranks each has its planes only.
template <class Real>
class MeshSolver final : public SmoothedMesh<Real>, public LentArrivals {
 public:
  MeshSolver(const SolverOptions& options, const Device& device, const SmoothedLaw& law,
             std::shared_ptr<Communicator> ranks = nullptr)
      : device_(device),
        ranks_(std::move(ranks)),
        mesh_(options.mesh),
        constant_(options.gravitational_constant),
        law_(law) {
    if (!(law_.smoothing > 0)) check_mesh_options(mesh_);  // a split law's are chosen by its solver
    if (!mesh_.box.given()) mesh_.box.side = {1, 1, 1};    // for device_bytes only
  }

  const SolverInfo& info() const override { return mesh_info(); }
  void prepare(const Sources<Real>& sources) override;
  void evaluate(const Targets& targets, unsigned want, const Forces<Real>& forces) override;
  NeighbourLists neighbour_lists(const Targets&, double) override {
    throw Error(ErrorKind::input, "gravity.solver: mesh gives no neighbour lists; use direct");
  }
  std::int64_t device_bytes(std::int64_t n) const override;
  std::int64_t borrowed_bytes() const override { return by_modes() ? lay_out(nullptr).bytes : 0; }
  void lend(std::byte* memory, const std::uint32_t* order) override { borrowed_ = memory, order_ = order; }
  void lend_arrivals(const LentMemory& arrivals, const LentMemory& way) override {
    if (auto* const slabs = dynamic_cast<LentArrivals*>(parts().exchange.get())) slabs->lend_arrivals(arrivals, way);
  }
  void serve_first(const typename SmoothedMesh<Real>::Places& places, const std::function<void()>& there) override {
    places_ = places, there_ = there;
  }
  void set_clock(StageClock* clock) override { clock_ = clock ? clock : &silent_; }
  double resolution() const override {
    const auto h = grid_of(mesh_).spacing();
    return *std::min_element(h.begin(), h.end());
  }
  std::int64_t order_bytes(std::int64_t n) const override { return parts().exchange->order_bytes(n); }
  void find_order(const Sources<Real>& sources, std::uint32_t* order, void* work) override {
    parts().exchange->find_order(particles_of(sources), order, work);
  }
  std::int64_t outside() override { return prepared_ ? parts().exchange->outside() : 0; }
  std::string remark() const override;

 private:
  struct Parts {
    std::shared_ptr<DeviceMessages> messages;  // with slabs on a GPU, of both of these
    std::unique_ptr<MeshExchange<Real>> exchange;
    std::unique_ptr<PoissonSolver<Real>> poisson;
  };
  /// Made when first needed: planning a run must not take its memory.
  Parts& parts() const;
  bool spectral() const { return mesh_.gradient == Gradient::spectral; }
  /// Whether each rank has its planes of the mesh only.
  bool in_slabs() const { return ranks_ != nullptr; }
  int slab_unit(const Grid& grid) const {
    return in_slabs() && mesh_.poisson == Poisson::multigrid
               ? multigrid_slab_unit(grid, mesh_.multigrid, ranks_->size())
               : 1;
  }
  /// Values of a field with the planes around those of this rank, and how many of these are below.
  std::int64_t field_size() const {
    const Field<Real> field = parts().poisson->layout();
    const int above = std::max(parts().exchange->planes_above(), parts().poisson->planes_around());
    return field.pitch * field.ny * (planes_below() + field.nz + above);
  }
  int planes_below() const { return std::max(parts().exchange->planes_below(), parts().poisson->planes_around()); }
  Field<Real> field_in(Buffer<Real>& memory) const {
    Field<Real> field = parts().poisson->layout();
    field.data = memory.data() + field.pitch * field.ny * planes_below();
    return field;
  }
  /// On a GPU a spectral gradient has two fields in all, the modes of the potential and the component of the force that
  /// is just gathered. The sums of the deposit lie in both. With slabs there is a third, which modes are transposed to,
  /// and each has a component where places are served first: the last one takes the place of the modes.
  bool by_modes() const { return spectral() && device_.is_cuda(); }
  struct ModeMemory {
    Field<Real> modes, component, other;
    std::byte *work = nullptr, *sums = nullptr;
    std::int64_t bytes = 0;
  };
  ModeMemory lay_out(std::byte* memory) const;
  void find_modes();
  void gather_components(const MeshParticles<Real>& asking, const Targets& targets, const MeshForces<Real>& out);
  void gather_component(int component, const Field<Real>& field, const MeshParticles<Real>& asking,
                        const Targets& targets, Real* into);
  /// The exchange and the Poisson solver share their scratch memory, but for the spectral gradient: it reads the
  /// transform of the potential while forces are written.
  std::int64_t scratch_bytes() const {
    const std::int64_t exchange = parts().exchange->scratch_bytes();
    return spectral() ? exchange : std::max(exchange, parts().poisson->scratch_bytes());
  }
  std::int64_t transform_bytes() const { return spectral() ? parts().poisson->scratch_bytes() : 0; }
  static MeshParticles<Real> particles_of(const Sources<Real>& s) { return {s.count, s.x, s.y, s.z, s.mass}; }
  double quantum_of(const Sources<Real>& sources) {
    return sources.mass_quantum > 0 ? sources.mass_quantum
                                    : known_quantum_.of(device_, sources.mass, sources.count, ranks_.get());
  }

  Device device_;
  std::shared_ptr<Communicator> ranks_;  // null: all particles are here
  MeshOptions mesh_;
  double constant_;
  SmoothedLaw law_;
  mutable std::unique_ptr<Parts> parts_;
  Buffer<Real> field_;
  Buffer<Real> force_;           // spectral gradient only
  Buffer<std::byte> transform_;  // the same
  Buffer<std::byte> scratch_;
  Buffer<std::byte> mode_memory_;  // where none is lent
  std::byte* borrowed_ = nullptr;
  const std::uint32_t* order_ = nullptr;
  ModeMemory with_modes_;
  bool has_modes_ = false;
  typename SmoothedMesh<Real>::Places places_;  // of the next evaluate()
  std::function<void()> there_;
  MeshParticles<Real> particles_;
  KnownQuantum<Real> known_quantum_;
  double quantum_ = 0;                             // of masses, where modes are found
  bool prepared_ = false, has_potential_ = false;  // that of a spectral gradient is found when it is first wanted
  StageClock silent_;
  StageClock* clock_ = &silent_;
};

/// Where a mesh has more cells than particles the window is what keeps a particle as wide as the mesh can hold; without
/// it, and without the filter of a split law, its sharp end in wave numbers rings through the cells.
template <class Real>
std::string MeshSolver<Real>::remark() const {
  if (!parts_) return {};
  std::string text = parts_->poisson->remark();
  const std::int64_t cells = grid_of(mesh_).cell_count(), count = particles_.count * (ranks_ ? ranks_->size() : 1);
  if (!text.empty() || !prepared_ || !mesh_.deconvolve || law_.smoothing > 0 || cells <= count) return text;
  return fmt::format(
      "gravity.mesh.deconvolve: {} cells for {} particles: with fewer particles than cells it makes forces worse; use "
      "false",
      cells, count);
}

/// Refuses a mesh that does not fit on the device, before anything is allocated, unless memory is borrowed.
template <class Real>
typename MeshSolver<Real>::Parts& MeshSolver<Real>::parts() const {
  if (!parts_) {
    const double needed = least_bytes(mesh_, sizeof(Real), by_modes()) / (in_slabs() ? ranks_->size() : 1),
                 free = static_cast<double>(device_.memory().free_bytes());
    const bool borrowed = by_modes() && law_.smoothing > 0;
    if (!borrowed && needed > free)
      throw Error(
          ErrorKind::device,
          fmt::format("gravity.mesh.cells: {} x {} x {} cells need at least {} on {}, {} is free", mesh_.cells[0],
                      mesh_.cells[1], mesh_.cells[2], bytes_text(needed), device_.spec(), bytes_text(free)));
    auto parts = std::make_unique<Parts>();
    const Grid grid = grid_of(mesh_);
    if constexpr (cuda_built)
      if (in_slabs() && device_.is_cuda()) parts->messages = make_device_messages(device_, ranks_);
    ExchangeOptions exchange{mesh_.assignment, mesh_.gradient, mesh_.density, ranks_, slab_unit(grid), parts->messages};
    // TreePM on GPUs keeps to planes: its trees are in memory that the mesh was counted with.
    exchange.by_rows = !(device_.is_cuda() && law_.smoothing > 0);
    parts->exchange = make_mesh_exchange<Real>(device_, grid, exchange);
    parts->poisson = make_poisson<Real>(device_, grid, mesh_, law_, ranks_, parts->messages);
    parts_ = std::move(parts);
  }
  return *parts_;
}

/// An estimate for n particles on this device, with fields, scratch and messages.
template <class Real>
std::int64_t MeshSolver<Real>::device_bytes(std::int64_t n) const {
  const auto& p = parts();
  std::int64_t own = p.poisson->own_bytes() + p.exchange->own_bytes(n);
  if constexpr (cuda_built)
    if (p.messages) own += p.messages->bytes(std::max(p.poisson->message_bytes(), p.exchange->message_bytes(n)));
  if (by_modes()) return borrowed_bytes() + own;
  const std::int64_t fields = spectral() ? 2 : 1;
  return fields * field_size() * static_cast<std::int64_t>(sizeof(Real)) + scratch_bytes() + transform_bytes() + own;
}

/// Places of the fields within one piece of memory; with null only its size.
template <class Real>
typename MeshSolver<Real>::ModeMemory MeshSolver<Real>::lay_out(std::byte* memory) const {
  const auto& p = parts();
  const auto whole = [](std::int64_t bytes) { return (bytes + 255) / 256 * 256; };
  ModeMemory to;
  to.modes = to.component = to.other = p.poisson->layout();
  MemoryParts taken(memory);
  const std::int64_t room = std::max(field_size(), p.poisson->mode_values());  // for planes around a slab too
  to.modes.data = taken.template take<Real>(room);
  to.component.data = taken.template take<Real>(room);
  to.other.data = taken.template take<Real>(in_slabs() ? room : 0);
  to.work = taken.template take<std::byte>(p.poisson->mode_work_bytes());
  // The density is written over the sums from the beginning on, a plane at least behind them.
  const std::int64_t sums = whole(p.exchange->sum_bytes());
  const std::int64_t plane = whole(to.modes.pitch * to.modes.ny * static_cast<std::int64_t>(sizeof(Real)));
  to.bytes = std::max(taken.used(), sums + plane);
  if (memory) to.sums = memory + (to.bytes - sums);
  return to;
}

/// Deposit and forward transform: the modes of the potential.
template <class Real>
void MeshSolver<Real>::find_modes() {
  auto& p = parts();
  with_modes_ = lay_out(borrowed_ ? borrowed_ : mode_memory_.data());
  p.exchange->deposit(particles_, quantum_, with_modes_.modes, with_modes_.sums, *clock_);
  clock_->begin("Poisson");
  p.poisson->find_modes(with_modes_.modes, with_modes_.other, 4 * pi * constant_, with_modes_.work);
  clock_->end();
  prepared_ = has_modes_ = true;
}

/// The components in the order z, x, y, potential. A component may take the memory of the modes, which are then found
/// again if they are wanted once more. If places are served first, their forces are found before the particles' own.
template <class Real>
void MeshSolver<Real>::gather_components(const MeshParticles<Real>& asking, const Targets& targets,
                                         const MeshForces<Real>& out) {
  Real* const into[4] = {out.ax, out.ay, out.az, out.potential};
  auto& p = parts();
  const auto asked = std::exchange(places_, nullptr);
  // In slabs all that ranks send each other for the fields is done before anybody says where they are wanted first.
  const bool places_first = asked && in_slabs();
  std::optional<MeshPlaces<Real>> places = asked && !places_first ? asked() : std::nullopt;
  const Field<Real>* const apart[3] = {&with_modes_.other, &with_modes_.modes, &with_modes_.component};
  for (const int component : {2, 0, 1, 3}) {
    if (!into[component]) continue;
    if (!has_modes_ || !p.poisson->gives(component)) find_modes();
    const bool later = places_first && component < 3;
    const Field<Real> field = later ? *apart[component] : with_modes_.component;
    clock_->begin("force x y z");
    p.poisson->from_modes(component, with_modes_.modes, field, with_modes_.other, with_modes_.work);
    if (field.data == with_modes_.modes.data) has_modes_ = false;
    if (places && component < 3) p.exchange->force_at_places(component, *places, field.read_only());
    if (!later) gather_component(component, field, asking, targets, into[component]);
  }
  if (places_first && (places = asked())) {
    p.exchange->bring_places(*places);
    for (const int component : {2, 0, 1})
      if (into[component]) p.exchange->force_at_places(component, *places, apart[component]->read_only());
    p.exchange->give_places(*places);
  }
  if (asked) there_();
  for (const int component : {2, 0, 1}) {
    if (!places_first || !into[component]) continue;
    clock_->begin("force x y z");
    gather_component(component, *apart[component], asking, targets, into[component]);
  }
  clock_->end();
}

template <class Real>
void MeshSolver<Real>::gather_component(int component, const Field<Real>& field, const MeshParticles<Real>& asking,
                                        const Targets& targets, Real* into) {
  parts().exchange->fetch_planes_around(field);
  clock_->begin("velocity x y z");
  parts().exchange->gather_component(component, asking, targets.index, targets.count, field.read_only(), constant_,
                                     into);
}

/// Forces of cells for all targets of this step. Collective with ranks.
template <class Real>
void MeshSolver<Real>::prepare(const Sources<Real>& sources) {
  if (sources.ax) throw Error(ErrorKind::input, "mesh: sources that need prediction are not supported");
  if (by_modes()) {
    if (!borrowed_) Arena(device_).room(mode_memory_, borrowed_bytes());
    particles_ = particles_of(sources);
    particles_.order = order_;
    quantum_ = quantum_of(sources);
    if (!in_slabs()) return find_modes();
    parts().exchange->bring(particles_, *clock_);
    clock_->end();
    prepared_ = true, has_modes_ = false;
    return;
  }
  auto& p = parts();
  if (field_.size() == 0) {
    field_ = Buffer<Real>(device_, field_size());
    if (in_slabs()) field_.zero();  // planes around that are nowhere
    scratch_ = Buffer<std::byte>(device_, scratch_bytes());
    transform_ = Buffer<std::byte>(device_, transform_bytes());
  }
  const Field<Real> field = field_in(field_);
  particles_ = particles_of(sources);
  p.exchange->deposit(particles_, quantum_of(sources), field, scratch_.data(), *clock_);
  clock_->begin("Poisson");
  has_potential_ = !spectral();
  if (spectral()) {
    if (force_.size() == 0) force_ = Buffer<Real>(device_, field_size());
    const Field<Real> force = field_in(force_);
    p.poisson->solve_for_forces(field, force, 4 * pi * constant_, transform_.data());
    clock_->begin("force x y z");
    p.poisson->give_forces(field, force, transform_.data(),
                           [&](const ForceRows<Real>& rows) { p.exchange->set_forces(rows, scratch_.data()); });
    p.exchange->fetch_forces_around(scratch_.data());
  } else {
    p.poisson->solve(field, 4 * pi * constant_, scratch_.data());
    clock_->begin("force x y z");
    p.exchange->fetch_planes_around(field);
    p.exchange->set_potential(field.read_only(), scratch_.data());
  }
  clock_->end();
  prepared_ = true;
}

/// Gathers at the targets; a potential with a spectral gradient is found when it is first wanted.
template <class Real>
void MeshSolver<Real>::evaluate(const Targets& targets, unsigned want, const Forces<Real>& forces) {
  if (want & (want_jerk | want_nearest))
    throw Error(ErrorKind::input, "gravity.solver: mesh gives neither jerk nor nearest neighbours; use direct");
  if (!prepared_) throw Error(ErrorKind::input, "mesh: evaluate before prepare");
  MeshForces<Real> out;
  Real none = 0;  // a rank without particles may have no arrays, and is asked for the same as the others
  const auto array = [&](Real* values) { return values || targets.count > 0 ? values : &none; };
  if (want & want_acceleration) out.ax = array(forces.ax), out.ay = array(forces.ay), out.az = array(forces.az);
  if (want & want_potential) out.potential = array(forces.potential);
  const Field<Real> field = field_in(field_);
  MeshParticles<Real> asking = particles_;
  if (targets.index || targets.count != particles_.count) asking.order = nullptr;
  if (!targets.index)
    asking.x += targets.first, asking.y += targets.first, asking.z += targets.first, asking.mass += targets.first;
  if (by_modes()) return gather_components(asking, targets, out);
  if (out.potential && !has_potential_) {
    clock_->begin("Poisson");
    parts().poisson->spectral_force(3, field, transform_.data());
    parts().exchange->fetch_planes_around(field);
    clock_->end();
    has_potential_ = true;
  }
  clock_->begin("velocity x y z");
  parts().exchange->gather(asking, targets.index, targets.count, field.read_only(), constant_, out, scratch_.data());
  clock_->end();
}

}  // namespace

// An isolated mesh holds places that are isolated_margin cells away from its faces; a periodic one holds all.
bool on_mesh(const MeshOptions& mesh, const Vec3<double>& place) {
  const CellFrame<double> frame(grid_of(mesh));
  return frame.holds(0, frame.place(0, place.x)) && frame.holds(1, frame.place(1, place.y)) &&
         frame.holds(2, frame.place(2, place.z));
}

template <class Real>
std::unique_ptr<Solver<Real>> make_mesh_solver(const SolverOptions& options, const Device& device) {
  return std::make_unique<MeshSolver<Real>>(options, device, SmoothedLaw{});
}
template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_mesh(const SolverOptions& options, const Device& device,
                                                    std::shared_ptr<Communicator> ranks) {
  return std::make_unique<MeshSolver<Real>>(options, device, SmoothedLaw{}, std::move(ranks));
}
template <class Real>
std::unique_ptr<SmoothedMesh<Real>> make_smoothed_mesh(const SolverOptions& options, const Device& device,
                                                       const SmoothedLaw& law, std::shared_ptr<Communicator> ranks) {
  return std::make_unique<MeshSolver<Real>>(options, device, law, std::move(ranks));
}
template std::unique_ptr<Solver<float>> make_mesh_solver(const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> make_mesh_solver(const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<float>> make_distributed_mesh(const SolverOptions&, const Device&,
                                                              std::shared_ptr<Communicator>);
template std::unique_ptr<Solver<double>> make_distributed_mesh(const SolverOptions&, const Device&,
                                                               std::shared_ptr<Communicator>);
template std::unique_ptr<SmoothedMesh<float>> make_smoothed_mesh(const SolverOptions&, const Device&,
                                                                 const SmoothedLaw&, std::shared_ptr<Communicator>);
template std::unique_ptr<SmoothedMesh<double>> make_smoothed_mesh(const SolverOptions&, const Device&,
                                                                  const SmoothedLaw&, std::shared_ptr<Communicator>);

}  // namespace pergola
