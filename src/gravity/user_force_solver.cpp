// Forces of the user that are added to the answers of any solver.
#include "gravity/wrapped_solver.hpp"

#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

#include "device/parallel.hpp"

namespace pergola {

namespace {

constexpr std::int64_t in_a_chunk = 4096;

/// Half the time between the two ends of a difference, as a part of a run's longest step: so short that the force is
/// straight meanwhile, so long that its change has digits.
template <class Real>
double part_of_step() {
  return std::ldexp(1.0, std::is_same_v<Real, float> ? -9 : -20);
}

template <class Real>
class UserForceSolver final : public WrappedSolver<Real> {
 public:
  UserForceSolver(std::unique_ptr<Solver<Real>> inner, const SolverOptions& options, const Device& device)
      : WrappedSolver<Real>(std::move(inner)), device_(device), added_(options.user_forces) {}

 private:
  using Columns = std::array<std::vector<Real>, 6>;

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
    Columns moved;
    if (from.ax) move(call, 0, moved);
    const bool jerks = (want & want_jerk) != 0;
    for (const UserForce& force : added_) {
      call.jx = call.jy = call.jz = nullptr;
      if (jerks && force.gives_jerk) call.jx = forces.jx, call.jy = forces.jy, call.jz = forces.jz;
      ask(force, call);
    }
    for (const UserForce& force : added_)
      if (jerks && !force.gives_jerk) add_difference(force, call, forces);
  }

  static void ask(const UserForce& force, const ForceCall<Real>& call) {
    if constexpr (std::is_same_v<Real, float>)
      force.in_single(call);
    else
      force.in_double(call);
  }

  /// All particles `ahead` of where the sources are predicted to be, into `columns`, for the call.
  void move(ForceCall<Real>& call, double ahead, Columns& columns) const {
    if (device_.is_cuda())
      throw Error(ErrorKind::input,
                  "user forces: expected ones that give jerks, or time.integrator = \"leapfrog\" with softening > 0, "
                  "on a GPU; or use --device cpu");
    const Sources<Real>& from = this->sources();
    for (auto& column : columns) column.resize(static_cast<std::size_t>(from.count));
    parallel_chunks(device_.threads(), from.count, in_a_chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        Vec3<double> x, v;
        predict_source(from, i, from.now, x, v);
        const Vec3<double> a = from.ax ? Vec3<double>{from.ax[i], from.ay[i], from.az[i]} : Vec3<double>{0, 0, 0};
        x = x + ahead * v, v = v + ahead * a;
        const double values[6] = {x.x, x.y, x.z, v.x, v.y, v.z};
        for (std::size_t k = 0; k < 6; ++k) columns[k][static_cast<std::size_t>(i)] = static_cast<Real>(values[k]);
      }
    });
    call.time = from.moment + ahead;
    call.x = columns[0].data(), call.y = columns[1].data(), call.z = columns[2].data();
    if (from.vx) call.vx = columns[3].data(), call.vy = columns[4].data(), call.vz = columns[5].data();
  }

  /// Adds to the jerks how the force changes between a little before and a little after.
  void add_difference(const UserForce& force, ForceCall<Real> call, const Forces<Real>& forces) const {
    const double ahead = this->sources().longest_step * part_of_step<Real>();
    if (!(ahead > 0)) throw Error(ErrorKind::input, "user forces: expected jerks to be asked for in a run only");
    const std::size_t n = static_cast<std::size_t>(call.count);
    Columns moved;
    std::array<std::vector<Real>, 3> before, after;
    for (auto* side : {&before, &after}) {
      move(call, side == &before ? -ahead : ahead, moved);
      for (auto& column : *side) column.assign(n, Real(0));
      call.ax = (*side)[0].data(), call.ay = (*side)[1].data(), call.az = (*side)[2].data();
      ask(force, call);
    }
    Real* const jerk[3] = {forces.jx, forces.jy, forces.jz};
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t t = 0; t < n; ++t) jerk[k][t] += (after[k][t] - before[k][t]) / static_cast<Real>(2 * ahead);
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
