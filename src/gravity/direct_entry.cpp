// The entry of the direct sum.
#include "gravity/direct.hpp"

#include "gravity/direct_spread.hpp"
#include "gravity/solver_entry.hpp"

namespace pergola {

namespace {

std::optional<Conflict> one_softening(const SolverOptions& options) {
  if (!options.softening.changes()) return std::nullopt;
  return Conflict{"gravity.softening_max_proper",
                  "the direct sum has one softening for the whole run; leave it out, or set gravity.solver = \"tree\""};
}

}  // namespace

SolverEntry direct_entry() {
  return {.name = "direct",
          .summary = "the sum over all pairs",
          .can = direct_info(),
          .audit = AuditReference::none,
          .cost = StepCost::pairs,
          .check = one_softening,
          .make_single = [](const SolverOptions& options, const Device& device) -> std::unique_ptr<Solver<float>> {
            return make_direct<float>(options, device);
          },
          .make_double = [](const SolverOptions& options, const Device& device) -> std::unique_ptr<Solver<double>> {
            return make_direct<double>(options, device);
          },
          .make_distributed_single = make_distributed_direct<float>,
          .make_distributed_double = make_distributed_direct<double>};
}

}  // namespace pergola
