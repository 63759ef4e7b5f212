#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "device/launch.cuh"
#include "device/stage_clock.hpp"
#include "gravity/solver.hpp"
#include "gravity/source_moves.hpp"
#include "gravity/spread_targets_cuda.cuh"
#include "gravity/tree.hpp"
#include "gravity/tree_targets_cuda.cuh"
#include "tree/spread_memory_cuda.cuh"
#include "tree/spread_octree_cuda.cuh"
#include "tree/tree_domains_cuda.cuh"

namespace pergola {

namespace {

/// The tree alone, in open space, over particles distributed over ranks, on GPUs: the forces of one rank, bit for
/// bit. Particles go to the rank of their cell, the walk there serves them, and its answers go back.
template <Precision precision>
class TreeSpreadCuda final : public Solver<typename TreeNumbers<precision>::State>, public DeviceSourceMoves {
 public:
  using State = typename TreeNumbers<precision>::State;
  using Pair = typename TreeNumbers<precision>::Pair;

  TreeSpreadCuda(const SolverOptions& options, const Device& device, std::shared_ptr<Communicator> ranks)
      : options_(options),
        softening_(options.softening),
        opening_(tree_opening(options.tree, options.softening)),
        device_(device),
        ranks_(std::move(ranks)),
        messages_(std::make_shared<DeviceMessages>(device, ranks_)),
        domains_(messages_, ranks_),
        tree_(device, ranks_),
        targets_(device),
        asking_(messages_) {}

  const SolverInfo& info() const override { return tree_info(); }
  void set_clock(StageClock* clock) override { clock_ = clock ? clock : &silent_; }
  void set_softening(const Softening& softening) override { softening_ = softening; }
  void prepare(const Sources<State>& sources) override { take(sources, false); }
  void update(const Sources<State>& sources) override { take(sources, true); }
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  /// With as many on the other ranks.
  std::int64_t device_bytes(std::int64_t n) const override;

  void save(StateSource& to) override { tree::save_tree(to, tree::tree_kind(device_, false), keep()); }
  bool restore(StateInput& from, std::int64_t count) override;
  void put_aside() override { aside_ = keep(); }
  void take_up() override { take_up_tree(std::exchange(aside_, nullptr)); }
  DeviceRouting* way() override { return total_ > 0 && !again_ ? &domains_.way() : nullptr; }
  void have_come(View<const std::uint32_t> places) override {
    tree_.renumber(places.data());
    domains_.keep_here();
  }
  void have_left(const DeviceRouting& home, View<const std::uint32_t> places) override {
    domains_.keep_elsewhere(home, places.data());
  }
  /// What DistributedOctreeCuda::asking() takes is what TreeTargetsCuda would.
  std::int64_t bytes_for_some(std::int64_t n) const override {
    return domains_.workers_bytes(n) + asking_.bytes(n) + targets_.bytes_for_part(n);
  }
  bool takes_places() const override { return true; }
  void know_places(bool known, const std::uint32_t* places) override { knows_places_ = known, places_ = places; }
  std::byte* lend(std::int64_t bytes) override { return tree_.arena(bytes); }
  void give_back_memory() override {
    tree_.give_back_memory();
    domains_.give_back_memory();
  }
  NeighbourLists neighbour_lists(const Targets&, double) override {
    throw Error(ErrorKind::input, this->info().name + ": gives no neighbour lists; use the direct solver");
  }

 private:
  std::shared_ptr<const tree::KeptTree> keep();
  void take_up_tree(std::shared_ptr<const tree::KeptTree> kept) {
    again_ = std::move(kept);
    walked_ = false;
  }
  tree::TreeSoftening softening() const { return tree_softening(softening_, opening_); }
  /// Of own particles among all.
  std::vector<std::uint32_t> places() { return domains_.bring_places(places_before(*ranks_, domains_.kept())); }
  /// The tree's, which nobody uses between a walk and the next build.
  LentMemory arena() {
    return [this](std::int64_t bytes) { return tree_.arena(bytes); };
  }
  auto masses_of(const tree::Points<State>& kept) {
    return [this, mass = kept.mass](State* own) { domains_.bring_masses(mass, own); };
  }
  void take(const Sources<State>& sources, bool moved);
  bool refresh(const tree::Points<State>& kept);
  bool make_again(const tree::Points<State>& kept, const tree::KeptTree& again);
  bool weighing_pays();
  std::int64_t serve(const tree::ServedCells& cells, unsigned want, const std::array<State*, 4>& answers);

