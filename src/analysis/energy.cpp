#include "analysis/energy.hpp"
#include "analysis/energy_sums.hpp"
#include "analysis/shown_potential.hpp"
#include "comm/agreement.hpp"
#include "device/buffer.hpp"
#include "device/sort.hpp"
#include "domain/chunk_shares.hpp"
#include "domain/gather_particles.hpp"
#include "domain/shown_chunks.hpp"
#include "gravity/direct_spread.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/source_moves.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

// One process sums chunk by chunk. With distributed particles each rank sums the chunks that begin in its range of the
// input, fetching the few particles that other ranks hold of its last chunk; rank 0 then adds the chunks in order. This
// is why the bits do not depend on the number of ranks.
namespace pergola {

namespace {

/// Calls add(n, terms) for one piece of the particles after the other: kinetic and external energy, momentum, angular
/// momentum.
template <class Add>
void each_conserved(const ShownParticles& shown, const SolverOptions& gravity, const Add& add) {
  const Device& device = shown.device();
  std::vector<physics::ExternalLaw<double>> laws;
  for (const auto& potential : gravity.external)
    laws.push_back(external_law(potential, gravity.gravitational_constant));
  const Buffer<physics::ExternalLaw<double>> device_laws(device, laws);
  each_piece<double>(shown, true, [&](std::int64_t, std::int64_t n, const ShownArrays<double>& to) {
    add(n, ConservedTerms{to.x, to.y, to.z, to.vx, to.vy, to.vz, to.mass, device_laws.data(), device_laws.size()});
  });
}

/// The potential energy as a sum over all pairs.
double direct_energy(const ShownParticles& shown, const SolverOptions& gravity) {
  const ShownPlaces<double> places(shown);
  return potential_energy(shown.device(), sources_of(places), gravity);
}

/// The terms of particles in these arrays, by the method of the solver. A fixed field counts twice, in energy_of().
template <class Real>
PotentialTerms<Real> potential_terms(const SolverOptions& gravity, const Real* mass, const Real* potential,
                                     const Real* x, const Real* y, const Real* z) {
  const EnergyMethod& method = solver_entry(gravity.solver).energy;
  PotentialTerms<Real> terms{mass, potential, x, y, z, method.acting_cells != nullptr, {}};
  if (terms.with_mesh) terms.mesh = CellFrame<double>(method.acting_cells(gravity));
  return terms;
}

/// `fixed_field`: the terms are those of a fixed field, not of pairs, and are not halved.
double energy_of(const SolverOptions& gravity, const Terms<1>& total) {
  return solver_entry(gravity.solver).energy.fixed_field ? 2 * total.value[0] : total.value[0];
}

/// The potential energy from a solver's potentials, piece by piece in the order of the input.
template <class Real>
double sum_potentials(Solver<Real>& solver, const ShownParticles& shown, const SolverOptions& gravity) {
  const Device& device = shown.device();
  const ShownSources<Real> sources(shown);
  const Buffer<Real> potential = potentials_of(solver, device, sources.sources());
  Buffer<Real> reordered(device, std::min(summed_at_once(device), shown.count()));
  Terms<1> total;
  each_piece<Real>(shown, false, [&](std::int64_t first, std::int64_t n, const ShownArrays<Real>& to) {
    const Real* here = potential.data() + first;
    if (sources.place_of()) {
      permute(device, n, sources.place_of() + first, potential.data(), reordered.data());
      here = reordered.data();
    }
    add_parts(chunk_terms(device, n, potential_terms<Real>(gravity, to.mass, here, to.x, to.y, to.z)), total);
  });
  return energy_of(gravity, total);
}

/// The precision of the solver decides about that of the sums' input; sums are doubles.
double energy_from(AnySolver& solver, const ShownParticles& shown, const SolverOptions& gravity) {
  if (auto* single = dynamic_cast<Solver<float>*>(&solver)) return sum_potentials(*single, shown, gravity);
  return sum_potentials(dynamic_cast<Solver<double>&>(solver), shown, gravity);
}

/// With a second solver, which has the options of EnergyMethod. If memory does not suffice, with the run's own.
double finer_energy(const ShownParticles& shown, const SolverOptions& gravity, const SolverOptions& finer,
                    AnySolver* borrowed) {
  const auto solver = make_solver(finer, shown.device());
  const std::int64_t n = shown.count();
  const std::int64_t own = ShownPlaces<double>::bytes_per_particle() + static_cast<std::int64_t>(sizeof(double));
  const auto free = static_cast<std::int64_t>(shown.device().memory().free_bytes());
  if (borrowed && solver->device_bytes(n) + n * own > free) return energy_from(borrowed->plain(), shown, gravity);
  return energy_from(*solver, shown, finer);
}

/// Without external fields: over all pairs for few particles, with a finer solver where the entry asks for one, else
/// with the run's own solver or one like it.
double pair_energy(const ShownParticles& shown, const SolverOptions& gravity, AnySolver* borrowed) {
  const EnergyMethod& method = solver_entry(gravity.solver).energy;
  if (sums_over_pairs(gravity, shown.count())) return direct_energy(shown, gravity);
  if (!box_of(gravity).periodic() && method.options)
    return finer_energy(shown, gravity, method.options(gravity), borrowed);
  if (borrowed) return energy_from(borrowed->plain(), shown, gravity);
  return energy_from(*make_solver(gravity, shown.device()), shown, gravity);
}

using ConservedSums = Terms<ConservedTerms::count>;

/// Order of the sums: kinetic, external, momentum (3), angular momentum (3), mass.
Energies with_conserved(double pairs, const ConservedSums& sums) {
  const auto& value = sums.value;
  const Vec3<double> momentum{value[2], value[3], value[4]};
  const double of_center = value[8] > 0 ? dot(momentum, momentum) / (2 * value[8]) : 0;
  const double internal = pairs == 0 ? 0 : std::max(std::abs(value[0] - of_center + pairs), std::abs(pairs) / 2);
  return {value[0], pairs + value[1], momentum, {value[5], value[6], value[7]}, internal};
}

/// The chunks that this rank sums: those that begin in its range of the input.
class RankChunks {
 public:
  RankChunks(Communicator& ranks, const Shares& shares, const ShownParticles& own)
      : ranks_(ranks), chunks_(shares, sum_chunk), shown_(ranks, chunks_, own) {}

