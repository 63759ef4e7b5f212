// The registry of solvers, how one is made with what is added to its forces, and one evaluation for particles on the
// host.
//
// make_solver() asks the entry for the bare method and wraps it: external potentials, then forces of the user, each add
// to what the method finds. Float solvers serve precision "single", double ones the others.
#include "gravity/solver.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "device/buffer.hpp"
#include "gravity/direct.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/treepm.hpp"
#include "gravity/wrapped_solver.hpp"

namespace pergola {

namespace {

std::vector<SolverEntry>& registry() {
  static std::vector<SolverEntry> entries{direct_entry(), tree_entry(), mesh_entry(), treepm_entry()};
  return entries;
}

}  // namespace

const std::vector<SolverEntry>& solver_entries() { return registry(); }

void register_solver(SolverEntry entry) { registry().push_back(std::move(entry)); }

std::vector<std::string> solver_names() {
  std::vector<std::string> names;
  for (const auto& entry : solver_entries()) names.push_back(entry.name);
  return names;
}

const SolverEntry& solver_entry(const std::string& name) {
  for (const auto& entry : solver_entries())
    if (entry.name == name) return entry;
  const auto names = solver_names();
  const std::string near = nearest_name(name, names);
  throw Error(ErrorKind::input, fmt::format("gravity.solver: expected {}, found \"{}\"{}", fmt::join(names, ", "), name,
                                            near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
}

// The entry's box is a reference into the options, hence the copy.
Box box_of(const SolverOptions& options) {
  const SolverEntry& entry = solver_entry(options.solver);
  SolverOptions copy = options;
  return entry.box ? entry.box(copy) : Box{};
}

void set_box(SolverOptions& options, const Box& box) {
  const SolverEntry& entry = solver_entry(options.solver);
  if (entry.box) entry.box(options) = box;
}

std::optional<Conflict> solver_conflict(const SolverOptions& options) {
  const SolverEntry& entry = solver_entry(options.solver);
  if (entry.check)
    if (auto conflict = entry.check(options)) return conflict;
  if (!options.external.empty() && box_of(options).periodic())
    return Conflict{"gravity.external",
                    "external potentials have one centre and no periodic images; set gravity.mesh.boundary = "
                    "\"isolated\""};
  return std::nullopt;
}

/// On one process.
template <class Real>
std::unique_ptr<Solver<Real>> make_solver(const SolverOptions& options, const Device& device) {
  if (!has_numbers<Real>(options.precision))
    throw Error(ErrorKind::input, fmt::format("run.precision: expected one with {} numbers, found {}",
                                              sizeof(Real) == 4 ? "fp32" : "fp64", precision_name(options.precision)));
  const SolverEntry& entry = solver_entry(options.solver);
  std::unique_ptr<Solver<Real>> solver;
  if constexpr (std::is_same_v<Real, float>)
    solver = entry.make_single(options, device);
  else
    solver = entry.make_double(options, device);
  if (!options.external.empty()) solver = add_external_potentials(std::move(solver), options, device);
  if (!options.user_forces.empty()) solver = add_user_forces(std::move(solver), options, device);
  return solver;
}
template std::unique_ptr<Solver<float>> make_solver(const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> make_solver(const SolverOptions& options, const Device& device);

template <class Real>
std::unique_ptr<Solver<Real>> make_dividing_solver(const SolverOptions& options, const Device& device,
                                                   std::shared_ptr<Communicator> ranks) {
  const SolverEntry& entry = solver_entry(options.solver);
  std::unique_ptr<Solver<Real>> solver;
  if (options.user_forces.empty() && entry.make_distributed_double) {
    if constexpr (std::is_same_v<Real, float>)
      solver = entry.make_distributed_single(options, device, ranks);
    else
      solver = entry.make_distributed_double(options, device, ranks);
  }
  if (!solver) return gather_sources(make_solver<Real>(options, device), device, std::move(ranks));
  if (!options.external.empty()) solver = add_external_potentials(std::move(solver), options, device);
  return solver;
}
template std::unique_ptr<Solver<float>> make_dividing_solver(const SolverOptions&, const Device&,
                                                             std::shared_ptr<Communicator>);
template std::unique_ptr<Solver<double>> make_dividing_solver(const SolverOptions&, const Device&,
                                                              std::shared_ptr<Communicator>);

template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_solver(const SolverOptions& options, const Device& device,
                                                      std::shared_ptr<Communicator> ranks) {
  auto solver = make_dividing_solver<Real>(options, device, ranks);
  if (!solver->divides()) return solver;
  return bring_to_owners<Real>(std::move(solver), device, std::move(ranks));
}
template std::unique_ptr<Solver<float>> make_distributed_solver(const SolverOptions&, const Device&,
                                                                std::shared_ptr<Communicator>);
template std::unique_ptr<Solver<double>> make_distributed_solver(const SolverOptions&, const Device&,
                                                                 std::shared_ptr<Communicator>);

std::unique_ptr<AnySolver> make_solver(const SolverOptions& options, const Device& device) {
  if (options.precision == Precision::single) return make_solver<float>(options, device);
  return make_solver<double>(options, device);
}

// Half the sum of mass times potential, in the order of the sources.
double potential_energy(const Device& device, const Sources<double>& sources, const SolverOptions& options) {
  SolverOptions full = options;
  full.precision = Precision::double_;
  const auto solver = make_direct<double>(full, device);
  Buffer<double> potential(device, sources.count);
  Forces<double> forces;
  forces.potential = potential.data();
  solver->prepare(sources);
  solver->evaluate(Targets{nullptr, sources.count, sources.count, 0}, want_potential, forces);
  std::vector<double> mass(static_cast<std::size_t>(sources.count));
  device.memory().to_host(mass.data(), sources.mass, mass.size() * sizeof(double));
  const auto values = potential.to_host();
  double twice = 0;
  for (std::size_t i = 0; i < values.size(); ++i) twice += mass[i] * values[i];
  return 0.5 * twice;
}

namespace {

template <class Real>
Buffer<Real> upload(const Device& device, const std::vector<double>& values) {
  return Buffer<Real>(device, std::vector<Real>(values.begin(), values.end()));
}

template <class Real>
void download(const Buffer<Real>& buffer, std::vector<double>& values) {
  const auto host = buffer.to_host();
  values.assign(host.begin(), host.end());
}

/// Uploads particles, prepares, evaluates all or some places, and downloads. Times include waiting for the device.
template <class Real>
ForceResult evaluate_on(Solver<Real>& solver, const Device& device, const Particles& particles, unsigned want,
                        const std::vector<std::int64_t>& places) {
  const auto x = upload<Real>(device, particles.x), y = upload<Real>(device, particles.y),
             z = upload<Real>(device, particles.z);
  const auto vx = upload<Real>(device, particles.vx), vy = upload<Real>(device, particles.vy),
             vz = upload<Real>(device, particles.vz), mass = upload<Real>(device, particles.mass);
  const Buffer<std::uint8_t> species(device, particles.species);
  const Buffer<std::uint64_t> id(device, particles.id);
  Sources<Real> sources;
  sources.count = particles.size();
  sources.x = x.data(), sources.y = y.data(), sources.z = z.data();
  sources.vx = vx.data(), sources.vy = vy.data(), sources.vz = vz.data();
  sources.mass = mass.data(), sources.species = species.data(), sources.id = id.data();

  const Buffer<std::int64_t> index(device, places);
  Targets targets;
  targets.count = targets.total = places.empty() ? particles.size() : index.size();
  targets.index = places.empty() ? nullptr : index.data();

  Buffer<Real> out[7];  // acceleration, jerk, potential
  const bool wanted[7] = {(want & want_acceleration) != 0, (want & want_acceleration) != 0,
                          (want & want_acceleration) != 0, (want & want_jerk) != 0,
                          (want & want_jerk) != 0,         (want & want_jerk) != 0,
                          (want & want_potential) != 0};
  for (int k = 0; k < 7; ++k) out[k] = Buffer<Real>(device, wanted[k] ? targets.count : 0);
  Buffer<std::int64_t> nearest(device, want & want_nearest ? targets.count : 0);
  Buffer<Real> nearest_distance(device, nearest.size());
  Forces<Real> forces;
  if (want & want_acceleration) forces.ax = out[0].data(), forces.ay = out[1].data(), forces.az = out[2].data();
  if (want & want_jerk) forces.jx = out[3].data(), forces.jy = out[4].data(), forces.jz = out[5].data();
  if (want & want_potential) forces.potential = out[6].data();
  if (want & want_nearest) forces.nearest = nearest.data(), forces.nearest_distance = nearest_distance.data();

  device.synchronize();
  const auto begin = Clock::now();
  solver.prepare(sources);
  device.synchronize();
  const double prepare_seconds = seconds_since(begin);
  solver.evaluate(targets, want, forces);
  device.synchronize();

  ForceResult result;
  result.prepare_seconds = prepare_seconds;
  result.evaluate_seconds = seconds_since(begin) - prepare_seconds;
  if (want & want_acceleration) download(out[0], result.ax), download(out[1], result.ay), download(out[2], result.az);
  if (want & want_jerk) download(out[3], result.jx), download(out[4], result.jy), download(out[5], result.jz);
  if (want & want_potential) download(out[6], result.potential);
  if (want & want_nearest) result.nearest = nearest.to_host();
  return result;
}

}  // namespace

ForceResult evaluate_forces(AnySolver& solver, const Device& device, const Particles& particles, unsigned want,
                            const std::vector<std::int64_t>& targets) {
  if (auto* single = dynamic_cast<Solver<float>*>(&solver))
    return evaluate_on(*single, device, particles, want, targets);
  return evaluate_on(dynamic_cast<Solver<double>&>(solver), device, particles, want, targets);
}

}  // namespace pergola
