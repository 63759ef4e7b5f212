#pragma once
// CUDA only: the long range of particles that ranks keep, found beside what else they do.
#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "device/arena.hpp"
#include "domain/work_beside.hpp"
#include "gravity/mesh.hpp"
#include "gravity/treepm.hpp"

namespace pergola {

/// The mesh of a rank, with a second thread for it (domain/work_beside.hpp). Calls of all ranks but set_clock().
template <class State>
class MeshBeside {
 public:
  using Into = State* [3];

  MeshBeside(const Device& device, std::shared_ptr<Communicator> ranks) : device_(device), ranks_(std::move(ranks)) {}

  static std::unique_ptr<SmoothedMesh<State>> make(const SolverOptions& options, const TreePmParameters& found,
                                                   const Device& device, const std::shared_ptr<Communicator>& ranks) {
    return make_smoothed_mesh<State>(treepm_mesh_options(options, found), device, treepm_law(found), ranks);
  }
  void set_up(const SolverOptions& options, const TreePmParameters& found, StageClock* clock) {
    if (!beside_) beside_ = std::make_unique<WorkBeside>(device_, ranks_);
    mesh_ = make(options, found, beside_->device(), beside_->ranks());
    set_clock(clock);
  }
  /// What it does beside others has no stages among theirs.
  void set_clock(StageClock* clock) {
    if (mesh_) mesh_->set_clock(beside_->apart() ? nullptr : clock);
  }

  /// Forces at all sources: beside what the caller does until end(), or at once.
  [[nodiscard]] std::future<void> begin(const Sources<State>& sources, const Into& into) {
    return beside_->begin([this, sources, x = into[0], y = into[1], z = into[2]] { find(sources, {x, y, z}); });
  }
  void end(std::future<void>& running, StageClock& clock) {
    if (running.valid()) clock.begin("mesh");
    beside_->end(running);
  }
  void find_now(const Sources<State>& sources, const Into& into) {
    beside_->now([&] { find(sources, into); });
  }
  /// Potentials at those that forces were found for.
  void find_potentials(std::int64_t n, State* into) {
    Forces<State> forces;
    forces.potential = into;
    beside_->now([&] { mesh_->evaluate({nullptr, n, n}, want_potential, forces); });
  }

 private:
  void find(const Sources<State>& sources, const Into& into) {
    Arena(beside_->device()).room(memory_, mesh_->lent_bytes());
    mesh_->lend(memory_.data(), nullptr);
    mesh_->prepare(sources);
    Forces<State> forces;
    forces.ax = into[0], forces.ay = into[1], forces.az = into[2];
    mesh_->evaluate({nullptr, sources.count, sources.count}, want_acceleration, forces);
  }

  Device device_;
  std::shared_ptr<Communicator> ranks_;
  std::unique_ptr<WorkBeside> beside_;
  Buffer<std::byte> memory_;
  std::unique_ptr<SmoothedMesh<State>> mesh_;
};

}  // namespace pergola
