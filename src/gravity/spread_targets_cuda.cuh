#pragma once
// CUDA only: what solvers share whose trees are over particles distributed over GPU ranks.
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "device/arena.hpp"
#include "device/launch.cuh"
#include "domain/device_workers.hpp"
#include "gravity/spread_failure.hpp"
#include "tree/octree_cuda.cuh"

namespace pergola {

/// The way between targets and those who answer them, where not all particles ask.
class AskingTargets {
 public:
  explicit AskingTargets(const std::shared_ptr<DeviceMessages>& messages)
      : device_(messages->device()), way_(messages) {}

  /// All ranks call it. What the list takes only now is lent.
  void list(const Targets& targets, const WorkersOf& workers, const LentMemory& lend) {
    Arena arena(device_);
    std::byte* work = nullptr;
    std::uint32_t* number = nullptr;
    const auto lay_out = [&](std::byte* memory) {
      MemoryParts parts(memory);
      work = parts.take<std::byte>(way_.work_bytes(targets.count)), number = parts.take<std::uint32_t>(targets.count);
      return parts.used();
    };
    lay_out(lend(lay_out(nullptr)));
    const auto list = way_.listing(targets.count, work);
    cuda::launch("tree targets", targets.count, device_.stream(),
                 [targets, list, workers, number] __device__(std::int64_t t) {
                   const std::int64_t i = targets.index ? targets.index[t] : targets.first + t;
                   list.rank[t] = workers.rank[i], list.particle[t] = static_cast<std::uint32_t>(t);
                   number[t] = workers.number[i];
                 });
    way_.plan(targets.count, work);
    arena.room(asked_, way_.arriving());
    way_.template there<std::uint32_t, 1>({number}, {asked_.data()});
  }
  /// Where n are kept, and as many may ask.
  std::int64_t bytes(std::int64_t n) const {
    Arena count;
    count.room(asked_, n);
    return count.bytes() + way_.own_bytes(n);
  }
  /// How many are asked for here, and their numbers, on the device.
  std::int64_t asked() const { return way_.arriving(); }
  const std::uint32_t* numbers() const { return asked_.data(); }
  DeviceRouting& way() { return way_; }

 private:
  Device device_;
  DeviceRouting way_;
  Buffer<std::uint32_t> asked_;
};

/// Says on all ranks why a force is not a number, where one is not. `failed`: the number of a particle that this rank
/// works on, of `count`, or `count`; places(): where they stand among all. `sources` are those kept, on the device.
template <class State, class Places>
void check_distributed_forces(Communicator& ranks, const Device& device, std::int64_t failed, std::int64_t count,
                              const Places& places, const Sources<State>& sources, const SolverOptions& options) {
  std::int64_t any = failed < count ? 1 : 0;
  ranks.all_reduce(&any, 1, Reduction::maximum);
  if (!any) return;
  const std::vector<std::uint32_t> own = places();
  std::int64_t place = std::numeric_limits<std::int64_t>::max();
  if (failed < count) place = own[static_cast<std::size_t>(failed)];
  const auto x = tree::on_host(device, sources.x, sources.count), y = tree::on_host(device, sources.y, sources.count),
             z = tree::on_host(device, sources.z, sources.count);
  const auto species = tree::on_host(device, sources.species, sources.count);
  Sources<State> kept;
  kept.count = sources.count;
  kept.x = x.data(), kept.y = y.data(), kept.z = z.data();
  kept.species = species.empty() ? nullptr : species.data();
  distributed_tree_failure(ranks, place, kept, options);
}

}  // namespace pergola
