#include "gravity/external_solver.hpp"

#include "device/buffer.hpp"
#include "device/parallel.hpp"

namespace pergola {

namespace {

template <class Real>
std::vector<physics::ExternalLaw<Real>> laws_of(const SolverOptions& options) {
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
  return laws;
}

class ExternalSolver final : public Solver {
 public:
  ExternalSolver(std::unique_ptr<Solver> inner, const SolverOptions& options, const Device& device)
      : inner_(std::move(inner)),
        info_(inner_->info()),
        device_(device),
        float_laws_(device, laws_of<float>(options)),
        double_laws_(device, laws_of<double>(options)) {
    info_.jerk = false;
  }

  const SolverInfo& info() const override { return info_; }
  void prepare(const Sources<float>& sources) override { take(sources, float_sources_, false); }
  void prepare(const Sources<double>& sources) override { take(sources, double_sources_, false); }
  void update(const Sources<float>& sources) override { take(sources, float_sources_, true); }
  void update(const Sources<double>& sources) override { take(sources, double_sources_, true); }
  void save(StateBlocks& blocks) override { inner_->save(blocks); }
  bool restore(const StateBlocks& blocks, std::int64_t count) override { return inner_->restore(blocks, count); }
  void evaluate(const Targets& targets, unsigned want, const Forces<float>& forces) override {
    add(targets, want, forces, float_sources_, float_laws_);
  }
  void evaluate(const Targets& targets, unsigned want, const Forces<double>& forces) override {
    add(targets, want, forces, double_sources_, double_laws_);
  }
  NeighbourLists neighbour_lists(const Targets& targets, double radius) override {
    return inner_->neighbour_lists(targets, radius);
  }
  std::int64_t device_bytes(std::int64_t n) const override {
    const std::size_t laws = float_laws_.bytes() + double_laws_.bytes();
    return inner_->device_bytes(n) + static_cast<std::int64_t>(laws);
  }
  Solver& plain() override { return inner_->plain(); }
  void set_clock(StageClock* clock) override {
    inner_->set_clock(clock);
    clock_ = clock;
  }
  double resolution() const override { return inner_->resolution(); }
  std::int64_t order_bytes(std::int64_t n) const override { return inner_->order_bytes(n); }
  void find_order(const Sources<float>& sources, std::uint32_t* order, void* work) override {
    inner_->find_order(sources, order, work);
  }
  void find_order(const Sources<double>& sources, std::uint32_t* order, void* work) override {
    inner_->find_order(sources, order, work);
  }
  std::int64_t outside() override { return inner_->outside(); }
  std::string remark() const override { return inner_->remark(); }

 private:
  template <class Real>
  void take(const Sources<Real>& sources, Sources<Real>& kept, bool moved) {
    if (sources.ax)
      throw Error(ErrorKind::input,
                  "gravity.external: expected sources at one time, found some that are to be "
                  "predicted; external potentials give no jerk");
    if (moved)
      inner_->update(sources);
    else
      inner_->prepare(sources);
    kept = sources;
  }

  template <class Real>
  void add(const Targets& targets, unsigned want, const Forces<Real>& forces, const Sources<Real>& sources,
           const Buffer<physics::ExternalLaw<Real>>& laws) {
    if (want & want_jerk) throw Error(ErrorKind::input, "gravity.external: external potentials give no jerk");
    inner_->evaluate(targets, want, forces);
    if (clock_) clock_->begin("external");
    AddExternal<Real> body{laws.data(), laws.size(), sources.x, sources.y, sources.z, targets, {}};
    if (want & want_acceleration) body.forces.ax = forces.ax, body.forces.ay = forces.ay, body.forces.az = forces.az;
    if (want & want_potential) body.forces.potential = forces.potential;
    if (device_.is_cuda()) {
      if constexpr (cuda_built) return add_external_cuda(device_, body);
    }
    parallel_chunks(device_.threads(), targets.count, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) body(t);
    });
  }

  std::unique_ptr<Solver> inner_;
  SolverInfo info_;
  Device device_;
  Buffer<physics::ExternalLaw<float>> float_laws_;
  Buffer<physics::ExternalLaw<double>> double_laws_;
  Sources<float> float_sources_;
  Sources<double> double_sources_;
  StageClock* clock_ = nullptr;
};

}  // namespace

std::unique_ptr<Solver> add_external_potentials(std::unique_ptr<Solver> inner, const SolverOptions& options,
                                                const Device& device) {
  return std::make_unique<ExternalSolver>(std::move(inner), options, device);
}

}  // namespace pergola
