// A solver that needs all particles, on ranks that keep their own.
#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <vector>

#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "gravity/wrapped_solver.hpp"
#include "tree/kept_tree.hpp"

namespace pergola {

namespace {

/// Calls use(array) for all arrays of the sources, always in this order.
template <class Real, class Use>
void each_array(Sources<Real>& s, const Use& use) {
  for (const Real** array : {&s.x, &s.y, &s.z, &s.vx, &s.vy, &s.vz, &s.mass, &s.ax, &s.ay, &s.az, &s.jx, &s.jy, &s.jz,
                             &s.sx, &s.sy, &s.sz, &s.long_range[0], &s.long_range[1], &s.long_range[2]})
    use(*array);
  use(s.species), use(s.tick), use(s.time), use(s.id);
}

/// Before the solver is prepared each rank gets the sources of all ranks, in the order of ranks, which is that of the
/// input; then it answers this rank's targets. Sources and numbers of targets are those of one rank, so the bits are.
/// What one rank throws all throw.
template <class Real>
class GatheredSolver final : public Solver<Real> {
 public:
  GatheredSolver(std::shared_ptr<Solver<Real>> whole, const Device& device, std::shared_ptr<Communicator> ranks)
      : whole_(std::move(whole)), device_(device), ranks_(std::move(ranks)) {}

  const SolverInfo& info() const override { return whole_->info(); }
  void prepare(const Sources<Real>& own) override {
    gather(own);
    on_all(*ranks_, [&] { whole_->prepare(all_); });
  }
  bool update(const Sources<Real>& own) override {
    gather(own);
    bool serves = false;
    on_all(*ranks_, [&] { serves = whole_->update(all_); });
    return serves;
  }
  void evaluate(const Targets& own, unsigned want, const Forces<Real>& forces) override;
  void find_long_range(const Sources<Real>& own, Real* const (&into)[3]) override;
  NeighbourLists neighbour_lists(const Targets&, double) override {
    throw Error(ErrorKind::input, info().name + ": gives no neighbour lists on several ranks; use one");
  }
  void put_aside(tree::KeptTree& to) override;
  bool take_up(const tree::KeptTree& from) override;
  void give_back_memory() override { whole_->give_back_memory(); }
  AnySolver& plain() override;
  void set_softening(const Softening& softening) override { whole_->set_softening(softening); }
  void set_clock(StageClock* clock) override { whole_->set_clock(clock); }
  double resolution() const override { return whole_->resolution(); }
  std::int64_t outside() override { return whole_->outside(); }
  std::vector<std::string> choices() const override { return whole_->choices(); }
  std::string remark() const override { return whole_->remark(); }
  std::int64_t device_bytes(std::int64_t n) const override {
    const std::int64_t numbers = info().jerk ? 13 : 7,
                       others = sizeof(std::uint8_t) + (info().jerk ? sizeof(std::int64_t) : 0);
    const std::int64_t all = n * ranks_->size();
    return whole_->device_bytes(all) + all * (numbers * std::int64_t{sizeof(Real)} + others);
  }

 private:
  void gather(const Sources<Real>& own);
  template <class T>
  const T* gathered(const T* own, std::size_t array);