  ConservedSums conserved(const SolverOptions& gravity) const {
    std::vector<ConservedSums> parts;
    each_conserved(shown_, gravity, [&](std::int64_t n, const ConservedTerms& terms) { append(n, terms, parts); });
    return total_of(parts);
  }

  /// The potential energy from known potentials of this rank's particles.
  Terms<1> potential(const SolverOptions& gravity, const KnownPotentials& known) const {
    return known.single ? sum_known<float>(gravity, known) : sum_known<double>(gravity, known);
  }

 private:
  template <class Body>
  void append(std::int64_t n, const Body& terms, std::vector<Terms<Body::count>>& parts) const {
    const auto more = chunk_terms(shown_.device(), n, terms);
    parts.insert(parts.end(), more.begin(), more.end());
  }

  /// The total on all ranks; rank 0 adds the chunks in order.
  template <int count>
  Terms<count> total_of(const std::vector<Terms<count>>& parts) const {
    Terms<count> total;
    add_parts(gather_on_root(ranks_, parts), total);
    return share_value(ranks_, total);
  }

  template <class Real>
  Terms<1> sum_known(const SolverOptions& gravity, const KnownPotentials& known) const {
    const std::int64_t kept = chunks_.kept(ranks_.rank()), from = chunks_.kept_from(ranks_.rank());
    std::vector<Real> missing(static_cast<std::size_t>(shown_.count() - kept));
    chunks_.fetch_missing(
        ranks_, sizeof(Real), [&](std::int64_t first, std::int64_t n, std::byte* to) { known.read(first, n, to); },
        [&](std::int64_t at, std::int64_t n, const std::byte* rows) {
          std::memcpy(missing.data() + at, rows, static_cast<std::size_t>(n) * sizeof(Real));
        });
    const Device& device = shown_.device();
    const std::int64_t piece = std::min(summed_at_once(device), shown_.count());
    Buffer<Real> potentials(device, piece);
    std::vector<Real> potential(static_cast<std::size_t>(piece));
    std::vector<Terms<1>> parts;
    each_piece<Real>(shown_, false, [&](std::int64_t first, std::int64_t n, const ShownArrays<Real>& to) {
      const std::int64_t here = std::clamp<std::int64_t>(kept - first, 0, n);
      if (here > 0) known.read(from + first, here, potential.data());
      std::copy_n(missing.begin() + std::max<std::int64_t>(first - kept, 0), n - here, potential.begin() + here);
      device.memory().from_host(potentials.data(), potential.data(), static_cast<std::size_t>(n) * sizeof(Real));
      append(n, potential_terms<Real>(gravity, to.mass, potentials.data(), to.x, to.y, to.z), parts);
    });
    return total_of(parts);
  }

