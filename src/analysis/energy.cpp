#include "analysis/energy.hpp"
#include "analysis/energy_sums.hpp"
#include "analysis/shown_potential.hpp"
#include "device/buffer.hpp"
#include "gravity/direct.hpp"
#include "gravity/direct_spread.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/wrapped_solver.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

// Each rank adds the terms of its own particles; potentials are found by a solver of all ranks. Sums are exact, which
// is why the bits do not depend on the number of ranks.
namespace pergola {

namespace {

/// The particles of this rank, and the others.
struct Here {
  const ShownParticles& shown;
  const std::shared_ptr<Communicator>& ranks;

  bool alone() const { return ranks->size() == 1; }
  const Device& device() const { return shown.device(); }
  std::int64_t total() const {
    std::int64_t all = shown.count();
    ranks->all_reduce(&all, 1, Reduction::sum);
    return all;
  }
  template <class Real>
  std::unique_ptr<Solver<Real>> solver(const SolverOptions& options) const {
    return alone() ? make_solver<Real>(options, device()) : make_distributed_solver<Real>(options, device(), ranks);
  }
};

/// Kinetic and external energy, momentum (3), angular momentum (3), mass.
ExactTerms<ConservedTerms::count> conserved(const Here& here, const SolverOptions& gravity) {
  std::vector<physics::ExternalLaw<double>> laws;
  for (const auto& potential : gravity.external)
    laws.push_back(external_law(potential, gravity.gravitational_constant));
  const Buffer<physics::ExternalLaw<double>> device_laws(here.device(), laws);
  ExactTerms<ConservedTerms::count> own;
  each_piece<double>(
      here.shown, PieceOrder::any, true, [&](std::int64_t, std::int64_t n, const ShownArrays<double>& to) {
        add_terms(
            here.device(), n,
            ConservedTerms{to.x, to.y, to.z, to.vx, to.vy, to.vz, to.mass, device_laws.data(), device_laws.size()},
            own);
      });
  return over_ranks(*here.ranks, own);
}

/// The terms of particles in these arrays, by the method of the solver.
template <class Real>
PotentialTerms<Real> potential_terms(const SolverOptions& gravity, const Real* mass, const Real* potential,
                                     const Real* x, const Real* y, const Real* z) {
  const EnergyMethod& method = solver_entry(gravity.solver).energy;
  PotentialTerms<Real> terms{mass, potential, x, y, z, method.acting_cells != nullptr, {}};
  if (terms.with_mesh) terms.mesh = CellFrame<double>(method.acting_cells(gravity));
  return terms;
}

/// The potential energy from a solver's potentials. Terms of a fixed field are not halved.
template <class Real>
double sum_potentials(Solver<Real>& solver, const Here& here, const SolverOptions& gravity) {
  const Device& device = here.device();
  const ShownSources<Real> sources(here.shown);
  const Buffer<Real> potential = potentials_of(solver, device, sources.sources());
  const PieceOrder order = sources.stored() ? PieceOrder::any : PieceOrder::input;  // of the sources
  ExactTerms<1> own;
  each_piece<Real>(here.shown, order, false, [&](std::int64_t first, std::int64_t n, const ShownArrays<Real>& to) {
    add_terms(device, n, potential_terms<Real>(gravity, to.mass, potential.data() + first, to.x, to.y, to.z), own);
  });
  const double sum = over_ranks(*here.ranks, own).value(0);
  return solver_entry(gravity.solver).energy.fixed_field ? 2 * sum : sum;
}

/// The precision of the solver decides about that of the sums' input; sums are doubles.
double energy_from(AnySolver& solver, const Here& here, const SolverOptions& gravity) {
  if (!here.device().is_cuda()) solver.give_back_memory();
  if (auto* single = dynamic_cast<Solver<float>*>(&solver)) return sum_potentials(*single, here, gravity);
  return sum_potentials(dynamic_cast<Solver<double>&>(solver), here, gravity);
}

double energy_from(const SolverOptions& options, const Here& here) {
  if (options.precision == Precision::single) return energy_from(*here.solver<float>(options), here, options);
  return energy_from(*here.solver<double>(options), here, options);
}

/// With a second solver, which has the options of EnergyMethod. If memory does not suffice, with the run's own.
double finer_energy(const Here& here, const SolverOptions& gravity, const SolverOptions& finer, AnySolver* borrowed) {
  if (here.alone() && borrowed) {
    const std::int64_t n = here.shown.count();
    const std::int64_t own = ShownPlaces<double>::bytes_per_particle() + static_cast<std::int64_t>(sizeof(double));
    const auto free = static_cast<std::int64_t>(here.device().memory().free_bytes());
    if (make_solver(finer, here.device())->device_bytes(n) + n * own > free)
      return energy_from(borrowed->plain(), here, gravity);
  } else if (borrowed) {
    borrowed->give_back_memory();
  }
  return energy_from(finer, here);
}

/// The sum over all pairs, in double precision. On GPUs of ranks whose solver is another one each gets all particles:
/// they are few.
double direct_energy(const Here& here, SolverOptions gravity, AnySolver* borrowed) {
  gravity.precision = Precision::double_;
  gravity.solver = direct_info().name;
  std::unique_ptr<Solver<double>> solver;
  if (here.alone())
    solver = make_direct<double>(gravity, here.device());
  else if (!here.device().is_cuda())
    solver = make_distributed_direct_cpu<double>(gravity, here.device(), here.ranks);
  if constexpr (cuda_built) {
    if (!solver && borrowed)
      solver = make_distributed_direct_cuda_beside(*borrowed, gravity, here.device(), here.ranks);
  }
  if (!solver) solver = gather_sources<double>(make_direct<double>(gravity, here.device()), here.device(), here.ranks);
  return sum_potentials(*solver, here, gravity);
}

/// Without external fields: over all pairs for few particles, with a finer solver where the entry asks for one, else
/// with the run's own solver or one like it.
double pair_energy(const Here& here, const SolverOptions& gravity, AnySolver* borrowed) {
  const EnergyMethod& method = solver_entry(gravity.solver).energy;
  if (sums_over_pairs(gravity, here.total())) return direct_energy(here, gravity, borrowed);
  if (!box_of(gravity).periodic() && method.options)
    return finer_energy(here, gravity, method.options(gravity), borrowed);
  if (borrowed) return energy_from(borrowed->plain(), here, gravity);
  return energy_from(gravity, here);
}

}  // namespace

bool sums_over_pairs(const SolverOptions& gravity, std::int64_t count) {
  return !box_of(gravity).periodic() && count <= solver_entry(gravity.solver).energy.pairs_up_to;
}

// Places and potentials of all particles, in the precision of the sum.
std::int64_t energy_bytes(const SolverOptions& gravity, std::int64_t count) {
  const auto of = [&]<class Real>(Real) {
    return count * (ShownPlaces<Real>::bytes_per_particle() + static_cast<std::int64_t>(sizeof(Real)));
  };
  const bool floats = gravity.precision == Precision::single && !sums_over_pairs(gravity, count);
  return floats ? of(float{}) : of(double{});
}

Energies measure_energies(const ShownParticles& shown, const SolverOptions& gravity, AnySolver* solver,
                          const std::shared_ptr<Communicator>& ranks) {
  const Here here{shown, ranks};
  SolverOptions own = gravity;
  own.external.clear();
  const double pairs = pair_energy(here, own, solver);
  const auto sums = conserved(here, gravity);
  const Vec3<double> momentum{sums.value(2), sums.value(3), sums.value(4)};
  const double mass = sums.value(8), kinetic = sums.value(0);
  const double of_center = mass > 0 ? dot(momentum, momentum) / (2 * mass) : 0;
  const double internal = pairs == 0 ? 0 : std::max(std::abs(kinetic - of_center + pairs), std::abs(pairs) / 2);
  return {kinetic, pairs + sums.value(1), momentum, {sums.value(5), sums.value(6), sums.value(7)}, internal};
}

Energies measure_energies(const Particles& particles, const Device& device, const SolverOptions& gravity,
                          AnySolver* solver) {
  return measure_energies(*show_particles(device, particles), gravity, solver);
}

double relative_energy_error(const Energies& now, const Energies& start) {
  const double change = now.total() - start.total();
  return change == 0 ? 0 : change / std::abs(start.total());
}

}  // namespace pergola
