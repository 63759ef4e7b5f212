// External potentials that are added to the answers of any solver. Compiled with options for loops
// (src/CMakeLists.txt).
#include "gravity/wrapped_solver.hpp"

#include "device/parallel.hpp"

namespace pergola {

namespace {

template <class Real>
class ExternalSolver final : public WrappedSolver<Real> {
 public:
  ExternalSolver(std::unique_ptr<Solver<Real>> inner, const SolverOptions& options, const Device& device)
      : WrappedSolver<Real>(std::move(inner)), device_(device), laws_(external_laws<Real>(options, device)) {}

  std::int64_t device_bytes(std::int64_t n) const override {
    return WrappedSolver<Real>::device_bytes(n) + static_cast<std::int64_t>(laws_.bytes());
  }

 private:
  void add(const Targets& targets, unsigned want, const Forces<Real>& forces) override;

  Device device_;
  Buffer<physics::ExternalLaw<Real>> laws_;
};

template <class Real>
void ExternalSolver<Real>::add(const Targets& targets, unsigned want, const Forces<Real>& forces) {
  if (this->clock()) this->clock()->begin("external");
  AddExternal<Real> body{laws_.data(), laws_.size(), this->sources(), targets, {}};
  if (want & want_acceleration) body.forces.ax = forces.ax, body.forces.ay = forces.ay, body.forces.az = forces.az;
  if (want & want_jerk) body.forces.jx = forces.jx, body.forces.jy = forces.jy, body.forces.jz = forces.jz;
  if (want & want_potential) body.forces.potential = forces.potential;
  if (device_.is_cuda()) {
    if constexpr (cuda_built) return add_external_cuda(device_, body);
  }
  parallel_chunks(device_.threads(), targets.count, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) body(t);
  });
}

}  // namespace

template <class Real>
Buffer<physics::ExternalLaw<Real>> external_laws(const SolverOptions& options, const Device& device) {
  const auto to_real = [](double value) { return static_cast<Real>(value); };
  std::vector<physics::ExternalLaw<Real>> laws;
  for (const auto& potential : options.external) {
    const auto law = external_law(potential, options.gravitational_constant);
    laws.push_back({law.kind,
                    to_real(law.strength),
                    to_real(law.radius),
                    to_real(law.height),
                    {to_real(law.centre.x), to_real(law.centre.y), to_real(law.centre.z)}});
  }
  return {device, laws};
}
template Buffer<physics::ExternalLaw<float>> external_laws(const SolverOptions& options, const Device& device);
template Buffer<physics::ExternalLaw<double>> external_laws(const SolverOptions& options, const Device& device);

template <class Real>
std::unique_ptr<Solver<Real>> add_external_potentials(std::unique_ptr<Solver<Real>> inner, const SolverOptions& options,
                                                      const Device& device) {
  return std::make_unique<ExternalSolver<Real>>(std::move(inner), options, device);
}
template std::unique_ptr<Solver<float>> add_external_potentials(std::unique_ptr<Solver<float>> inner,
                                                                const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> add_external_potentials(std::unique_ptr<Solver<double>> inner,
                                                                 const SolverOptions& options, const Device& device);

}  // namespace pergola