  std::shared_ptr<Solver<Real>> whole_;
  Device device_;
  std::shared_ptr<Communicator> ranks_;
  std::unique_ptr<GatheredSolver> plain_;
  FieldList particles_{device_};  // all, with what the solver keeps of them
  tree::KeptTree kept_{particles_};
  std::vector<std::int64_t> counts_;  // sources by rank
  Stretch own_;                       // this rank's among all
  Sources<Real> all_;
  std::vector<Buffer<std::byte>> memory_;  // of the arrays of all_
  Buffer<std::int64_t> index_;
};

/// A rank without particles may have no arrays.
template <class Real>
void GatheredSolver<Real>::gather(const Sources<Real>& own) {
  counts_ = gather_values(*ranks_, own.count);
  const auto here = counts_.begin() + ranks_->rank();
  own_ = {std::reduce(counts_.begin(), here), own.count};
  all_ = own;
  all_.count = std::reduce(counts_.begin(), counts_.end());
  std::vector<std::int64_t> given;
  each_array(all_, [&](const auto* array) { given.push_back(array ? 1 : 0); });
  ranks_->all_reduce(given.data(), given.size(), Reduction::maximum);
  memory_.resize(given.size());
  std::size_t k = 0;
  each_array(all_, [&](const auto*& array) {
    if (given[k]) array = gathered(array, k);
    ++k;
  });
}

template <class Real>
template <class T>
const T* GatheredSolver<Real>::gathered(const T* own, std::size_t array) {
  std::vector<T> all(static_cast<std::size_t>(all_.count));
  Buffer<std::byte>& memory = memory_[array];
  on_all(*ranks_, [&] {
    const auto bytes = all_.count * std::int64_t{sizeof(T)};
    if (memory.size() != bytes) memory = Buffer<std::byte>(device_, bytes);
    if (own_.count > 0)
      device_.memory().to_host(all.data() + own_.first, own, static_cast<std::size_t>(own_.count) * sizeof(T));
  });
  std::vector<std::size_t> bytes;
  for (const std::int64_t count : counts_) bytes.push_back(static_cast<std::size_t>(count) * sizeof(T));
  ranks_->all_gather_in_place(all.data(), bytes);
  memory.from_host(reinterpret_cast<const std::byte*>(all.data()));
  return reinterpret_cast<const T*>(memory.data());
}

template <class Real>
void GatheredSolver<Real>::evaluate(const Targets& own, unsigned want, const Forces<Real>& forces) {
  const std::vector<std::int64_t> asked = gather_values(*ranks_, own.count);
  Targets targets;
  targets.count = own.count;
  targets.total = std::reduce(asked.begin(), asked.end());
  targets.first = std::reduce(asked.begin(), asked.begin() + ranks_->rank());
  std::array<std::int64_t, 2> met{-1, -1};  // coincident particles that this rank has found
  on_all(*ranks_, [&] {
    if (targets.total < all_.count) {
      std::vector<std::int64_t> places(static_cast<std::size_t>(own.count));
      if (own.index && own.count > 0)
        device_.memory().to_host(places.data(), own.index, places.size() * sizeof(std::int64_t));
      else
        std::iota(places.begin(), places.end(), own.first);
      for (std::int64_t& place : places) place += own_.first;
      index_ = Buffer<std::int64_t>(device_, places);
      targets.index = index_.data();
    }
    try {
      if (own.count > 0) whole_->evaluate(targets, want, forces);
    } catch (const CoincidentParticles& found) {
      met = {found.first(), found.second()};
    }
  });
  for (const auto& [first, second] : gather_values(*ranks_, met))
    if (first >= 0) throw CoincidentParticles(first, second, "two particles are in one place");
}

template <class Real>
void GatheredSolver<Real>::find_long_range(const Sources<Real>& own, Real* const (&into)[3]) {
  gather(own);
  Buffer<Real> of_all[3];
  on_all(*ranks_, [&] {
    for (Buffer<Real>& axis : of_all) axis = Buffer<Real>(device_, all_.count);
    whole_->find_long_range(all_, {of_all[0].data(), of_all[1].data(), of_all[2].data()});
  });
  for (std::size_t axis = 0; axis < 3 && own_.count > 0; ++axis)
    device_.memory().copy(into[axis], of_all[axis].data() + own_.first,
                          static_cast<std::size_t>(own_.count) * sizeof(Real));
}

/// Of what the solver keeps of all particles each rank has the fields of its own.
template <class Real>
void GatheredSolver<Real>::put_aside(tree::KeptTree& to) {
  particles_.resize(all_.count);
  kept_.forget();
  on_all(*ranks_, [&] {
    whole_->put_aside(kept_);
    if (!kept_.is_there()) return;
    to.begin(kept_.kind, kept_.has_lower(), kept_.has_accelerations());
    to.take_numbers(kept_);
    tree::each_field(kept_, to, [&](const AnyField& of_all, AnyField& own) {
      const auto bytes = static_cast<std::int64_t>(own.value_bytes());
      if (own_.count > 0)
        device_.memory().copy(own.bytes(), of_all.bytes() + own_.first * bytes,
                              static_cast<std::size_t>(own_.count * bytes));
    });
  });
  kept_.forget();
}

template <class Real>
bool GatheredSolver<Real>::take_up(const tree::KeptTree& from) {
  counts_ = gather_values(*ranks_, from.count());
  const std::int64_t before = std::reduce(counts_.begin(), counts_.begin() + ranks_->rank());
  particles_.resize(std::reduce(counts_.begin(), counts_.end()));
  kept_.begin(from.kind, from.has_lower(), from.has_accelerations());
  kept_.take_numbers(from);
  tree::each_field(from, kept_, [&](const AnyField& own, AnyField& of_all) {
    const std::size_t bytes = own.value_bytes();
    std::vector<std::byte> all(static_cast<std::size_t>(kept_.count()) * bytes);
    const std::size_t here = static_cast<std::size_t>(from.count()) * bytes;
    if (here > 0) device_.memory().to_host(all.data() + static_cast<std::size_t>(before) * bytes, own.bytes(), here);
    std::vector<std::size_t> sizes;
    for (const std::int64_t count : counts_) sizes.push_back(static_cast<std::size_t>(count) * bytes);
    ranks_->all_gather_in_place(all.data(), sizes);
    if (!all.empty()) device_.memory().from_host(of_all.bytes(), all.data(), all.size());
  });
  return whole_->take_up(kept_);
}

template <class Real>
AnySolver& GatheredSolver<Real>::plain() {
  AnySolver& inner = whole_->plain();
  if (&inner == whole_.get()) return *this;
  if (!plain_)
    plain_ = std::make_unique<GatheredSolver>(std::shared_ptr<Solver<Real>>(whole_, &static_cast<Solver<Real>&>(inner)),
                                              device_, ranks_);
  return *plain_;
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> gather_sources(std::unique_ptr<Solver<Real>> whole, const Device& device,
                                             std::shared_ptr<Communicator> ranks) {
  return std::make_unique<GatheredSolver<Real>>(std::move(whole), device, std::move(ranks));
}
template std::unique_ptr<Solver<float>> gather_sources(std::unique_ptr<Solver<float>>, const Device&,
                                                       std::shared_ptr<Communicator>);
template std::unique_ptr<Solver<double>> gather_sources(std::unique_ptr<Solver<double>>, const Device&,
                                                        std::shared_ptr<Communicator>);

}  // namespace pergola
