#pragma once
// The force seam: every gravity method is a Solver, and all its users call it the same way.
//
// prepare(sources) takes the particles that attract. evaluate(targets, what, forces) answers some or all of them.
// update(sources) takes the places after a small step and may keep earlier work, such as the cells of a tree.
// On ranks divide(sources) says who owns each particle, and the other calls take those of this rank.
// Arrays are in the memory of the solver's device and belong to the caller.
// Always: answers depend on the sources only, never on which targets ask together; on a CPU they have the same bits for
// any number of threads, on a GPU from run to run. One object serves one system on one device.
// The registry in gravity/solver_entry.hpp knows all solvers; make_solver() makes one by its name.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/host_device.hpp"
#include "base/key.hpp"
#include "device/device.hpp"
#include "device/stage_clock.hpp"
#include "domain/particle_way.hpp"
#include "gravity/external.hpp"
#include "gravity/user_force.hpp"
#include "mesh/options.hpp"
#include "particles/box.hpp"
#include "particles/particles.hpp"
#include "physics/hermite.hpp"
#include "physics/softening.hpp"

namespace pergola {

namespace tree {
class KeptTree;
}

/// What a force evaluation computes. Values are joined with |.
enum Want : unsigned { want_acceleration = 1, want_jerk = 2, want_potential = 4, want_nearest = 8 };

/// The particles that attract, as arrays on the solver's device.
///
/// If ax is not null, the solver predicts them to the time `now` ticks + `offset` (Hermite block steps):
/// x + v dt + a dt²/2 + j dt³/6 with dt = (now − tick[i]) tick_length + offset.
/// If `time` is not null, each particle has its own time, which is no multiple of a tick. The prediction then includes
/// the snap s (GRAPE-6): dt = moment − time[i].
template <class Real>
struct Sources {
  std::int64_t count = 0;
  const Real *x = nullptr, *y = nullptr, *z = nullptr;
  const Real *vx = nullptr, *vy = nullptr, *vz = nullptr;  // may be null when no jerk is asked for
  const Real* mass = nullptr;
  const std::uint8_t* species = nullptr;  // may be null when the softening is the same for all
  const Real *ax = nullptr, *ay = nullptr, *az = nullptr;
  const Real *jx = nullptr, *jy = nullptr, *jz = nullptr;
  const std::int64_t* tick = nullptr;
  std::int64_t now = 0;
  double tick_length = 0;
  double offset = 0;
  double mass_quantum = 0;  // the unit of mass on a mesh, gravity/mesh.hpp; 0: found from the masses
  const Real *sx = nullptr, *sy = nullptr, *sz = nullptr;
  const double* time = nullptr;
  double moment = 0;        // and the time of an evaluation for forces that depend on it
  double longest_step = 0;  // of the run that asks; 0: no run does
  /// Accelerations of all sources by find_long_range(), at about this time. If they are given, prepare(), update() and
  /// evaluate() leave the long range out. For solvers with info().long_range.
  const Real* long_range[3] = {};
  /// Identifies a particle wherever it is in memory; may be null. With ids no result depends on the order in memory.
  const std::uint64_t* id = nullptr;
  /// On ranks: where each stands among all, rising, for messages; null: in the order of ranks.
  const std::uint64_t* place = nullptr;
};

/// Source i, predicted to the tick `now` if the sources say how: its place, and its velocity, which is zero where they
/// have none. In fp64 whatever the precision. Not for sources with times of their own.
template <class Real>
PERGOLA_HD void predict_source(const Sources<Real>& s, std::int64_t i, std::int64_t now, Vec3<double>& x,
                               Vec3<double>& v) {
  x = {s.x[i], s.y[i], s.z[i]}, v = {0, 0, 0};
  if (s.vx) v = {s.vx[i], s.vy[i], s.vz[i]};
  if (!s.ax) return;
  const double dt = static_cast<double>(now - s.tick[i]) * s.tick_length + s.offset;
  physics::hermite_predict<double>(dt, x, v, {s.ax[i], s.ay[i], s.az[i]}, {s.jx[i], s.jy[i], s.jz[i]});
}

/// The particles whose forces are computed: places in the prepared sources, in rising order.
///
/// If ranks share an evaluation, these are the targets first … first + count − 1 of `total`. The order of the sums may
/// depend on `total` and on a target's number among all targets, never on the rank that serves it.
struct Targets {
  const std::int64_t* index = nullptr;  // on the solver's device; null: place = number
  std::int64_t count = 0;
  std::int64_t total = 0;
  std::int64_t first = 0;
};

/// Arrays for the results, one value per target in the targets' order; null for what is not wanted.
template <class Real>
struct Forces {
  Real *ax = nullptr, *ay = nullptr, *az = nullptr;
  Real *jx = nullptr, *jy = nullptr, *jz = nullptr;
  Real* potential = nullptr;         // per unit mass, with the external potentials
  std::int64_t* nearest = nullptr;   // index of the nearest other source, −1 when there is none
  Real* nearest_distance = nullptr;  // without softening
};

/// Sources within a radius of each target, without itself: those of target t are index[begin[t]] … index[begin[t + 1] −
/// 1], rising.
struct NeighbourLists {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> index;
};

/// Plummer-equivalent softening lengths by species; a pair is softened with the larger of its two values, as in GADGET.
struct Softening {
  std::array<double, species_count> epsilon{};
  SofteningKernel kernel = SofteningKernel::plummer;
  /// In an expanding universe lengths are comoving, and at most as long as these, which are proper; 0: any length.
  std::array<double, species_count> most_proper{};
  static Softening same(double value) {
    Softening softening;
    softening.epsilon.fill(value);
    return softening;
  }
  bool uniform() const {
    for (double value : epsilon)
      if (value != epsilon[0]) return false;
    return true;
  }
  /// Whether the lengths depend on the scale factor.
  bool changes() const {
    for (double value : most_proper)
      if (value > 0) return true;
    return false;
  }
  /// The comoving lengths at a scale factor.
  Softening at(double a) const {
    Softening now = *this;
    for (std::size_t k = 0; k < epsilon.size(); ++k)
      now.epsilon[k] = physics::comoving_softening(epsilon[k], most_proper[k], a);
    return now;
  }
};

/// The particle-mesh solver: [gravity.mesh] of the configuration.
struct MeshOptions {
  std::array<int, 3> cells{128, 128, 128};
  Assignment assignment = Assignment::cic;
  Poisson poisson = Poisson::fft;
  Gradient gradient = Gradient::two_point;
  Laplacian laplacian = Laplacian::discrete;  // periodic FFT
  bool deconvolve = false;                    // periodic FFT: divide by the assignment's window
  DensityRoute density = DensityRoute::automatic;
  MultigridOptions multigrid;
  Box box{{0, 0, 0}, {0, 0, 0}, Boundary::periodic};  // no side: not known yet
  std::optional<Vec3<double>> box_corner{};           // none: 0 for a periodic box, −side/2 for an isolated one
};

/// Options of the tree solver; tree_opening() (gravity/tree.hpp) turns it into the parameters of the walk.
struct TreeOptions {
  /// relative: terms left out are compared with the target's acceleration. geometric: angles alone decide.
  enum class Opening { relative, geometric };
  Opening opening = Opening::relative;
  double accuracy = 1e-3;      // relative: the median relative force error, about; at most six times that for 99 %
  double opening_angle = 0.6;  // geometric: the radii of two cells over their distance, at most
  int order = 0;               // of the expansions, 2 to 5; 0: the cheapest for the accuracy; 4 for an angle
};
inline constexpr std::array<std::string_view, 2> tree_opening_names{"relative", "geometric"};

struct SolverOptions {
  std::string solver = "direct";
  Softening softening = Softening::same(0.0);
  double gravitational_constant = 1.0;
  Precision precision = Precision::mixed;
  std::vector<ExternalPotential> external{};  // added to the solver's own forces
  std::vector<UserForce> user_forces{};       // added last, in this order; no file can name them
  MeshOptions mesh{};
  TreeOptions tree{};
  KeyValues own{};  // of solvers that have no struct here, by "solver.key"
};

/// What a solver can do. The configuration refuses combinations that cannot work. Part of the solver's entry,
/// gravity/solver_entry.hpp.
struct SolverInfo {
  std::string name;
  bool pairwise = false;  // forces are sums over all pairs
  bool periodic = false;
  bool jerk = false;
  bool potential = false;
  bool subset = false;
  bool nearest = false;
  bool neighbour_lists = false;
  bool smooths = false;     // the method has a length of its own below which forces are smoothed, resolution()
  bool updates = false;     // update() is not just prepare(): it builds on the prepare() before
  bool long_range = false;  // forces have a part that changes slowly and can be had by itself, find_long_range()
};

/// Two sources in one place with zero softening, or too close for the precision in use. Holds places in the sources;
/// a caller that knows the ids writes a new message with them.
class PERGOLA_API CoincidentParticles : public Error {
 public:
  CoincidentParticles(std::int64_t first, std::int64_t second, const std::string& message)
      : Error(ErrorKind::numerics, message), first_(first), second_(second) {}
  std::int64_t first() const { return first_; }
  std::int64_t second() const { return second_; }

