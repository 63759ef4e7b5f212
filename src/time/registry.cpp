#include <fmt/core.h>

#include <cmath>

#include "base/text.hpp"
#include "time/block_leapfrog.hpp"
#include "time/hermite.hpp"
#include "time/leapfrog.hpp"

namespace pergola {

namespace {

void check_options(const TimeOptions& time) {
  const auto positive = [](const char* key, double value) {
    if (!(value > 0) || !std::isfinite(value))
      throw Error(ErrorKind::input, fmt::format("{}: expected a number > 0, found {}", key, to_text(value)));
  };
  positive("time.eta", time.eta);
  positive("time.eta_start", time.eta_start);
  positive("time.step", time.step);
  positive("time.step_max", time.step_max);
  positive("time.courant", time.courant);
  int exponent = 0;
  if (std::frexp(time.step_max, &exponent) != 0.5)
    throw Error(ErrorKind::input,
                fmt::format("time.step_max: expected a power of two, found {}", to_text(time.step_max)));
  if (time.leapfrog != "kick-drift-kick" && time.leapfrog != "staggered")
    throw Error(ErrorKind::input,
                fmt::format("time.leapfrog: expected kick-drift-kick or staggered, found \"{}\"", time.leapfrog));
  if (time.steps != "shared" && time.steps != "block")
    throw Error(ErrorKind::input, fmt::format("time.steps: expected shared or block, found \"{}\"", time.steps));
  if (time.corrector_iterations < 1)
    throw Error(ErrorKind::input,
                fmt::format("time.corrector_iterations: expected 1 or more, found {}", time.corrector_iterations));
}

}  // namespace

std::vector<std::string> integrator_names() { return {"hermite", "leapfrog"}; }

std::unique_ptr<Integrator> make_integrator(const TimeOptions& time, const SolverOptions& gravity,
                                            const IntegratorContext& context) {
  check_options(time);
  if (time.integrator == "leapfrog")
    return time.steps == "block" ? make_block_leapfrog(time, gravity, context) : make_leapfrog(time, gravity, context);
  if (time.integrator == "hermite") {
    if (!gravity.external.empty())
      throw Error(ErrorKind::input, "gravity.external: " + external_needs_leapfrog("hermite"));
    if (gravity.solver != "direct")
      throw Error(ErrorKind::input, fmt::format("time.integrator: hermite needs jerks, which the {} solver does not "
                                                "give; set time.integrator = \"leapfrog\"",
                                                gravity.solver));
    if (context.device.is_cuda()) {
      if constexpr (cuda_built) return make_hermite_cuda(time, gravity, context);
    }
    return make_hermite_cpu(time, gravity, context);
  }
  const std::string near = nearest_name(time.integrator, integrator_names());
  throw Error(ErrorKind::input,
              fmt::format("time.integrator: expected hermite or leapfrog, found \"{}\"{}", time.integrator,
                          near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
}

}  // namespace pergola