  Communicator& ranks_;
  ChunkShares chunks_;
  ShownChunks shown_;
};

/// Potentials of this rank's particles for the potential energy (EnergyMethod): from the run's own solver or a finer
/// one. Collective.
KnownPotentials distributed_potentials(const std::shared_ptr<Communicator>& ranks, const ShownParticles& own,
                                       const SolverOptions& gravity, AnySolver& solver) {
  const EnergyMethod& method = solver_entry(gravity.solver).energy;
  if (!method.options || box_of(gravity).periodic()) return potentials_from(solver.plain(), own);
  const SolverOptions finer = method.options(gravity);
  if constexpr (cuda_built) {
    if (auto* const moves = dynamic_cast<DeviceSourceMoves*>(&solver.plain())) moves->give_back_memory();
  }
  if (auto* const moves = dynamic_cast<SourceMoves*>(&solver.plain())) moves->give_back_memory();
  if (finer.precision == Precision::single)
    return potentials_from(*make_distributed_solver<float>(finer, own.device(), ranks), own);
  return potentials_from(*make_distributed_solver<double>(finer, own.device(), ranks), own);
}

/// The sum over all pairs on a GPU, by rank 0. Only for few particles.
double gathered_direct_energy(Communicator& ranks, const ShownParticles& own, const SolverOptions& gravity) {
  const Particles all = gather_on_root(ranks, fetch(own));
  double energy = 0;
  on_root(ranks, [&] { energy = direct_energy(*show_particles(own.device(), all), gravity); });
  return share_value(ranks, energy);
}

/// Null on a GPU if the run's own solver does not sum pairs.
std::unique_ptr<Solver<double>> make_distributed_pairs(AnySolver& run, SolverOptions gravity, const Device& device,
                                                       const std::shared_ptr<Communicator>& ranks) {
  gravity.precision = Precision::double_;
  if (device.is_cuda()) {
    if constexpr (cuda_built) return make_distributed_direct_cuda_beside(run, gravity, device, ranks);
  }
  return make_distributed_direct_cpu<double>(gravity, device, ranks);
}

/// The sum over all pairs; each rank finds the potentials of its particles.
double distributed_direct_energy(const std::shared_ptr<Communicator>& ranks, const ShownParticles& own,
                                 const SolverOptions& gravity, AnySolver& solver) {
  const auto pairs = make_distributed_pairs(solver, gravity, own.device(), ranks);
  if (!pairs) return gathered_direct_energy(*ranks, own, gravity);
  const ShownPlaces<double> places(own);
  const Buffer<double> potentials = potentials_of(*pairs, own.device(), sources_of(places));
  const std::vector<double> mass = places.mass.to_host(), value = potentials.to_host();
  return 0.5 * add_in_turn(*ranks, 0.0, [&](double& sum) {
           for (std::size_t i = 0; i < value.size(); ++i) sum += mass[i] * value[i];
         });
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

Energies measure_energies(const ShownParticles& shown, const SolverOptions& gravity, AnySolver* solver) {
  SolverOptions own = gravity;
  own.external.clear();
  const double pairs = pair_energy(shown, own, solver);
  ConservedSums sums;
  each_conserved(shown, gravity, [&](std::int64_t n, const ConservedTerms& terms) {
    add_parts(chunk_terms(shown.device(), n, terms), sums);
  });
  return with_conserved(pairs, sums);
}

Energies measure_distributed_energies(const std::shared_ptr<Communicator>& ranks, std::int64_t total,
                                      const ShownParticles& own, const SolverOptions& gravity, AnySolver& solver) {
  const Shares shares{total, ranks->size()};
  SolverOptions without_external = gravity;
  without_external.external.clear();
  const RankChunks chunks(*ranks, shares, own);
  const double pairs =
      sums_over_pairs(gravity, total)
          ? distributed_direct_energy(ranks, own, without_external, solver)
          : energy_of(gravity, chunks.potential(gravity, distributed_potentials(ranks, own, without_external, solver)));
  return with_conserved(pairs, chunks.conserved(gravity));
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
