#include "analysis/energy.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/energy_sums.hpp"
#include "analysis/shown_potential.hpp"
#include "device/buffer.hpp"
#include "gravity/solver_entry.hpp"

namespace pergola {

namespace {

/// Particles that are shown at once; whole chunks, so that the sums do not depend on it. A GPU likes long loops, a host
/// that has only some of the particles, or none, short arrays.
std::int64_t piece_size(const Device& device) { return (device.is_cuda() ? 4096 : 64) * sum_chunk; }

/// Kinetic and external energy, momentum, angular momentum.
Terms<8> conserved_of(const ShownParticles& shown, const SolverOptions& gravity) {
  const Device& device = shown.device();
  std::vector<physics::ExternalLaw<double>> laws;
  for (const auto& potential : gravity.external)
    laws.push_back(external_law(potential, gravity.gravitational_constant));
  const Buffer<physics::ExternalLaw<double>> device_laws(device, laws);
  const std::int64_t piece = std::min(piece_size(device), shown.count());
  Buffer<double> number[7];
  for (auto& one : number) one = Buffer<double>(device, piece);
  ShownArrays<double> to;
  to.x = number[0].data(), to.y = number[1].data(), to.z = number[2].data();
  to.vx = number[3].data(), to.vy = number[4].data(), to.vz = number[5].data();
  to.mass = number[6].data();
  const ConservedTerms terms{to.x, to.y, to.z, to.vx, to.vy, to.vz, to.mass, device_laws.data(), device_laws.size()};
  Terms<8> total;
  for (std::int64_t first = 0; first < shown.count(); first += piece) {
    const std::int64_t n = std::min(piece, shown.count() - first);
    shown.show(first, n, to);
    add_terms(device, n, terms, total);
  }
  return total;
}

/// The sum over all pairs.
double direct_energy(const ShownParticles& shown, const SolverOptions& gravity) {
  const ShownPlaces<double> places(shown);
  return potential_energy(shown.device(), sources_of(places), gravity);
}

/// What particles at these places add, by the solver's method; `fixed_field` counts at the end.
template <class Real>
PotentialTerms<Real> potential_terms(const SolverOptions& gravity, const Real* mass, const Real* potential,
                                     const Real* x, const Real* y, const Real* z) {
  const EnergyMethod& method = solver_entry(gravity.solver).energy;
  PotentialTerms<Real> terms{mass, potential, x, y, z, method.acting_cells != nullptr, {}};
  if (terms.with_mesh) terms.mesh = CellFrame<double>(method.acting_cells(gravity));
  return terms;
}

double energy_of(const SolverOptions& gravity, const Terms<1>& total) {
  return solver_entry(gravity.solver).energy.fixed_field ? 2 * total.value[0] : total.value[0];
}

/// From the potentials that a solver gives.
template <class Real>
double sum_potentials(Solver<Real>& solver, const ShownParticles& shown, const SolverOptions& gravity) {
  const ShownPlaces<Real> places(shown);
  const Buffer<Real> potential = potentials_of(solver, shown, places);
  const auto terms =
      potential_terms(gravity, places.mass.data(), potential.data(), places.x.data(), places.y.data(), places.z.data());
  Terms<1> total;
  add_terms(shown.device(), shown.count(), terms, total);
  return energy_of(gravity, total);
}

/// From potentials that it has given, piece by piece.
template <class Real>
double sum_known(const ShownParticles& shown, const SolverOptions& gravity, const KnownPotentials& known) {
  const std::int64_t piece = std::min(piece_size(shown.device()), shown.count());
  std::vector<Real> x, y, z, mass, potential;
  for (auto* values : {&x, &y, &z, &mass, &potential}) values->resize(static_cast<std::size_t>(piece));
  ShownArrays<Real> to;
  to.x = x.data(), to.y = y.data(), to.z = z.data(), to.mass = mass.data();
  const PotentialTerms<Real> terms = potential_terms<Real>(gravity, to.mass, potential.data(), to.x, to.y, to.z);
  Terms<1> total;
  for (std::int64_t first = 0; first < shown.count(); first += piece) {
    const std::int64_t n = std::min(piece, shown.count() - first);
    shown.show(first, n, to);
    known.read(first, n, potential.data());
    add_terms(shown.device(), n, terms, total);
  }
  return energy_of(gravity, total);
}

double energy_from(AnySolver& solver, const ShownParticles& shown, const SolverOptions& gravity) {
  if (auto* single = dynamic_cast<Solver<float>*>(&solver)) return sum_potentials(*single, shown, gravity);
  return sum_potentials(dynamic_cast<Solver<double>&>(solver), shown, gravity);
}

/// With the options that the solver asks for where its energy is measured; where the device has no room for a second
/// solver, from the run's own.
double finer_energy(const ShownParticles& shown, const SolverOptions& gravity, const SolverOptions& finer,
                    AnySolver* lent) {
  const auto solver = make_solver(finer, shown.device());
  const std::int64_t n = shown.count();
  const std::int64_t own = ShownPlaces<double>::bytes_per_particle() + static_cast<std::int64_t>(sizeof(double));
  const auto free = static_cast<std::int64_t>(shown.device().memory().free_bytes());
  if (lent && solver->device_bytes(n) + n * own > free) return energy_from(lent->plain(), shown, gravity);
  return energy_from(*solver, shown, finer);
}

double pair_energy(const ShownParticles& shown, const SolverOptions& gravity, AnySolver* lent) {
  const EnergyMethod& method = solver_entry(gravity.solver).energy;
  if (sums_over_pairs(gravity, shown.count())) return direct_energy(shown, gravity);
  if (!box_of(gravity).periodic() && method.options) return finer_energy(shown, gravity, method.options(gravity), lent);
  if (lent) return energy_from(lent->plain(), shown, gravity);
  return energy_from(*make_solver(gravity, shown.device()), shown, gravity);
}

Energies with_conserved(double pairs, const ShownParticles& shown, const SolverOptions& gravity) {
  const Terms<8> sums = conserved_of(shown, gravity);
  const auto& value = sums.value;
  return {value[0], pairs + value[1], {value[2], value[3], value[4]}, {value[5], value[6], value[7]}};
}

}  // namespace

bool sums_over_pairs(const SolverOptions& gravity, std::int64_t count) {
  return !box_of(gravity).periodic() && count <= solver_entry(gravity.solver).energy.pairs_up_to;
}

std::int64_t energy_bytes(const SolverOptions& gravity, std::int64_t count) {
  const auto of = [&]<class Real>(Real) {
    return count * (ShownPlaces<Real>::bytes_per_particle() + static_cast<std::int64_t>(sizeof(Real)));
  };
  const bool floats = gravity.precision == Precision::single && !sums_over_pairs(gravity, count);
  return floats ? of(float{}) : of(double{});
}

Energies measure_energies(const ShownParticles& shown, const SolverOptions& gravity, AnySolver* solver) {
  SolverOptions own = gravity;
  own.external.clear();
  return with_conserved(pair_energy(shown, own, solver), shown, gravity);
}

Energies measure_energies(const ShownParticles& shown, const SolverOptions& gravity, const KnownPotentials& known) {
  const double pairs =
      known.single ? sum_known<float>(shown, gravity, known) : sum_known<double>(shown, gravity, known);
  return with_conserved(pairs, shown, gravity);
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
