#include "toys/toy_solver.hpp"

namespace pergola {

namespace {

const char* const strength_key = "toy.strength";

double strength(const SolverOptions& options) {
  const auto given = options.own.find(strength_key);
  return given == options.own.end() ? 1 : number_of(given->second).value_or(1);
}

const SolverInfo& toy_info() {
  static const SolverInfo info{.name = "toy", .potential = true, .subset = true};
  return info;
}

template <class Real>
class ToySolver final : public Solver<Real> {
 public:
  explicit ToySolver(const SolverOptions& options) : strength_(static_cast<Real>(strength(options))) {}
  const SolverInfo& info() const override { return toy_info(); }
  NeighbourLists neighbour_lists(const Targets&, double) override {
    throw Error(ErrorKind::input, "toy: gives no neighbour lists");
  }
  std::int64_t device_bytes(std::int64_t n) const override { return 8 * n; }
  void prepare(const Sources<Real>& sources) override { sources_ = sources; }
  void evaluate(const Targets& targets, unsigned want, const Forces<Real>& forces) override {
    for (std::int64_t t = 0; t < targets.count; ++t) {
      const std::int64_t i = targets.index ? targets.index[t] : targets.first + t;
      const Real x = sources_.x[i], y = sources_.y[i], z = sources_.z[i];
      if (want & want_acceleration)
        forces.ax[t] = -strength_ * x, forces.ay[t] = -strength_ * y, forces.az[t] = -strength_ * z;
      if (want & want_potential) forces.potential[t] = strength_ * (x * x + y * y + z * z) / 2;
    }
  }

 private:
  Real strength_;
  Sources<Real> sources_;
};

}  // namespace

SolverEntry toy_solver_entry() {
  Key<SolverOptions> key{"strength", "of the spring",
                         [](SolverOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
                           const auto number = number_of(value);
                           if (!number || !(*number > 0)) return KeyProblem{"a number > 0", {}};
                           options.own[strength_key] = *number;
                           return std::nullopt;
                         },
                         [](const SolverOptions& options) -> KeyValue { return strength(options); }};
  return {.name = "toy",
          .summary = "a spring to the origin",
          .can = toy_info(),
          .default_precision = Precision::double_,
          .keys = {key},
          // The spring is fixed: each particle has the whole of its potential.
          .energy = {.pairs_up_to = 0, .fixed_field = true},
          .audit = AuditReference::none,
          .make_single = [](const SolverOptions& options, const Device&) -> std::unique_ptr<Solver<float>> {
            return std::make_unique<ToySolver<float>>(options);
          },
          .make_double = [](const SolverOptions& options, const Device&) -> std::unique_ptr<Solver<double>> {
            return std::make_unique<ToySolver<double>>(options);
          }};
}

}  // namespace pergola
