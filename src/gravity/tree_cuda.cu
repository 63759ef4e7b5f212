#include <fmt/core.h>

#include <limits>
#include <vector>

#include "device/launch.cuh"
#include "device/stage_clock.hpp"
#include "gravity/for_precision.hpp"
#include "gravity/tree.hpp"
#include "tree/walk_cuda.cuh"

namespace pergola {

namespace {

template <class T>
void reserve(const Device& device, std::int64_t size, Buffer<T>& buffer) {
  if (buffer.size() < size) buffer = Buffer<T>(device, size + size / 16);
}

template <class T>
std::vector<T> on_host(const Device& device, const T* values, std::int64_t count) {
  std::vector<T> host(static_cast<std::size_t>(values ? count : 0));
  if (!host.empty()) device.memory().to_host(host.data(), values, host.size() * sizeof(T));
  return host;
}

/// The tree solver on the device. Lists that the walk leaves from level to level have room for a usual system; where
/// they overflow, the walk is done again with more.
template <Precision precision>
class TreeCuda final : public Solver {
 public:
  using State = typename TreeNumbers<precision>::State;
  using Pair = typename TreeNumbers<precision>::Pair;

  TreeCuda(const SolverOptions& options, const Device& device)
      : options_(options), device_(device), opening_(tree_opening(options.tree)), tree_(device) {
    if (options.softening.kernel == SofteningKernel::spline)
      throw Error(ErrorKind::input,
                  "gravity.softening_kernel: expected \"plummer\" for gravity.solver = \"tree\" on CUDA; set it, or "
                  "run.device = \"cpu\"");
    device.make_current();
    blocks_ = tree::walk_blocks<Pair>(opening_.order);
  }

  const SolverInfo& info() const override { return info_; }
  void set_clock(StageClock* clock) override { clock_ = clock ? clock : &silent_; }
  void prepare(const Sources<float>& sources) override { take(sources); }
  void prepare(const Sources<double>& sources) override { take(sources); }
  void evaluate(const Targets& targets, unsigned want, const Forces<float>& forces) override {
    answer(targets, want, forces);
  }
  void evaluate(const Targets& targets, unsigned want, const Forces<double>& forces) override {
    answer(targets, want, forces);
  }
  NeighbourLists neighbour_lists(const Targets&, double) override {
    throw Error(ErrorKind::input, "tree: gives no neighbour lists; use the direct solver");
  }
  std::int64_t device_bytes(std::int64_t n) const override {
    const auto pair = static_cast<std::int64_t>(sizeof(Pair));
    // Keys and places twice, positions and masses in the tree's order; a fifth as many cells; lists; rooms of the
    // warps.
    const std::int64_t particle = 2 * (8 + 4) + 4 * 8 + 4 * pair + 2 * 4 * lists_per_particle;
    const std::int64_t cell = 64 + 56 + 32 + 24 + 2 * tree::multipole_stride(opening_.order) * pair;
    return n * particle + n / 5 * cell + std::int64_t{blocks_} * tree::walk_warps * 4 * (list_room_ + tree::stack_room);
  }

  // The steps of prepare() and evaluate(). Public, for nvcc allows no device lambda in a private function.
  template <class Real>
  void take(const Sources<Real>& from);
  template <class Real>
  void answer(const Targets& targets, unsigned want, const Forces<Real>& forces);
  void mark_active(const Targets& targets);
  tree::WalkStatus walk(const tree::WalkOutput& out);

 private:
  static constexpr std::int64_t lists_per_particle = 6;
  void start_status();

