#include "analysis/energy.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "gravity/mesh.hpp"

namespace pergola {

namespace {

constexpr std::int64_t sum_chunk = 1024;

struct Sums {
  double kinetic = 0, external = 0;
  Vec3<double> momentum{}, angular_momentum{};
};

Sums sum_range(const Particles& p, const SolverOptions& gravity, std::int64_t begin, std::int64_t end) {
  Sums sums;
  for (std::int64_t i = begin; i < end; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const Vec3<double> x{p.x[k], p.y[k], p.z[k]}, v{p.vx[k], p.vy[k], p.vz[k]};
    sums.kinetic += 0.5 * p.mass[k] * dot(v, v);
    sums.momentum = sums.momentum + p.mass[k] * v;
    sums.angular_momentum = sums.angular_momentum + p.mass[k] * cross(x, v);
    if (!gravity.external.empty())
      sums.external += p.mass[k] * external_field_at(gravity.external, gravity.gravitational_constant, x).potential;
  }
  return sums;
}

double potential_of(const Particles& particles, const Device& device, const SolverOptions& gravity) {
  const Buffer<double> x(device, particles.x), y(device, particles.y), z(device, particles.z),
      mass(device, particles.mass);
  const Buffer<std::uint8_t> species(device, particles.species);
  Sources<double> sources;
  sources.count = particles.size();
  sources.x = x.data(), sources.y = y.data(), sources.z = z.data();
  sources.mass = mass.data();
  sources.species = species.data();
  return potential_energy(device, sources, gravity);
}

double mesh_potential_of(const Particles& particles, const Device& device, const SolverOptions& gravity,
                         AnySolver* solver) {
  std::unique_ptr<AnySolver> own;
  if (!solver) own = make_solver(gravity, device), solver = own.get();
  const auto potential = evaluate_forces(solver->plain(), device, particles, want_potential).potential;
  double energy = 0;
  for (std::size_t k = 0; k < potential.size(); ++k) {
    const bool on = on_mesh(gravity.mesh, {particles.x[k], particles.y[k], particles.z[k]});
    energy += (on ? 0.5 : 1.0) * particles.mass[k] * potential[k];
  }
  return energy;
}

/// Up to so many particles the potential energy of a run with the tree is the direct sum's.
constexpr std::int64_t tree_sums_directly = 32768;

/// The potential energy from the tree, with an accuracy of at least 1e-4: its relative error is then some 1e-6.
double tree_potential_of(const Particles& particles, const Device& device, SolverOptions gravity) {
  gravity.tree.opening = TreeOptions::Opening::relative;
  gravity.tree.accuracy = std::min(gravity.tree.accuracy, 1e-4);
  gravity.tree.order = 0;
  if (gravity.precision == Precision::single) gravity.precision = Precision::mixed;
  const auto solver = make_solver(gravity, device);
  const auto potential = evaluate_forces(*solver, device, particles, want_potential).potential;
  double energy = 0;
  for (std::size_t k = 0; k < potential.size(); ++k) energy += 0.5 * particles.mass[k] * potential[k];
  return energy;
}

}  // namespace

Energies measure_energies(const Particles& particles, const Device& device, const SolverOptions& gravity,
                          AnySolver* solver) {
  const std::int64_t n = particles.size();
  std::vector<Sums> parts(static_cast<std::size_t>((n + sum_chunk - 1) / sum_chunk));
  parallel_chunks(device.threads(), n, sum_chunk, [&](std::int64_t begin, std::int64_t end) {
    parts[static_cast<std::size_t>(begin / sum_chunk)] = sum_range(particles, gravity, begin, end);
  });
  SolverOptions own = gravity;
  own.external.clear();
  Energies energies;
  if (gravity.solver == "mesh")
    energies.potential = mesh_potential_of(particles, device, own, solver);
  else if (gravity.solver == "tree" && n > tree_sums_directly)
    energies.potential = tree_potential_of(particles, device, own);
  else
    energies.potential = potential_of(particles, device, own);
  for (const auto& part : parts) {
    energies.kinetic += part.kinetic;
    energies.potential += part.external;
    energies.momentum = energies.momentum + part.momentum;
    energies.angular_momentum = energies.angular_momentum + part.angular_momentum;
  }
  return energies;
}

double relative_energy_error(const Energies& now, const Energies& start) {
  const double change = now.total() - start.total();
  return change == 0 ? 0 : change / std::abs(start.total());
}

}  // namespace pergola
