#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "base/host_device.hpp"
#include "base/key.hpp"
#include "base/state_source.hpp"
#include "device/device.hpp"
#include "device/stage_clock.hpp"
#include "gravity/external.hpp"
#include "gravity/mesh_options.hpp"
#include "gravity/user_force.hpp"
#include "particles/particles.hpp"
#include "physics/softening.hpp"
#include "tree/options.hpp"

namespace pergola {

/// What a force evaluation is asked for; values are or-ed together.
enum Want : unsigned { want_acceleration = 1, want_jerk = 2, want_potential = 4, want_nearest = 8 };

/// Particles that answer: state on the solver's device and, where ax is not null, what is needed to predict it to the
/// time `now` ticks + `offset` (Hermite block steps): x + v dt + a dt²/2 + j dt³/6 with
/// dt = (now − tick[i]) tick_length + offset. Where `time` is not null the particles have times of their own, which are
/// no multiples of a tick, and are predicted with the snap s too (GRAPE-6): dt = moment − time[i].
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
  double moment = 0;  // and the time of an evaluation for forces that depend on it
  /// Where these are given, prepare(), update() and evaluate() leave the long range out: accelerations of all sources
  /// by find_long_range(), at about this time. For solvers with info().long_range.
  const Real* long_range[3] = {};
  /// What a particle is, wherever it lies in memory; may be null. Known ids settle what would else depend on the order.
  const std::uint64_t* id = nullptr;
};

/// Particles that ask: places in the prepared sources, in rising order. Where ranks share an evaluation, these are the
/// targets first … first + count − 1 of `total`: the order of the sums may depend on `total` and on a target's number
/// among them, never on which rank serves it.
struct Targets {
  const std::int64_t* index = nullptr;  // on the solver's device; null: place = number (all sources ask)
  std::int64_t count = 0;
  std::int64_t total = 0;
  std::int64_t first = 0;
};

/// Where the answers go, one per target in the targets' order; null for what was not asked.
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

/// What a solver can do, so that a combination that cannot work is refused when the configuration is read. Part of its
/// entry, gravity/solver_entry.hpp.
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

/// Two sources in one place with zero softening (or too close for the precision in use). Places in the sources, not
/// ids: whoever knows the ids says it again with them.
class PERGOLA_API CoincidentParticles : public Error {
 public:
  CoincidentParticles(std::int64_t first, std::int64_t second, const std::string& message)
      : Error(ErrorKind::numerics, message), first_(first), second_(second) {}
  std::int64_t first() const { return first_; }
  std::int64_t second() const { return second_; }

 private:
  std::int64_t first_, second_;
};

/// What every solver has, whatever its numbers. One object serves one system on one device.
class PERGOLA_API AnySolver {
 public:
  virtual ~AnySolver() = default;
  virtual const SolverInfo& info() const = 0;
  /// What update() builds on, for a checkpoint. restore() says whether it found it; else prepare() comes first.
  virtual void save(StateBlocks&) {}
  virtual bool restore(const StateBlocks&, std::int64_t /*count*/) { return true; }
  /// The same is kept while the solver serves somebody else, with other sources, until take_up(); then comes update()
  /// or prepare().
  virtual void put_aside() {}
  virtual void take_up() {}
  /// Lists on the host, of the sources prepared last.
  virtual NeighbourLists neighbour_lists(const Targets& targets, double radius) = 0;
  /// Device memory that this solver takes for n sources, in bytes, beyond the arrays it is given.
  virtual std::int64_t device_bytes(std::int64_t n) const = 0;

  /// The solver without what was added to it (external potentials).
  virtual AnySolver& plain() { return *this; }
  /// The lengths that the next prepare() or update() uses, in place of those of the options.
  virtual void set_softening(const Softening&) {
    throw Error(ErrorKind::input, info().name + ": expected one softening for the whole run");
  }
  /// Where the solver's stages are timed; null: nowhere. A solver without stages of its own is one.
  virtual void set_clock(StageClock*) {}
  /// The length below which forces are smoothed by the method itself (a mesh's cell); 0: none.
  virtual double resolution() const { return 0; }
  /// Bytes of work memory for find_order; 0: the order of the sources in memory does not matter to this solver.
  virtual std::int64_t order_bytes(std::int64_t) const { return 0; }
  /// Sources that the last prepare() could not take (outside an isolated mesh). Waits.
  virtual std::int64_t outside() { return 0; }
  /// What this solver has chosen where its options leave it open, for the sources of the last prepare(): sentences.
  virtual std::vector<std::string> choices() const { return {}; }
  /// A warning about the last evaluation; empty when there is none.
  virtual std::string remark() const { return {}; }
};

/// The force seam: prepare() takes the sources at a time, evaluate() answers targets. Real is the number type of the
/// state, float for Precision::single and double for mixed and double_: numbers of another precision do not compile.
template <class Real>
class PERGOLA_API Solver : public AnySolver {
 public:
  using Number = Real;
  virtual void prepare(const Sources<Real>& sources) = 0;
  /// The sources of the last prepare() have moved a little: takes their new places, and keeps what work of that
  /// prepare() still serves. Answers are as exact as after prepare(), not the same bits.
  virtual void update(const Sources<Real>& sources) { prepare(sources); }
  /// The accelerations that the long range causes, of all sources by their places, into arrays on the device. Not to
  /// be called between prepare() and evaluate().
  virtual void find_long_range(const Sources<Real>&, Real* const (&)[3]) {
    throw Error(ErrorKind::input, info().name + ": expected a solver with a long range of its own");
  }
  /// Does not wait on a GPU, except with zero softening, where it looks for coincident particles before it returns.
  virtual void evaluate(const Targets& targets, unsigned want, const Forces<Real>& forces) = 0;
  /// The places of the sources in the order in which it is best to keep them in memory, into `order` on the device.
  virtual void find_order(const Sources<Real>&, std::uint32_t*, void*) {}
};

/// Whether Real is the number type of the state at this precision.
template <class Real>
constexpr bool has_numbers(Precision precision) {
  return (precision == Precision::single) == std::is_same_v<Real, float>;
}

/// The registry: makes the solver that options.solver names. Throws Error(input) with the nearest valid name, or where
/// options.precision has other numbers.
template <class Real>
PERGOLA_API std::unique_ptr<Solver<Real>> make_solver(const SolverOptions& options, const Device& device);
/// The same with the numbers of options.precision, which are then known to evaluate_forces() only.
PERGOLA_API std::unique_ptr<AnySolver> make_solver(const SolverOptions& options, const Device& device);
PERGOLA_API std::vector<std::string> solver_names();

/// Host-side result of one evaluation.
struct ForceResult {
  std::vector<double> ax, ay, az, jx, jy, jz, potential;
  std::vector<std::int64_t> nearest;
  double prepare_seconds = 0, evaluate_seconds = 0;
};

/// Convenience for users of the library and for `pergola force`: one evaluation for particles on the host, at the
/// places `targets` (all when empty). Moves the particles to the device and the answers back; the two timings hold
/// device work only.
PERGOLA_API ForceResult evaluate_forces(AnySolver& solver, const Device& device, const Particles& particles,
                                        unsigned want, const std::vector<std::int64_t>& targets = {});

/// Σ over pairs of the softened −G m_i m_j / r in double precision, for sources on `device` without prediction.
PERGOLA_API double potential_energy(const Device& device, const Sources<double>& sources, const SolverOptions& options);

}  // namespace pergola