  SolverInfo info_{"tree", false, false, false, true, true, false, false};
  SolverOptions options_;
  Device device_;
  StageClock silent_;
  StageClock* clock_ = &silent_;
  tree::Opening opening_;
  tree::OctreeCuda<Pair> tree_;
  Sources<State> sources_;
  int blocks_ = 0;
  std::uint32_t list_room_ = 4096;
  Buffer<Pair> local_;
  Buffer<std::int64_t> list_begin_, slot_;
  Buffer<std::uint32_t> list_length_, lists_[2], scratch_;
  Buffer<std::uint8_t> active_;
  Buffer<tree::WalkStatus> status_;
};

template <Precision precision>
template <class Real>
void TreeCuda<precision>::take(const Sources<Real>& from) {
  if constexpr (!std::is_same_v<Real, State>) {
    throw Error(ErrorKind::input, fmt::format("tree: expected sources in {} precision for precision \"{}\"",
                                              sizeof(State) == 4 ? "single" : "double", precision_name(precision)));
  } else {
    check_tree_sources(from.count, from.ax != nullptr);
    sources_ = from;
    clock_->begin("tree");
    tree_.build(tree::Points<Real>{from.count, from.x, from.y, from.z, from.mass, from.species},
                options_.softening.epsilon.data(), options_.softening.uniform(), opening_.order,
                opening_.tolerance > 0);
    clock_->end();
  }
}

/// Slots and the cells that hold a target, for a part of the sources.
template <Precision precision>
void TreeCuda<precision>::mark_active(const Targets& targets) {
  reserve(device_, tree_.count(), slot_);
  reserve(device_, tree_.cells(), active_);
  std::int64_t* const slot = slot_.data();
  std::uint8_t* const active = active_.data();
  cuda::launch("tree slots", tree_.count(), device_.stream(), [=] __device__(std::int64_t i) { slot[i] = -1; });
  cuda::launch("tree slots", targets.count, device_.stream(),
               [=] __device__(std::int64_t t) { slot[targets.index ? targets.index[t] : targets.first + t] = t; });
  const auto* const link = tree_.view().link;
  const std::uint32_t* const order = tree_.order();
  for (int level = tree_.level_count(); level-- > 0;) {
    const std::uint32_t begin = tree_.levels().begin[level], end = tree_.levels().begin[level + 1];
    cuda::launch("tree active", end - begin, device_.stream(), [=] __device__(std::int64_t k) {
      const tree::CellLink l = link[begin + k];
      std::uint8_t any = 0;
      for (std::uint32_t c = 0; c < l.children; ++c) any |= active[l.child + c];
      for (std::uint32_t i = 0; l.children == 0 && i < l.count; ++i) any |= slot[order[l.first + i]] >= 0;
      active[begin + k] = any;
    });
  }
}

template <Precision precision>
void TreeCuda<precision>::start_status() {
  reserve(device_, 1, status_);
  status_.zero();
  cuda::check(
      cudaMemsetAsync(&status_.data()->failed, 0xff, sizeof(unsigned long long), cuda::handle(device_.stream())),
      "tree walk");
}

template <Precision precision>
tree::WalkStatus TreeCuda<precision>::walk(const tree::WalkOutput& out) {
  const std::int64_t cells = tree_.cells();
  reserve(device_, cells * tree::multipole_stride(opening_.order), local_);
  reserve(device_, cells, list_begin_), reserve(device_, cells, list_length_);
  for (auto& lists : lists_) reserve(device_, lists_per_particle * tree_.count() + (1 << 16), lists);
  while (true) {
    reserve(device_, std::int64_t{blocks_} * tree::walk_warps * (list_room_ + tree::stack_room), scratch_);
    start_status();
    tree::WalkJob<Pair> job;
    job.tree = tree_.view();
    job.opening = opening_;
    job.parent = tree_.parent();
    job.local = local_.data();
    job.scratch = scratch_.data();
    job.list_room = list_room_;
    job.status = status_.data();
    job.out = out;
    for (int level = 0; level < tree_.level_count(); ++level) {
      job.to_pool = level % 2;
      auto &to = lists_[level % 2], &from = lists_[(level + 1) % 2];
      job.to = {to.data(), to.size(), list_begin_.data(), list_length_.data()};
      job.from = {from.data(), from.size(), list_begin_.data(), list_length_.data()};
      cuda::check(cudaMemsetAsync(&status_.data()->used[level % 2], 0, sizeof(unsigned long long),
                                  cuda::handle(device_.stream())),
                  "tree walk");
      tree::walk_level(job, level, tree_.levels().begin[level], tree_.levels().begin[level + 1], blocks_,
                       device_.stream());
    }
    tree::WalkStatus status;
    status_.to_host(&status);
    const bool fits = static_cast<std::int64_t>(status.most) <= std::min(lists_[0].size(), lists_[1].size());
    if (fits && status.longest <= list_room_) return status;
    if (!fits)
      for (auto& lists : lists_) reserve(device_, static_cast<std::int64_t>(status.most) * 3 / 2, lists);
    if (status.longest > list_room_) list_room_ = status.longest * 2;
  }
}

template <Precision precision>
template <class Real>
void TreeCuda<precision>::answer(const Targets& targets, unsigned want, const Forces<Real>& forces) {
  if constexpr (!std::is_same_v<Real, State>) {
    throw Error(ErrorKind::input, fmt::format("tree: expected forces in {} precision for precision \"{}\"",
                                              sizeof(State) == 4 ? "single" : "double", precision_name(precision)));
  } else {
    if (targets.count == 0) return;
    check_tree_wants(want);
    device_.make_current();
    const bool all = !targets.index && targets.count == tree_.count();
    if (!all) mark_active(targets);
    tree::WalkOutput out;
    if (want & want_acceleration) out.ax = forces.ax, out.ay = forces.ay, out.az = forces.az;
    if (want & want_potential) out.potential = forces.potential;
    out.doubles = sizeof(State) == 8;
    out.per_psi = options_.gravitational_constant * tree_.frame().mass / tree_.frame().side;
    out.per_gradient = out.per_psi / tree_.frame().side;
    out.order = tree_.order();
    out.slot = all ? nullptr : slot_.data();
    out.active = all ? nullptr : active_.data();
    clock_->begin("walk");
    const auto status = walk(out);
    clock_->end();
    if (status.failed == std::numeric_limits<unsigned long long>::max()) return;
    const auto x = on_host(device_, sources_.x, sources_.count), y = on_host(device_, sources_.y, sources_.count),
               z = on_host(device_, sources_.z, sources_.count);
    const auto species = on_host(device_, sources_.species, sources_.count);
    tree_failure(static_cast<std::int64_t>(status.failed), sources_.count, x.data(), y.data(), z.data(),
                 species.empty() ? nullptr : species.data(), options_);
  }
}

}  // namespace

std::unique_ptr<Solver> make_tree_cuda(const SolverOptions& options, const Device& device) {
  return make_for_precision<Solver, TreeCuda>(options, device);
}

}  // namespace pergola
