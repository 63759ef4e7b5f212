#include "app/paper/six_body.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "analysis/energy.hpp"
#include "base/stopwatch.hpp"
#include "base/vec.hpp"
#include "models/model.hpp"
#include "particles/particles.hpp"
#include "physics/leapfrog.hpp"
#include "physics/pair.hpp"
#include "time/integrator.hpp"

namespace pergola::app {

namespace {

/// A few bodies advanced by a plain kick-drift-kick loop with positions and velocities in the number type R and forces
/// computed in F; bertinelli's program has float for both. It exists to show what the number type does to the energy;
/// runs use time/leapfrog.
template <class R, class F = R>
class SerialLeapfrog {
 public:
  SerialLeapfrog(const Particles& particles, double step, double epsilon)
      : step_(static_cast<R>(step)), epsilon_squared_(static_cast<F>(epsilon * epsilon)) {
    for (std::size_t i = 0; i < particles.id.size(); ++i) {
      mass_.push_back(static_cast<R>(particles.mass[i]));
      x_.push_back(cast(particles.x[i], particles.y[i], particles.z[i]));
      v_.push_back(cast(particles.vx[i], particles.vy[i], particles.vz[i]));
    }
    half_v_ = v_;
    accelerate();
  }

  void step() {
    const R half = step_ / R(2);
    for (std::size_t i = 0; i < x_.size(); ++i) {
      physics::kick(half, v_[i], a_[i]);
      physics::drift(step_, x_[i], v_[i]);
    }
    half_v_ = v_;
    accelerate();
    for (std::size_t i = 0; i < x_.size(); ++i) physics::kick(half, v_[i], a_[i]);
  }

  /// Total energy in double precision of the state as it is. With `half_step_kinetic` the velocities are those of the
  /// last half step, which belong to another time than the positions.
  double energy(double epsilon, bool half_step_kinetic) const {
    double total = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const auto v = widen(half_step_kinetic ? half_v_[i] : v_[i]);
      double potential = 0;
      for (std::size_t j = 0; j < i; ++j) {
        const auto d = widen(x_[j]) - widen(x_[i]);
        const double inverse_r = physics::rsqrt(physics::softened_square(d, epsilon * epsilon));
        physics::add_pair_potential(static_cast<double>(mass_[j]), inverse_r, potential);
      }
      total += static_cast<double>(mass_[i]) * (0.5 * dot(v, v) + potential);
    }
    return total;
  }

  Vec3<double> position(std::size_t i) const { return widen(x_[i]); }
  Vec3<double> velocity(std::size_t i) const { return widen(v_[i]); }

 private:
  static Vec3<R> cast(double x, double y, double z) {
    return {static_cast<R>(x), static_cast<R>(y), static_cast<R>(z)};
  }
  static Vec3<double> widen(const Vec3<R>& a) { return {double(a.x), double(a.y), double(a.z)}; }

  void accelerate() {
    a_.resize(x_.size());
    for (std::size_t i = 0; i < x_.size(); ++i) {
      physics::PairSum<F> sum{};
      for (std::size_t j = 0; j < x_.size(); ++j) {
        if (j == i) continue;
        const auto difference = x_[j] - x_[i];
        const Vec3<F> d{static_cast<F>(difference.x), static_cast<F>(difference.y), static_cast<F>(difference.z)};
        physics::add_pair<false, false>(d, Vec3<F>{}, static_cast<F>(mass_[j]),
                                        physics::rsqrt(physics::softened_square(d, epsilon_squared_)), sum);
      }
      a_[i] = {static_cast<R>(sum.ax), static_cast<R>(sum.ay), static_cast<R>(sum.az)};
    }
  }

  R step_;
  F epsilon_squared_;
  std::vector<R> mass_;
  std::vector<Vec3<R>> x_, v_, half_v_, a_;
};

constexpr double hermite_eta = 0.002;  // a tenth of the default: few bodies are cheap

template <class R, class F>
EnergyCurve run_serial(const Particles& bodies, const SixBodySetup& setup, const Suspect& suspect) {
  const auto begin = Clock::now();
  SerialLeapfrog<R, F> system(bodies, setup.step, setup.softening);
  const double start = system.energy(suspect.energy_softening, suspect.half_step_kinetic);
  const auto steps = std::llround(setup.end_time / setup.step);
  EnergyCurve curve{suspect.name, {0}, {0}};
  for (std::int64_t step = 1, sample = 1; step <= steps && !interrupted; ++step) {
    system.step();
    if (step * setup.samples < sample * steps) continue;
    ++sample;
    curve.time.push_back(static_cast<double>(step) * setup.step);
    curve.error.push_back((system.energy(suspect.energy_softening, suspect.half_step_kinetic) - start) /
                          std::abs(start));
  }
  curve.seconds = seconds_since(begin);
  return curve;
}

/// The end time that fits the budget, from the speed of the first steps; the paper's own where it fits.
double affordable_end(const PaperSession& session, const Particles& bodies, const SixBodySetup& setup) {
  if (session.options().full) return setup.end_time;
  SixBodySetup trial = setup;
  trial.samples = 1;
  trial.end_time = 2000 * setup.step;
  const double per_time_unit = run_integrator(bodies, trial, "leapfrog", nullptr).seconds / trial.end_time;
  return std::min(setup.end_time, session.options().budget_seconds / per_time_unit);
}

std::string curve_note(const EnergyCurve& curve, bool timed) {
  return fmt::format("  {:<46} largest |ΔE/E| {:8.1e}, last {:+9.1e}{}", curve.name, curve.largest(),
                     curve.error.back(), timed ? fmt::format(", {:.1f} s", curve.seconds) : "");
}

nlohmann::json curve_json(const EnergyCurve& curve) {
  return {{"name", curve.name}, {"largest", curve.largest()}, {"last", curve.error.back()}, {"seconds", curve.seconds}};
}

void scan_steps(const PaperSession& session, PaperTable& table, const Particles& bodies, SixBodySetup setup) {
  std::vector<double> steps, in_double, in_float;
  table.notes.push_back("Largest |ΔE/E| against the step:");
  for (double step = 1e-2; step > 0.9 * setup.step && !interrupted; step /= std::sqrt(10.0)) {
    SixBodySetup scan = setup;
    scan.step = step;
    steps.push_back(step);
    in_double.push_back(run_suspect(bodies, scan, {"", false, false, false, setup.softening}).largest());
    in_float.push_back(run_suspect(bodies, scan, {"", true, true, false, setup.softening}).largest());
    table.details["steps"].push_back({{"step", step}, {"double", in_double.back()}, {"float", in_float.back()}});
    table.notes.push_back(
        fmt::format("  dt = {:<8.2g} double {:8.1e}   float {:8.1e}", step, in_double.back(), in_float.back()));
  }
  if (!interrupted) write_step_scan(session, steps, in_double, in_float);
}

}  // namespace