  SolverOptions options_;
  Softening softening_;  // now
  tree::Opening opening_;
  Device device_;
  std::shared_ptr<Communicator> ranks_;
  StageClock silent_;
  StageClock* clock_ = &silent_;
  std::shared_ptr<DeviceMessages> messages_;  // of all ways; the tree has its own
  tree::TreeDomains<State> domains_;
  std::shared_ptr<const tree::KeptTree> aside_, again_;  // again_: not null: the tree is yet to be made of it
  tree::DistributedOctreeCuda<Pair> tree_;
  TreeTargetsCuda<State, Pair> targets_;
  Sources<State> sources_;
  bool with_species_ = false, with_id_ = false;
  bool knows_places_ = false;              // which stand for ids
  const std::uint32_t* places_ = nullptr;  // in the input, by source
  std::int64_t total_ = 0;                 // particles on all ranks
  bool walked_ = false;                    // since the tree was built
  bool weighs_ = false;                    // work is so uneven that domains are cut by it
  std::int64_t times_ = 0;                 // so often particles have come since then
  AskingTargets asking_;
};

template <Precision precision>
void TreeSpreadCuda<precision>::take(const Sources<State>& sources, bool moved) {
  check_tree_sources(sources.count, sources.ax != nullptr);
  device_.make_current();
  sources_ = sources;
  // A rank without particles may have no arrays.
  std::int64_t sums[4] = {sources.count, sources.species && !softening_.uniform() ? 1 : 0, sources.id ? 1 : 0,
                          sources.count != (again_ ? again_->count() : domains_.kept()) ? 1 : 0};
  ranks_->all_reduce(sums, 4, Reduction::sum);
  total_ = sums[0], with_species_ = sums[1] > 0, with_id_ = sums[2] > 0 || knows_places_;
  moved = moved && sums[3] == 0 && (again_ || total_ == tree_.total());
  check_tree_sources(total_, false);
  if (total_ == 0) return;
  clock_->begin("tree");
  const tree::Points<State> kept{sources.count, sources.x,       sources.y,  sources.z,
                                 sources.mass,  sources.species, sources.id, {}};
  if (!moved || !refresh(kept)) {
    again_ = nullptr;
    if (std::exchange(walked_, false) && weighing_pays()) {
      tree_.find_weights(times_, domains_.own_weights());
      domains_.give_back_weights();
    }
    times_ = 1;
    clock_->begin("to trees");
    tree::TopTree top = domains_.cut(kept, softening(), total_, arena());
    std::uint64_t* const ids = with_id_ ? tree_.room_for_ids(domains_.own()) : nullptr;
    const auto here = domains_.bring(kept, with_species_, {with_id_, ids, knows_places_, places_});
    clock_->begin("tree");
    tree_.template build<State>(here, masses_of(kept), softening(), opening_.order, domains_.frame(), std::move(top));
  }
  clock_->end();
}

template <Precision precision>
bool TreeSpreadCuda<precision>::refresh(const tree::Points<State>& kept) {
  if (const auto again = std::exchange(again_, nullptr)) return make_again(kept, *again);
  ++times_;
  const auto here = domains_.bring(kept, with_species_, {});
  return tree_.template refresh<State>(here, masses_of(kept), softening(), opening_.order);
}

/// A kept tree.
template <Precision precision>
bool TreeSpreadCuda<precision>::make_again(const tree::Points<State>& kept, const tree::KeptTree& again) {
  times_ = 1;
  tree::TopTree top = domains_.cut(tree::with_keys(kept, again), softening(), total_, arena(), &again);
  const tree::ArrivedTree arrived(again, domains_.way(), nullptr);
  std::uint64_t* const ids = with_id_ ? tree_.room_for_ids(domains_.own()) : nullptr;
  const auto here = domains_.bring(kept, with_species_, {with_id_, ids, knows_places_, places_});
  return tree_.template make_again<State>(tree::with_keys(here, arrived), arrived.acceleration.data(), again,
                                          masses_of(kept), softening(), opening_.order, std::move(top));
}

/// By the particles that are kept here.
template <Precision precision>
std::shared_ptr<const tree::KeptTree> TreeSpreadCuda<precision>::keep() {
  if (again_ || total_ == 0) return again_;
  const auto kept = tree_.keep();
  tree::bring_home(*kept, domains_.way());
  return kept;
}

/// Weights take their time too: domains of as many particles will do until the busiest rank has a tenth more than the
/// mean.
template <Precision precision>
bool TreeSpreadCuda<precision>::weighing_pays() {
  if (weighs_) return true;
  std::vector<std::int64_t> work(static_cast<std::size_t>(ranks_->size()));
  work[static_cast<std::size_t>(ranks_->rank())] = tree_.counted_work(times_);
  ranks_->all_reduce(work.data(), work.size(), Reduction::sum);
  const std::int64_t all = std::reduce(work.begin(), work.end());
  weighs_ = *std::max_element(work.begin(), work.end()) * ranks_->size() > all + all / 10;
  return weighs_;
}

/// The walk for own particles, again where it has missed something. Returns the lowest number of one whose force is not
/// finite, or how many there are.
template <Precision precision>
std::int64_t TreeSpreadCuda<precision>::serve(const tree::ServedCells& cells, unsigned want,
                                              const std::array<State*, 4>& answers) {
  tree_.fetch_for_walk(opening_, cells);
  walked_ = true;
  targets_.count_work(tree_.work());
  clock_->begin("walk");
  Forces<State> here;
  here.ax = answers[0], here.ay = answers[1], here.az = answers[2], here.potential = answers[3];
  const tree::WalkOutput out = targets_.output(tree_, want, options_.gravitational_constant, here);
  std::int64_t failed = tree_.count();
  do {
    on_all(*ranks_, [&] {
      if (!cells.counts.empty() && cells.counts[0] > 0)
        failed = targets_.serve(tree_, tree::OpenSpace(), opening_, cells, tree_.missing(), out, [] {});
    });
  } while (tree_.fetch_missing());
  return failed;
}

template <Precision precision>
void TreeSpreadCuda<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  check_tree_wants(want);
  if (total_ == 0) return;
  device_.make_current();
  std::int64_t all = !targets.index && targets.count == sources_.count ? 1 : 0;
  ranks_->all_reduce(&all, 1, Reduction::minimum);
  clock_->begin("estimate");
  if (opening_.tolerance > 0) tree_.estimate_accelerations();
  tree::ServedCells cells = tree_.own();
  std::int64_t count = tree_.count();
  if (!all) {
    asking_.list(targets, domains_.workers(), arena());
    count = asking_.asked();
    cells = tree_.asking(asking_.numbers(), count);
  }
  clock_->begin("branches");
  const std::array<State*, 4> to{forces.ax, forces.ay, forces.az, forces.potential};
  // The tree has its own copies of what lies there.
  const std::size_t of_acceleration = want & want_acceleration ? 3 : 0, of_potential = want & want_potential ? 1 : 0;
  std::array<State*, 4> answers = domains_.template answer_room<4>(of_acceleration + of_potential, count);
  if (of_potential) answers[3] = answers[of_acceleration];
  check_distributed_forces(
      *ranks_, device_, serve(cells, want, answers), tree_.count(), [&] { return places(); }, sources_, options_);
  const auto give_back = [&]<std::size_t fields>(const std::array<const State*, fields>& from,
                                                 const std::array<State*, fields>& kept) {
    all ? domains_.give_back(from, kept) : asking_.way().template back<State, fields>(from, kept);
  };
  if (want & want_acceleration)
    give_back(std::array<const State*, 3>{answers[0], answers[1], answers[2]},
              std::array<State*, 3>{to[0], to[1], to[2]});
  if (want & want_potential) give_back(std::array<const State*, 1>{answers[3]}, std::array<State*, 1>{to[3]});
  clock_->end();
}

template <Precision precision>
bool TreeSpreadCuda<precision>::restore(StateInput& from, std::int64_t count) {
  device_.make_current();
  std::shared_ptr<const tree::KeptTree> kept;
  on_all(*ranks_, [&] {
    kept = tree::restore_tree(from, tree::tree_kind(device_, false), device_, {count, ranks_->size()}, ranks_->rank());
  });
  const bool found = kept != nullptr;
  if (found) take_up_tree(std::move(kept));
  return found;
}

template <Precision precision>
std::int64_t TreeSpreadCuda<precision>::device_bytes(std::int64_t n) const {
  return messages_->bytes(domains_.way().message_bytes(n)) + domains_.device_bytes(n, !softening_.uniform()) +
         tree::distributed_tree_bytes<Pair>(n, opening_.order, ranks_->size()) +
         targets_.bytes_for_all(n, opening_.order, softening(), {}, 0);
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_tree_cuda(const SolverOptions& options, const Device& device,
                                                         std::shared_ptr<Communicator> ranks) {
  return make_for_precision<Solver<Real>, TreeSpreadCuda>(options, device, std::move(ranks));
}
template std::unique_ptr<Solver<float>> make_distributed_tree_cuda(const SolverOptions&, const Device&,
                                                                   std::shared_ptr<Communicator>);
template std::unique_ptr<Solver<double>> make_distributed_tree_cuda(const SolverOptions&, const Device&,
                                                                    std::shared_ptr<Communicator>);

}  // namespace pergola
