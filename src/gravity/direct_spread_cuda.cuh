#pragma once
// CUDA only. The direct sum over particles distributed over the GPUs of ranks.
#include <memory>
#include <vector>

#include "comm/shares.hpp"
#include "domain/device_stretches.hpp"
#include "gravity/direct_spread.hpp"
#include "gravity/direct_sums.cuh"

namespace pergola::cuda {

/// The answers of one GPU, bit for bit; ranks have GPUs of one kind. One GPU serves targets in groups and adds up tiles
/// of sources in their order, or those of each of several segments, whose sums are then added in order (Decomposition):
/// all a function of the numbers of all who ask and of all sources. Either sources travel: all of them come by, some at
/// a time, and a rank goes on with the sums of its own targets. Or sums do, where that is less: all who ask go to all
/// ranks, each sums the segments that begin among its particles, and the keeper of a target adds these sums up. No bit
/// depends on which it is.
template <Precision P>
class DistributedDirectCuda final : public Solver<typename SourcePack<P>::Sum> {
 public:
  using Sum = typename SourcePack<P>::Sum;
  DistributedDirectCuda(const SolverOptions& options, const Device& device, std::shared_ptr<Communicator> ranks,
                        const TravelLimits& limits = {}, std::shared_ptr<DeviceMessages> messages = nullptr);
  const SolverInfo& info() const override { return distributed_direct_info(); }
  void prepare(const Sources<Sum>& sources) override;
  void evaluate(const Targets& targets, unsigned want, const Forces<Sum>& forces) override;
  NeighbourLists neighbour_lists(const Targets&, double) override { throw no_nearest_of_distributed(); }
  std::int64_t device_bytes(std::int64_t n) const override;

  /// Room for sources of this rank, for time/hermite_cuda.cu, which fills them itself. All ranks call it.
  void reserve(std::int64_t own);
  DirectSums<P>& sums() { return sums_; }
  /// Another solver of the same ranks may use them too.
  const std::shared_ptr<DeviceMessages>& messages() const { return messages_; }

 private:
  /// What is asked of all ranks.
  struct Question {
    ForceKind kind;
    Decomposition d;
    std::int64_t values = 0;      // that are summed for each
    std::vector<Stretch> asking;  // by rank: numbers among all who ask
    std::int64_t all() const { return asking.back().end(); }
  };

  std::size_t rank() const { return messages_->own_rank(); }
  std::int64_t own_first() const { return shares_.first(ranks_->rank()); }
  const Device& device() const { return sums_.device(); }
  std::vector<Stretch> kept() const;
  static std::int64_t margin(std::int64_t all, int ranks);
  Question ask(ForceKind kind, std::int64_t count);
  bool sums_travel(const Question& question) const;
  static void add_arrays(std::vector<StretchedArray>& arrays, const SourcePack<P>& own, const SourcePack<P>& to,
                         const std::vector<Stretch>& has, const std::vector<Stretch>& wants);
  void sum_by_sources(const Question& question, ForceTask<P> task, const Targets& targets);
  void clear_sums(const Question& question, ForceTask<P>& task);
  void sum_by_parts(const Question& question, const ForceTask<P>& task, const Targets& targets);
  void take_own_asking(const Targets& targets);
  void exchange_parts(const Question& question, const ForceTask<P>& task);
  void refuse_coincident(const Question& question, const Targets& targets, const Sum* answers);

  DirectSums<P> sums_;  // of this rank's sources, behind which there is room for the rest of the last segment
  std::shared_ptr<Communicator> ranks_;
  std::shared_ptr<DeviceMessages> messages_;
  TravelLimits limits_;
  Shares shares_;
  PackBuffers<P> travelling_, own_asking_, asking_;
  Buffer<std::int64_t> own_place_, place_, bad_;
  Buffer<Sum> warp_sums_;
};

}  // namespace pergola::cuda
