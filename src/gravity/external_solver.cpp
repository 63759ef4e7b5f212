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

template <class Real>
class ExternalSolver final : public Solver<Real> {
 public:
  ExternalSolver(std::unique_ptr<Solver<Real>> inner, const SolverOptions& options, const Device& device)
      : inner_(std::move(inner)), info_(inner_->info()), device_(device), laws_(device, laws_of<Real>(options)) {
    info_.jerk = false;
  }

  const SolverInfo& info() const override { return info_; }
  void prepare(const Sources<Real>& sources) override { take(sources, false); }
  void update(const Sources<Real>& sources) override { take(sources, true); }
  void save(StateBlocks& blocks) override { inner_->save(blocks); }
  bool restore(const StateBlocks& blocks, std::int64_t count) override { return inner_->restore(blocks, count); }
  void evaluate(const Targets& targets, unsigned want, const Forces<Real>& forces) override;
  NeighbourLists neighbour_lists(const Targets& targets, double radius) override {
    return inner_->neighbour_lists(targets, radius);
  }
  std::int64_t device_bytes(std::int64_t n) const override {
    return inner_->device_bytes(n) + static_cast<std::int64_t>(laws_.bytes());
  }
  AnySolver& plain() override { return inner_->plain(); }
  void set_clock(StageClock* clock) override {
    inner_->set_clock(clock);
    clock_ = clock;
  }
  double resolution() const override { return inner_->resolution(); }
  std::int64_t order_bytes(std::int64_t n) const override { return inner_->order_bytes(n); }
  void find_order(const Sources<Real>& sources, std::uint32_t* order, void* work) override {
    inner_->find_order(sources, order, work);
  }
  std::int64_t outside() override { return inner_->outside(); }
  std::string remark() const override { return inner_->remark(); }

 private:
  void take(const Sources<Real>& sources, bool moved) {
    if (sources.ax)
      throw Error(ErrorKind::input,
                  "gravity.external: expected sources at one time, found some that are to be "
                  "predicted; external potentials give no jerk");
    if (moved)
      inner_->update(sources);
    else
      inner_->prepare(sources);
    sources_ = sources;
  }

  std::unique_ptr<Solver<Real>> inner_;
  SolverInfo info_;
  Device device_;
  Buffer<physics::ExternalLaw<Real>> laws_;
  Sources<Real> sources_;
  StageClock* clock_ = nullptr;
};

template <class Real>
void ExternalSolver<Real>::evaluate(const Targets& targets, unsigned want, const Forces<Real>& forces) {
  if (want & want_jerk) throw Error(ErrorKind::input, "gravity.external: external potentials give no jerk");
  inner_->evaluate(targets, want, forces);
  if (clock_) clock_->begin("external");
  AddExternal<Real> body{laws_.data(), laws_.size(), sources_.x, sources_.y, sources_.z, targets, {}};
  if (want & want_acceleration) body.forces.ax = forces.ax, body.forces.ay = forces.ay, body.forces.az = forces.az;
  if (want & want_potential) body.forces.potential = forces.potential;
  if (device_.is_cuda()) {
    if constexpr (cuda_built) return add_external_cuda(device_, body);
  }
  parallel_chunks(device_.threads(), targets.count, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) body(t);
  });
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> add_external_potentials(std::unique_ptr<Solver<Real>> inner, const SolverOptions& options,
                                                      const Device& device) {
  return std::make_unique<ExternalSolver<Real>>(std::move(inner), options, device);
}
template std::unique_ptr<Solver<float>> add_external_potentials(std::unique_ptr<Solver<float>> inner,
                                                                const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> add_external_potentials(std::unique_ptr<Solver<double>> inner,
                                                                 const SolverOptions& options, const Device& device);

}  // namespace pergola
