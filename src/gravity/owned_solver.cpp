// A solver that divides particles, for sources and targets on any ranks.
#include <cstddef>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "device/sort.hpp"
#include "domain/owners.hpp"
#include "gravity/wrapped_solver.hpp"

namespace pergola {

namespace {

/// What a solver needs of its sources.
template <class Real>
struct SourceCopies : FieldList {
  ParticleField<Real> x{*this, "x"}, y{*this, "y"}, z{*this, "z"}, mass{*this, "mass"};
  ParticleField<std::uint8_t> species{*this, "species"};
  ParticleField<std::uint64_t> identity{*this, "identity"};

  using FieldList::FieldList;

  /// A rank without particles may have no arrays: `with_species`, `with_id` are the same on all.
  void take(const Sources<Real>& from, bool with_species, bool with_id) {
    species.set_used(with_species), identity.set_used(with_id);
    resize(from.count);
    const auto copy = [&](auto& to, const auto* values) {
      if (to.used() && count() > 0)
        device().memory().copy(to.data(), values, static_cast<std::size_t>(count()) * to.value_bytes());
    };
    copy(x, from.x), copy(y, from.y), copy(z, from.z), copy(mass, from.mass);
    copy(species, from.species), copy(identity, from.id);
  }
  Sources<Real> sources(const Sources<Real>& as, const std::uint64_t* place) const {
    Sources<Real> s;
    s.count = count();
    s.x = x.data(), s.y = y.data(), s.z = z.data(), s.mass = mass.data();
    s.species = species.used() ? species.data() : nullptr;
    s.id = identity.used() ? identity.data() : nullptr;
    s.mass_quantum = as.mass_quantum, s.moment = as.moment, s.longest_step = as.longest_step;
    s.place = place;
    return s;
  }
};

/// Before the solver is prepared the owners get copies of the sources. All particles of an owner answer, and the
/// answers of those that were asked for go back.
template <class Real>
class OwnedSolver final : public Solver<Real> {
 public:
  OwnedSolver(std::shared_ptr<Solver<Real>> dividing, const Device& device, std::shared_ptr<Communicator> ranks)
      : dividing_(std::move(dividing)), device_(device), ranks_(std::move(ranks)) {}

  const SolverInfo& info() const override { return dividing_->info(); }
  void prepare(const Sources<Real>& given) override;
  void evaluate(const Targets& targets, unsigned want, const Forces<Real>& forces) override;
  NeighbourLists neighbour_lists(const Targets& targets, double radius) override {
    return dividing_->neighbour_lists(targets, radius);
  }
  void give_back_memory() override { dividing_->give_back_memory(); }
  AnySolver& plain() override;
  void set_softening(const Softening& softening) override { dividing_->set_softening(softening); }
  void set_clock(StageClock* clock) override { dividing_->set_clock(clock); }
  double resolution() const override { return dividing_->resolution(); }
  std::int64_t outside() override { return dividing_->outside(); }
  std::vector<std::string> choices() const override { return dividing_->choices(); }
  std::string remark() const override { return dividing_->remark(); }
  std::int64_t device_bytes(std::int64_t n) const override {
    return dividing_->device_bytes(n) + n * copied_bytes<Real>;
  }

 private:
  void pick(const Targets& targets, const Real* values, Real* to) const;

  std::shared_ptr<Solver<Real>> dividing_;
  Device device_;
  std::shared_ptr<Communicator> ranks_;
  std::unique_ptr<OwnedSolver> plain_;
  std::int64_t given_ = 0, total_ = 0;  // sources of this rank, and of all
  SourceCopies<Real> copies_{device_};
  Owners owners_{copies_, ranks_, true};
};

template <class Real>
void OwnedSolver<Real>::prepare(const Sources<Real>& given) {
  std::int64_t sums[3] = {given.count, given.species ? 1 : 0, given.id ? 1 : 0};
  ranks_->all_reduce(sums, 3, Reduction::sum);
  given_ = given.count, total_ = sums[0];
  owners_.take_given();
  on_all(*ranks_, [&] { copies_.take(given, sums[1] > 0, sums[2] > 0); });
  owners_.settle(dividing_->divide(copies_.sources(given, nullptr), nullptr));
  dividing_->prepare(copies_.sources(given, owners_.places()));
}

template <class Real>
void OwnedSolver<Real>::evaluate(const Targets& targets, unsigned want, const Forces<Real>& forces) {
  if (total_ == 0) return;
  const std::int64_t n = copies_.count();
  Buffer<Real> answers[4], back;
  Forces<Real> here;
  on_all(*ranks_, [&] {
    if (want & want_acceleration)
      for (int axis = 0; axis < 3; ++axis) answers[axis] = Buffer<Real>(device_, n);
    if (want & want_potential) answers[3] = Buffer<Real>(device_, n);
    back = Buffer<Real>(device_, given_);
  });
  here.ax = answers[0].data(), here.ay = answers[1].data(), here.az = answers[2].data();
  here.potential = answers[3].data();
  dividing_->evaluate({nullptr, n, n, 0}, want, here);
  const auto give_back = [&](const Buffer<Real>& values, Real* to) {
    owners_.carry_back(reinterpret_cast<const std::byte*>(values.data()), reinterpret_cast<std::byte*>(back.data()),
                       sizeof(Real));
    pick(targets, back.data(), to);
  };
  if (want & want_acceleration)
    give_back(answers[0], forces.ax), give_back(answers[1], forces.ay), give_back(answers[2], forces.az);
  if (want & want_potential) give_back(answers[3], forces.potential);
}

/// Values by source, for the targets.
template <class Real>
void OwnedSolver<Real>::pick(const Targets& targets, const Real* values, Real* to) const {
  if (targets.count == 0) return;
  if (!targets.index)
    return device_.memory().copy(to, values + targets.first, static_cast<std::size_t>(targets.count) * sizeof(Real));
  std::vector<std::int64_t> index(static_cast<std::size_t>(targets.count));
  device_.memory().to_host(index.data(), targets.index, index.size() * sizeof index[0]);
  const Buffer<std::uint32_t> order(device_, std::vector<std::uint32_t>(index.begin(), index.end()));
  permute(device_, targets.count, order.data(), values, to);
  device_.synchronize();
}

template <class Real>
AnySolver& OwnedSolver<Real>::plain() {
  AnySolver& inner = dividing_->plain();
  if (&inner == dividing_.get()) return *this;
  if (!plain_)
    plain_ = std::make_unique<OwnedSolver>(std::shared_ptr<Solver<Real>>(dividing_, &static_cast<Solver<Real>&>(inner)),
                                           device_, ranks_);
  return *plain_;
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> bring_to_owners(std::shared_ptr<Solver<Real>> dividing, const Device& device,
                                              std::shared_ptr<Communicator> ranks) {
  return std::make_unique<OwnedSolver<Real>>(std::move(dividing), device, std::move(ranks));
}
template std::unique_ptr<Solver<float>> bring_to_owners(std::shared_ptr<Solver<float>>, const Device&,
                                                        std::shared_ptr<Communicator>);
template std::unique_ptr<Solver<double>> bring_to_owners(std::shared_ptr<Solver<double>>, const Device&,
                                                         std::shared_ptr<Communicator>);

}  // namespace pergola
