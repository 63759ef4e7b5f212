// Forces of the user that are added to the answers of any solver.
#include "gravity/wrapped_solver.hpp"

#include <type_traits>
#include <vector>

namespace pergola {

namespace {

template <class Real>
class UserForceSolver final : public WrappedSolver<Real> {
 public:
  UserForceSolver(std::unique_ptr<Solver<Real>> inner, const SolverOptions& options, const Device& device)
      : WrappedSolver<Real>(std::move(inner), "user forces"), device_(device), added_(options.user_forces) {}

 private:
  void add(const Targets& targets, unsigned want, const Forces<Real>& forces) override {
    if (!(want & want_acceleration)) return;
    if (this->clock()) this->clock()->begin("user force");
    const Sources<Real>& from = this->sources();
    ForceCall<Real> call;
    call.device = &device_;
    call.time = from.moment;
    call.count = targets.count;
    call.x = from.x, call.y = from.y, call.z = from.z;
    call.vx = from.vx, call.vy = from.vy, call.vz = from.vz;
    call.mass = from.mass;
    call.species = from.species;
    call.ax = forces.ax, call.ay = forces.ay, call.az = forces.az;
    call.index = targets.index;
    call.first = targets.first;
    for (const UserForce& force : added_) {
      if constexpr (std::is_same_v<Real, float>)
        force.in_single(call);
      else
        force.in_double(call);
    }
  }

  Device device_;
  std::vector<UserForce> added_;
};

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> add_user_forces(std::unique_ptr<Solver<Real>> inner, const SolverOptions& options,
                                              const Device& device) {
  return std::make_unique<UserForceSolver<Real>>(std::move(inner), options, device);
}
template std::unique_ptr<Solver<float>> add_user_forces(std::unique_ptr<Solver<float>> inner,
                                                        const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> add_user_forces(std::unique_ptr<Solver<double>> inner,
                                                         const SolverOptions& options, const Device& device);

}  // namespace pergola