double EnergyCurve::largest() const {
  double most = 0;
  for (const double value : error) most = std::max(most, std::abs(value));
  return most;
}

EnergyCurve run_integrator(const Particles& bodies, const SixBodySetup& setup, const std::string& name,
                           Tracks* tracks) {
  // Six bodies are too few for threads or a GPU to help.
  const auto device = Device::open("cpu", 1);
  SolverOptions gravity;
  gravity.softening = Softening::same(setup.softening);
  gravity.precision = Precision::double_;
  TimeOptions time;
  time.integrator = name;
  time.step = setup.step;
  time.eta = hermite_eta;
  const auto integrator = make_integrator(time, gravity, {device, serial_communicator(), nullptr});
  const double start = measure_energies(bodies, device, gravity).total();
  EnergyCurve curve{
      name == "hermite" ? "Pergola, Hermite with block steps, double" : "Pergola, leapfrog, double", {}, {}};
  if (tracks) tracks->assign(bodies.id.size(), {});

  const auto begin = Clock::now();
  integrator->start(bodies, 0);
  for (int sample = 0; sample <= setup.samples && !interrupted; ++sample) {
    const double at = setup.end_time * sample / setup.samples;
    integrator->advance(at, [] { return interrupted.load(); });
    // A step that ends at the sample time up to rounding is the sample: predicting over 1e-16 would change nothing.
    const auto state = integrator->state_at(name == "leapfrog" ? integrator->time() : at);
    curve.time.push_back(at);
    curve.error.push_back((measure_energies(state, device, gravity).total() - start) / std::abs(start));
    for (std::size_t i = 0; tracks && i < state.id.size(); ++i) {
      (*tracks)[i][0].push_back(state.x[i]);
      (*tracks)[i][1].push_back(state.y[i]);
      (*tracks)[i][2].push_back(state.z[i]);
    }
  }
  curve.seconds = seconds_since(begin);
  return curve;
}

EnergyCurve run_suspect(const Particles& bodies, const SixBodySetup& setup, const Suspect& suspect) {
  if (suspect.float_state) return run_serial<float, float>(bodies, setup, suspect);
  return suspect.float_forces ? run_serial<double, float>(bodies, setup, suspect)
                              : run_serial<double, double>(bodies, setup, suspect);
}

PaperTable run_six_body(const PaperSession& session) {
  PaperTable table = load_table("bertinelli", "six-body");
  SixBodySetup setup;
  const auto bodies = make_model("six-body", {});
  const double end = affordable_end(session, bodies, setup);
  if (end < setup.end_time)
    table.notes.push_back(fmt::format("Run to t = {:.3g} of 50 within the budget; see --budget and --full.", end));
  setup.end_time = end;

  Tracks tracks;
  session.context().remark("bertinelli/six-body: leapfrog and hermite");
  std::vector<EnergyCurve> runs{run_integrator(bodies, setup, "leapfrog", &tracks),
                                run_integrator(bodies, setup, "hermite", nullptr)};
  for (const auto& run : runs) {
    table.notes.push_back(curve_note(run, true));
    table.details["runs"].push_back(curve_json(run));
  }

  session.context().remark("bertinelli/six-body: what may have been wrong in the paper");
  const std::vector<Suspect> suspects{
      {"float throughout", true, true, false, setup.softening},
      {"float forces; double positions and velocities", false, true, false, setup.softening},
      {"kinetic energy half a step off", false, false, true, setup.softening},
      {"potential energy without softening", false, false, false, 0}};
  table.notes.push_back("The same leapfrog with one fault each:");
  std::vector<EnergyCurve> curves;
  for (const auto& suspect : suspects) {
    curves.push_back(run_suspect(bodies, setup, suspect));
    table.notes.push_back(curve_note(curves.back(), false));
    table.details["faults"].push_back(curve_json(curves.back()));
  }
  if (!interrupted) write_six_body(session, runs, curves, tracks);
  scan_steps(session, table, bodies, setup);
  if (interrupted) table.notes.push_back("Interrupted: the last lines are incomplete.");
  return table;
}

}  // namespace pergola::app
