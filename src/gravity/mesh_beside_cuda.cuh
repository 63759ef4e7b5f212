#pragma once
// CUDA only: the long range of particles that ranks keep, found beside what else they do.
//
// Order of calls: may_work_beside() and set_up() once; then per step begin(), serve_first() and end(), or find_now().
// A second thread with its own stream and communicator works on the mesh while the caller works on the tree. Memory is
// taken only if it suffices for all ranks of a GPU; otherwise the mesh works alone in borrowed memory.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "device/arena.hpp"
#include "device/device.hpp"
#include "domain/work_beside.hpp"
#include "gravity/mesh.hpp"
#include "gravity/treepm.hpp"
#include "mesh/coupling/exchange.hpp"

namespace pergola {

/// The mesh of a rank: with a second thread for it (domain/work_beside.hpp), or, which takes less memory, by itself in
/// memory that others have before and after. Calls of all ranks but set_clock().
template <class State>
class MeshBeside {
 public:
  using Into = State* [3];
  using Places = std::optional<MeshPlaces<State>>;
  /// Memory for particles from other ranks and for the way (LentArrivals), of a mesh by itself.
  struct Borrowed {
    LentMemory arrivals, way;
  };

  MeshBeside(const Device& device, std::shared_ptr<Communicator> ranks) : device_(device), ranks_(std::move(ranks)) {}

  static std::unique_ptr<SmoothedMesh<State>> make(const SolverOptions& options, const TreePmParameters& found,
                                                   const Device& device, const std::shared_ptr<Communicator>& ranks,
                                                   const Borrowed& borrowed = {}) {
    auto mesh = make_smoothed_mesh<State>(treepm_mesh_options(options, found), device, treepm_law(found), ranks);
    if (auto* const lends = dynamic_cast<LentArrivals*>(mesh.get()); lends && borrowed.arrivals)
      lends->lend_arrivals(borrowed.arrivals, borrowed.way);
    return mesh;
  }
  /// Whether a second thread can be had, and the bytes that it takes beside the others are there for this rank and all
  /// that share its GPU, with some to spare.
  /// Collective.
  bool may_work_beside(double bytes) {
    if (!beside_) beside_ = std::make_unique<WorkBeside>(device_, ranks_);
    if (!beside_->apart()) return false;
    constexpr double used_at_most = 0.7;
    std::vector<GpuIdentity> names(static_cast<std::size_t>(ranks_->size()));
    const GpuIdentity own = names[static_cast<std::size_t>(ranks_->rank())] = gpu_identity(device_);
    ranks_->all_gather_in_place(names.data(), std::vector<std::size_t>(names.size(), sizeof own));
    const auto mates = static_cast<double>(std::count(names.begin(), names.end(), own));
    ranks_->barrier();  // no rank takes memory before all have looked
    std::int64_t fits = bytes * mates <= used_at_most * static_cast<double>(device_.memory().free_bytes()) ? 1 : 0;
    ranks_->all_reduce(&fits, 1, Reduction::minimum);
    return fits == 1;
  }
  /// `lent`: by itself; without arrivals it works beside.
  void set_up(const SolverOptions& options, const TreePmParameters& found, StageClock* clock,
              const Borrowed& borrowed) {
    forget();
    apart_ = !borrowed.arrivals;
    mesh_ = apart_ ? make(options, found, beside_->device(), beside_->ranks())
                   : make(options, found, device_, ranks_, borrowed);
    set_clock(clock);
  }
  /// What it does beside others has no stages among theirs.
  void set_clock(StageClock* clock) {
    if (mesh_) mesh_->set_clock(apart_ ? nullptr : clock);
  }
  /// By itself.
  SmoothedMesh<State>& alone() { return *mesh_; }

  /// Waits for forces that were begun and not fetched, and drops them.
  void forget() {
    places_.reset();
    if (running_.valid()) running_.wait(), running_ = {};
  }

  /// Forces at all sources, beside what the caller does until end(). Where each rank has a GPU of its own their way to
  /// the slabs comes before it: all else waits for that, and is not to share the network with it. Later the caller says
  /// at which places they are wanted first, or that there are none, and gets those.
  void begin(const Sources<State>& sources, const Into& into) {
    const bool sent = !beside_->shares_gpu();
    if (sent) beside_->now([&] { prepare(sources); });
    places_.emplace();
    const auto there = std::make_shared<std::promise<void>>();
    there_ = there->get_future();
    running_ = beside_->begin([this, sources, sent, x = into[0], y = into[1], z = into[2], there,
                               places = std::shared_future<Places>(places_->get_future())] {
      bool said = false;
      const auto say = [&] {
        beside_->device().synchronize();
        said = true;
        there->set_value();
      };
      try {
        if (!sent) prepare(sources);
        serve(
            sources.count, {x, y, z}, [&] { return places.get(); }, say);
      } catch (...) {
        if (!said) there->set_exception(std::current_exception());
        throw;
      }
    });
  }
  /// Waits until forces at the wanted places are there; the others may still be computed.
  void serve_first(const Places& places, StageClock& clock) {
    device_.synchronize();
    clock.begin("mesh");
    places_->set_value(places);
    places_.reset();
    beside_->end(there_);
  }
  /// Waits for the forces at all sources.
  void end(StageClock& clock) {
    if (!running_.valid()) return;
    clock.begin("mesh");
    beside_->end(running_);
  }
  /// All at once, without a second thread's head start.
  void find_now(const Sources<State>& sources, const Into& into) {
    forget();
    beside_->now([&] { find(sources, into, nullptr, nullptr); });
  }
  /// Potentials at those that forces were found for.
  void find_potentials(std::int64_t n, State* into) {
    Forces<State> forces;
    forces.potential = into;
    beside_->now([&] { mesh_->evaluate({nullptr, n, n}, want_potential, forces); });
  }

 private:
  void find(const Sources<State>& sources, const Into& into, const typename SmoothedMesh<State>::Places& places,
            const std::function<void()>& there) {
    prepare(sources);
    serve(sources.count, into, places, there);
  }
  /// Particles are in their slabs then.
  void prepare(const Sources<State>& sources) {
    Arena(beside_->device()).room(memory_, mesh_->borrowed_bytes());
    mesh_->lend(memory_.data(), nullptr);
    mesh_->prepare(sources);
  }
  void serve(std::int64_t count, const Into& into, const typename SmoothedMesh<State>::Places& places,
             const std::function<void()>& there) {
    mesh_->serve_first(places, there);
    Forces<State> forces;
    forces.ax = into[0], forces.ay = into[1], forces.az = into[2];
    mesh_->evaluate({nullptr, count, count}, want_acceleration, forces);
  }
  Device device_;
  std::shared_ptr<Communicator> ranks_;
  std::unique_ptr<WorkBeside> beside_;
  bool apart_ = false;
  Buffer<std::byte> memory_;
  std::unique_ptr<SmoothedMesh<State>> mesh_;
  std::future<void> running_, there_;
  std::optional<std::promise<Places>> places_;  // goes first: who waits for it then ends
};

}  // namespace pergola
