#include "gravity/solver.hpp"

#include <fmt/core.h>

#include <chrono>

#include "base/text.hpp"
#include "device/buffer.hpp"
#include "gravity/direct.hpp"
#include "gravity/external_solver.hpp"
#include "gravity/mesh.hpp"
#include "gravity/pair_laws.hpp"
#include "gravity/tree.hpp"

namespace pergola {

std::vector<std::string> solver_names() { return {"direct", "tree", "mesh"}; }

std::string kernel_problem(const std::string& solver, SofteningKernel kernel) {
  const PairLawEntry& law = pair_law(kernel);
  if (solver != "tree" || law.in_tree) return {};
  return fmt::format("gravity.softening_kernel: the tree has no loops for \"{}\"; set gravity.solver = \"direct\"",
                     law.name);
}

namespace {

template <class Real>
std::unique_ptr<Solver<Real>> make_plain_solver(const SolverOptions& options, const Device& device) {
  if (options.solver == "mesh") return make_mesh_solver<Real>(options, device);
  if (options.solver == "tree") {
    const std::string problem = kernel_problem(options.solver, options.softening.kernel);
    if (!problem.empty()) throw Error(ErrorKind::input, problem);
    if (device.is_cuda()) {
      if constexpr (cuda_built) return make_tree_cuda<Real>(options, device);
    }
    return make_tree_cpu<Real>(options, device);
  }
  if (options.solver != "direct") {
    const std::string near = nearest_name(options.solver, solver_names());
    throw Error(ErrorKind::input,
                fmt::format("gravity.solver: expected direct, tree or mesh, found \"{}\"{}", options.solver,
                            near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
  }
  return make_direct<Real>(options, device);
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_solver(const SolverOptions& options, const Device& device) {
  if (!has_numbers<Real>(options.precision))
    throw Error(ErrorKind::input, fmt::format("run.precision: expected one with {} numbers, found {}",
                                              sizeof(Real) == 4 ? "fp32" : "fp64", precision_name(options.precision)));
  auto solver = make_plain_solver<Real>(options, device);
  return options.external.empty() ? std::move(solver) : add_external_potentials(std::move(solver), options, device);
}
template std::unique_ptr<Solver<float>> make_solver(const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> make_solver(const SolverOptions& options, const Device& device);

std::unique_ptr<AnySolver> make_solver(const SolverOptions& options, const Device& device) {
  if (options.precision == Precision::single) return make_solver<float>(options, device);
  return make_solver<double>(options, device);
}

double potential_energy(const Device& device, const Sources<double>& sources, const SolverOptions& options) {
  if (device.is_cuda()) {
    if constexpr (cuda_built) return potential_energy_cuda(device, sources, options);
  }
  return potential_energy_cpu(device, sources, options);
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
  sources.x = x.data();
  sources.y = y.data();
  sources.z = z.data();
  sources.vx = vx.data();
  sources.vy = vy.data();
  sources.vz = vz.data();
  sources.mass = mass.data();
  sources.species = species.data();
  sources.id = id.data();

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

  using Clock = std::chrono::steady_clock;
  device.synchronize();
  const auto begin = Clock::now();
  solver.prepare(sources);
  device.synchronize();
  const auto middle = Clock::now();
  solver.evaluate(targets, want, forces);
  device.synchronize();
  const auto end = Clock::now();

  ForceResult result;
  result.prepare_seconds = std::chrono::duration<double>(middle - begin).count();
  result.evaluate_seconds = std::chrono::duration<double>(end - middle).count();
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
