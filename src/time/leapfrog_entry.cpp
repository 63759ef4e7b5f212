// The entry of the leapfrog: its keys, what it needs of a solver, and which options conflict. The key "steps" decides
// between one step for all particles (leapfrog.cpp) and block steps (block_leapfrog.cpp). A step that is chosen needs a
// length to choose it by: the softening, the cell of a mesh, or else jerks.
#include <fmt/core.h>

#include <algorithm>

#include "gravity/solver_entry.hpp"
#include "time/integrator_entry.hpp"
#include "time/leapfrog.hpp"

namespace pergola {

namespace {

bool has_blocks(const TimeOptions& time) { return time.steps == "block"; }

/// 0 stands for "auto".
Key<TimeOptions> step_key() {
  return {"step", "leapfrog: the fixed step; auto: chosen from the softening and the accelerations at the start",
          [](TimeOptions& time, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto* word = std::get_if<std::string>(&value);
            const auto step = word && *word == "auto" ? 0 : number_of(value);
            if (!step || !(*step == 0 ? word != nullptr : Range::above(0).contains(*step)))
              return KeyProblem{Range::above(0).text(), {"auto"}};
            time.step = *step;
            return std::nullopt;
          },
          [](const TimeOptions& time) -> KeyValue { return time.step != 0 ? KeyValue(time.step) : KeyValue("auto"); },
          dimension::time};
}

std::vector<Key<TimeOptions>> leapfrog_keys() {
  return {eta_key(),
          step_key(),
          gone_key<TimeOptions>("leapfrog", "kick-drift-kick",
                                "the leapfrog without this key: kick-drift-kick, the same trajectory but for rounding"),
          real_option<TimeOptions>(
              "courant", "adaptive or block on a mesh: cells that a particle may cross in a step", Range::above(0),
              [](auto& t) -> auto& { return t.courant; }),
          word_option<TimeOptions>(
              "steps",
              "leapfrog: shared | block (one for each particle: sqrt(2 eta softening / |a|), without softening eta |a| "
              "/ |jerk|)",
              {"shared", "block"}, [](auto& t) -> auto& { return t.steps; }),
          flag_option<TimeOptions>(
              "adaptive", "leapfrog: a shared step chosen anew each time", [](auto& t) -> auto& { return t.adaptive; }),
          step_max_key()};
}

/// Whether a particle has no length that smooths its forces, neither its own nor the method's.
bool unsoftened(const SolverOptions& gravity) {
  const auto& epsilon = gravity.softening.epsilon;
  return !solver_entry(gravity.solver).can.smooths && *std::min_element(epsilon.begin(), epsilon.end()) <= 0;
}

/// Forces on a part for block steps; jerks for a step that is chosen without softening.
IntegratorNeeds leapfrog_needs(const TimeOptions& time, const SolverOptions& gravity) {
  const bool blocks = has_blocks(time), jerk = (blocks || time.adaptive || time.step == 0) && unsoftened(gravity);
  if (!blocks && !jerk) return {};
  return {jerk, blocks, blocks ? "time.steps" : time.adaptive ? "time.adaptive" : "time.step"};
}

std::optional<Conflict> check_leapfrog(const TimeOptions& time, const SolverOptions& gravity) {
  if (time.background && unsoftened(gravity))
    return Conflict{"gravity.softening", "expected a length > 0 with [cosmology], found 0"};
  return std::nullopt;
}

}  // namespace

IntegratorEntry leapfrog_entry() {
  return {.name = "leapfrog",
          .summary = "kick-drift-kick leapfrog with a fixed, adaptive or block step",
          .keys = leapfrog_keys(),
          .needs = leapfrog_needs,
          .check = check_leapfrog,
          .fixed_step = [](const TimeOptions& time) { return has_blocks(time) || time.adaptive ? 0 : time.step; },
          .block_steps = has_blocks,
          .expanding_space = true,
          .make =
              [](const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context) {
                return has_blocks(time) ? make_block_leapfrog(time, gravity, context)
                                        : make_leapfrog(time, gravity, context);
              }};
}

}  // namespace pergola
