#pragma once
// Solvers around another one: two add something to its answers, external potentials and forces of the user; one gives
// it the particles of all ranks.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "device/buffer.hpp"
#include "gravity/solver.hpp"

namespace pergola {

/// Adds something to the answers of the solver inside, and forwards all other calls to it.
template <class Real>
class WrappedSolver : public Solver<Real> {
 public:
  explicit WrappedSolver(std::unique_ptr<Solver<Real>> inner) : inner_(std::move(inner)) {}

  const SolverInfo& info() const override { return inner_->info(); }
  void prepare(const Sources<Real>& sources) override {
    inner_->prepare(sources);
    sources_ = sources;
  }
  bool update(const Sources<Real>& sources) override {
    sources_ = sources;
    return inner_->update(sources);
  }
  Division divide(const Sources<Real>& sources, const tree::KeptTree* kept) override {
    return inner_->divide(sources, kept);
  }
  bool divides() const override { return inner_->divides(); }
  void set_softening(const Softening& softening) override { inner_->set_softening(softening); }
  void put_aside(tree::KeptTree& to) override { inner_->put_aside(to); }
  bool take_up(const tree::KeptTree& from) override { return inner_->take_up(from); }
  void give_back_memory() override { inner_->give_back_memory(); }
  void evaluate(const Targets& targets, unsigned want, const Forces<Real>& forces) override {
    inner_->evaluate(targets, want, forces);
    add(targets, want, forces);
  }
  void find_long_range(const Sources<Real>& sources, Real* const (&into)[3]) override {
    inner_->find_long_range(sources, into);
  }
  NeighbourLists neighbour_lists(const Targets& targets, double radius) override {
    return inner_->neighbour_lists(targets, radius);
  }
  std::int64_t device_bytes(std::int64_t n) const override { return inner_->device_bytes(n); }
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
  std::vector<std::string> choices() const override { return inner_->choices(); }
  std::string remark() const override { return inner_->remark(); }

 protected:
  virtual void add(const Targets& targets, unsigned want, const Forces<Real>& forces) = 0;
  const Sources<Real>& sources() const { return sources_; }
  StageClock* clock() const { return clock_; }

 private:
  std::unique_ptr<Solver<Real>> inner_;
  Sources<Real> sources_;
  StageClock* clock_ = nullptr;
};

/// Adds the external potentials of the options to the answers of `inner`, at the targets' places.
template <class Real>
std::unique_ptr<Solver<Real>> add_external_potentials(std::unique_ptr<Solver<Real>> inner, const SolverOptions& options,
                                                      const Device& device);
/// Their numbers, on the device.
template <class Real>
Buffer<physics::ExternalLaw<Real>> external_laws(const SolverOptions& options, const Device& device);

/// What is done for one target; looped over on the CPU (gravity/external_solver.cpp) and on CUDA.
template <class Real>
struct AddExternal {
  const physics::ExternalLaw<Real>* laws = nullptr;  // on the device
  std::int64_t law_count = 0;
  Sources<Real> sources;
  Targets targets;
  Forces<Real> forces;  // null: not wanted

  PERGOLA_HD void operator()(std::int64_t t) const {
    const std::int64_t i = targets.index ? targets.index[t] : targets.first + t;
    Vec3<double> x, v;
    predict_source(sources, i, sources.now, x, v);
    const Vec3<Real> place{static_cast<Real>(x.x), static_cast<Real>(x.y), static_cast<Real>(x.z)};
    if (forces.jx) {
      const Vec3<Real> speed{static_cast<Real>(v.x), static_cast<Real>(v.y), static_cast<Real>(v.z)};
      const auto sum = physics::external_motion(laws, law_count, place, speed);
      if (forces.ax) forces.ax[t] += sum.x.value, forces.ay[t] += sum.y.value, forces.az[t] += sum.z.value;
      forces.jx[t] += sum.x.rate, forces.jy[t] += sum.y.rate, forces.jz[t] += sum.z.rate;
    } else if (forces.ax) {
      Vec3<Real> sum{Real(0), Real(0), Real(0)};
      for (std::int64_t k = 0; k < law_count; ++k) sum = sum + physics::external_field(laws[k], place).acceleration;
      forces.ax[t] += sum.x, forces.ay[t] += sum.y, forces.az[t] += sum.z;
    }
    if (forces.potential) {
      Real sum = Real(0);
      for (std::int64_t k = 0; k < law_count; ++k) sum = sum + physics::external_field(laws[k], place).potential;
      forces.potential[t] += sum;
    }
  }
};

/// Present where cuda_built is true.
template <class Real>
void add_external_cuda(const Device& device, const AddExternal<Real>& body);

/// Calls the user's forces of the options after `inner` has answered. Of forces without jerks these are differences of
/// two more calls, a little before and a little after on the way of all particles; on CPUs only.
template <class Real>
std::unique_ptr<Solver<Real>> add_user_forces(std::unique_ptr<Solver<Real>> inner, const SolverOptions& options,
                                              const Device& device);

/// A solver for particles on any ranks, from one that divides them. Their owners get copies of what it needs, and send
/// its answers back.
template <class Real>
std::unique_ptr<Solver<Real>> bring_to_owners(std::shared_ptr<Solver<Real>> dividing, const Device& device,
                                              std::shared_ptr<Communicator> ranks);

/// What that takes for each particle, beside the solver inside: copies and answers, and the ways.
template <class Real>
inline constexpr std::int64_t copied_bytes = 9 * sizeof(Real) + 3 * sizeof(std::uint64_t);

/// A solver for ranks of which each keeps its own particles, from one that needs all of them.
template <class Real>
std::unique_ptr<Solver<Real>> gather_sources(std::unique_ptr<Solver<Real>> whole, const Device& device,
                                             std::shared_ptr<Communicator> ranks);

}  // namespace pergola
