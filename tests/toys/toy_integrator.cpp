#include "toys/toy_integrator.hpp"

#include <cmath>

namespace pergola {

namespace {

const char* const step_name = "toy.toy_step";

double toy_step(const TimeOptions& time) {
  const auto given = time.own.find(step_name);
  return given == time.own.end() ? 0.01 : number_of(given->second).value_or(0.01);
}

class ToyIntegrator final : public Integrator {
 public:
  ToyIntegrator(const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context)
      : step_(toy_step(time)), device_(context.device), solver_(make_solver(gravity, context.device)) {}

  void start(ParticleSource& particles, double time) override {
    particles.read(0, particles.count(), particles_);
    start_time_ = time_ = time;
  }
  bool advance(double limit, const std::function<bool()>& enough) override {
    while (next_time() <= limit) {
      step(next_time() - time_);
      ++counts_.steps;
      time_ = start_time_ + static_cast<double>(counts_.steps) * step_;
      if (enough && enough()) return false;
    }
    return true;
  }
  void finish(double end) override {
    advance(end, nullptr);
    step(end - time_);
    time_ = end;
  }
  double time() const override { return time_; }
  std::unique_ptr<ShownParticles> show(double time) const override {
    Particles shown = particles_;
    drift(shown, time - time_);
    return show_particles(device_, shown);
  }
  StepCounts counts() const override { return counts_; }
  void save(StateSource& blocks) const override {
    blocks.put_value("count", particles_.size());
    blocks.put_value("start_time", start_time_);
    blocks.put_value("time", time_);
    blocks.put_value("steps", counts_.steps);
    blocks.put("id", particles_.id), blocks.put("species", particles_.species);
    for (const auto& [name, field] : fields) blocks.put(name, particles_.*field);
  }
  void restore(StateInput& blocks) override {
    const auto n = static_cast<std::size_t>(blocks.get_value<std::int64_t>("count"));
    start_time_ = blocks.get_value<double>("start_time"), time_ = blocks.get_value<double>("time");
    counts_.steps = blocks.get_value<std::int64_t>("steps");
    counts_.particle_steps = counts_.steps * static_cast<std::int64_t>(n);
    particles_.id = blocks.get<std::uint64_t>("id", n), particles_.species = blocks.get<std::uint8_t>("species", n);
    for (const auto& [name, field] : fields) particles_.*field = blocks.get<double>(name, n);
  }
  std::int64_t device_bytes(std::int64_t n) const override { return 64 * n + solver_->device_bytes(n); }
  AnySolver* idle_solver() override { return solver_.get(); }

 private:
  struct NamedField {
    const char* name;
    std::vector<double> Particles::*field;
  };
  static constexpr NamedField fields[] = {{"mass", &Particles::mass}, {"x", &Particles::x},   {"y", &Particles::y},
                                          {"z", &Particles::z},       {"vx", &Particles::vx}, {"vy", &Particles::vy},
                                          {"vz", &Particles::vz}};

  double next_time() const { return start_time_ + static_cast<double>(counts_.steps + 1) * step_; }
  static void add(std::vector<double>& to, double factor, const std::vector<double>& what) {
    for (std::size_t k = 0; k < to.size(); ++k) to[k] += factor * what[k];
  }
  static void drift(Particles& p, double dt) { add(p.x, dt, p.vx), add(p.y, dt, p.vy), add(p.z, dt, p.vz); }
  void step(double dt) {
    const auto forces = evaluate_forces(*solver_, device_, particles_, want_acceleration);
    add(particles_.vx, dt, forces.ax), add(particles_.vy, dt, forces.ay), add(particles_.vz, dt, forces.az);
    drift(particles_, dt);
    counts_.particle_steps += particles_.size();
  }

  double step_;
  Device device_;
  std::unique_ptr<AnySolver> solver_;
  Particles particles_;
  double start_time_ = 0, time_ = 0;
  StepCounts counts_;
};

}  // namespace

IntegratorEntry toy_integrator_entry() {
  Key<TimeOptions> key{"toy_step", "toy: the step",
                       [](TimeOptions& time, const KeyValue& value) -> std::optional<KeyProblem> {
                         const auto number = number_of(value);
                         if (!number || !(*number > 0)) return KeyProblem{"a number > 0", {}};
                         time.own[step_name] = *number;
                         return std::nullopt;
                       },
                       [](const TimeOptions& time) -> KeyValue { return toy_step(time); }};
  return {.name = "toy",
          .summary = "kick and drift in turn",
          .keys = {key},
          .fixed_step = toy_step,
          .make = [](const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context)
              -> std::unique_ptr<Integrator> { return std::make_unique<ToyIntegrator>(time, gravity, context); }};
}

}  // namespace pergola
