#include "time/hermite.hpp"
#include "time/integrator_entry.hpp"

namespace pergola {

namespace {

std::vector<Key<TimeOptions>> hermite_keys() {
  return {eta_key(),
          real_option<TimeOptions>(
              "eta_start", "hermite: the same for the first step", Range::above(0),
              [](auto& t) -> auto& { return t.eta_start; }),
          step_max_key(),
          integer_option<TimeOptions>(
              "corrector_iterations", "hermite: force evaluations per step, with 1 in bound pairs 3",
              Range::between(1, 100), [](auto& t) -> auto& { return t.corrector_iterations; })};
}

std::unique_ptr<Integrator> make_hermite(const TimeOptions& time, const SolverOptions& gravity,
                                         const IntegratorContext& context) {
  if (context.device.is_cuda()) {
    if (!gravity.user_forces.empty())
      throw Error(ErrorKind::input,
                  "user forces: expected an integrator other than hermite on a GPU; set time.integrator = "
                  "\"leapfrog\", or use --device cpu");
    if constexpr (cuda_built) return make_hermite_cuda(time, gravity, context);
  }
  return make_hermite_cpu(time, gravity, context);
}

}  // namespace

IntegratorEntry hermite_entry() {
  return {.name = "hermite",
          .summary = "4th-order Hermite with block steps",
          .keys = hermite_keys(),
          .needs =
              [](const TimeOptions&, const SolverOptions&) {
                return IntegratorNeeds{true, true, ""};
              },
          .block_steps = [](const TimeOptions&) { return true; },
          // Plummer models at fixed softening 1/256. Measured for N = 256 to 2048 and, for the first, against the pairs
          // counted at N = 65,536.
          .growth = {.particle_steps = 0.17, .steps = 0.5},
          .make = make_hermite};
}

}  // namespace pergola