 private:
  std::int64_t first_, second_;
};

/// The part of a solver that does not depend on its number type.
class PERGOLA_API AnySolver {
 public:
  virtual ~AnySolver() = default;
  virtual const SolverInfo& info() const = 0;
  /// Writes what update() builds on to fields of its sources, so that the solver can work on others.
  virtual void put_aside(tree::KeptTree&) {}
  /// The next update() builds on these fields, which stay as they are until then. False: they are of another solver.
  virtual bool take_up(const tree::KeptTree&) { return false; }
  /// Gives back memory of the device that is not needed before the next prepare().
  virtual void give_back_memory() {}
  /// Lists on the host, for the sources of the last prepare().
  virtual NeighbourLists neighbour_lists(const Targets& targets, double radius) = 0;
  /// Device memory for n sources in bytes, without the caller's arrays.
  virtual std::int64_t device_bytes(std::int64_t n) const = 0;

  /// Whether divide() may give particles to other ranks.
  virtual bool divides() const { return false; }
  /// The solver without what was added to it (external potentials).
  virtual AnySolver& plain() { return *this; }
  /// The softening lengths for the next prepare() or update(), instead of those of the options.
  virtual void set_softening(const Softening&) {
    throw Error(ErrorKind::input, info().name + ": expected one softening for the whole run");
  }
  /// The clock that times the solver's stages; null: none. A solver without stages of its own counts as one stage.
  virtual void set_clock(StageClock*) {}
  /// The length below which forces are smoothed by the method itself (a mesh's cell); 0: none.
  virtual double resolution() const { return 0; }
  /// Bytes of work memory for find_order; 0: the order of the sources in memory does not matter to this solver.
  virtual std::int64_t order_bytes(std::int64_t) const { return 0; }
  /// Sources that the last prepare() could not take (outside an isolated mesh). Waits.
  virtual std::int64_t outside() { return 0; }
  /// Sentences about what the solver chose itself, for the sources of the last prepare().
  virtual std::vector<std::string> choices() const { return {}; }
  /// A warning about the last evaluation; empty when there is none.
  virtual std::string remark() const { return {}; }
};

/// A gravity method. Real is the number type of the state: float for Precision::single, double for mixed and double_.
template <class Real>
class PERGOLA_API Solver : public AnySolver {
 public:
  using Number = Real;
  virtual void prepare(const Sources<Real>& sources) = 0;
  /// Takes new places of the sources of the last prepare(), which have moved a little, and may keep work of that
  /// prepare(). Answers are as exact as after prepare(), but not the same bits. False: that work is of no use any more,
  /// and prepare() follows.
  virtual bool update(const Sources<Real>& sources) {
    prepare(sources);
    return true;
  }
  /// On ranks: who owns each of these sources, whoever has them now. prepare() comes next, with those that each owns;
  /// `kept`: take_up() and update() do, of what these sources had kept.
  virtual Division divide(const Sources<Real>&, [[maybe_unused]] const tree::KeptTree* kept = nullptr) { return {}; }
  /// Writes the accelerations of the long range for all sources, by place, into arrays on the device. Do not call it
  /// between prepare() and evaluate().
  virtual void find_long_range(const Sources<Real>&, Real* const (&)[3]) {
    throw Error(ErrorKind::input, info().name + ": expected a solver with a long range of its own");
  }
  /// Queues the work on a GPU and returns. With zero softening it waits, because it looks for coincident particles.
  virtual void evaluate(const Targets& targets, unsigned want, const Forces<Real>& forces) = 0;
  /// Writes into `order`, on the device, the best order of the sources in memory.
  virtual void find_order(const Sources<Real>&, std::uint32_t*, void*) {}
};

/// Whether Real is the number type of the state at this precision.
template <class Real>
constexpr bool has_numbers(Precision precision) {
  return (precision == Precision::single) == std::is_same_v<Real, float>;
}

/// Makes SolverOf<precision of the options> as `Base`, whose number type must be that of the precision.
template <class Base, template <Precision> class SolverOf, class... More>
std::unique_ptr<Base> make_for_precision(const SolverOptions& options, const Device& device, More... more) {
  if (!has_numbers<typename Base::Number>(options.precision))
    throw Error(ErrorKind::input, "a solver was asked for with numbers of another precision than its options have");
  if constexpr (std::is_same_v<typename Base::Number, float>) {
    return std::make_unique<SolverOf<Precision::single>>(options, device, std::move(more)...);
  } else {
    if (options.precision == Precision::mixed)
      return std::make_unique<SolverOf<Precision::mixed>>(options, device, std::move(more)...);
    return std::make_unique<SolverOf<Precision::double_>>(options, device, std::move(more)...);
  }
}

/// Makes the solver that options.solver names. Throws Error(input) with the nearest valid name, or if Real is not the
/// number type of options.precision.
template <class Real>
PERGOLA_API std::unique_ptr<Solver<Real>> make_solver(const SolverOptions& options, const Device& device);
/// The same with the number type of options.precision.
PERGOLA_API std::unique_ptr<AnySolver> make_solver(const SolverOptions& options, const Device& device);
PERGOLA_API std::vector<std::string> solver_names();

/// Host-side result of one evaluation.
struct ForceResult {
  std::vector<double> ax, ay, az, jx, jy, jz, potential;
  std::vector<std::int64_t> nearest;
  double prepare_seconds = 0, evaluate_seconds = 0;
};

/// One evaluation for particles on the host, at the places `targets` (all if empty). Copies the particles to the device
/// and the results back. The two timings contain device work only.
PERGOLA_API ForceResult evaluate_forces(AnySolver& solver, const Device& device, const Particles& particles,
                                        unsigned want, const std::vector<std::int64_t>& targets = {});

/// Σ over pairs of the softened −G m_i m_j / r in double precision, for sources on `device` without prediction.
PERGOLA_API double potential_energy(const Device& device, const Sources<double>& sources, const SolverOptions& options);

}  // namespace pergola
