#pragma once
#include <functional>
#include <future>
#include <memory>

#include "comm/communicator.hpp"
#include "device/device.hpp"

namespace pergola {

/// A second thread of a rank, which talks to those of other ranks and has a stream of its own on the same GPU: while
/// its messages travel the first one has the GPU, and the other way. Where that cannot be (one core, an MPI that does
/// not bear it) work is done at once, by the first thread and on its stream. In
/// domain/work_beside_cuda.cu; present where cuda_built is true.
class WorkBeside {
 public:
  /// A call of all ranks.
  WorkBeside(const Device& device, std::shared_ptr<Communicator> ranks);
  WorkBeside(const WorkBeside&) = delete;
  WorkBeside& operator=(const WorkBeside&) = delete;

  bool apart() const { return apart_; }
  /// Whether two ranks have one GPU between them: what they send each other is copied by it.
  bool shares_gpu() const { return shares_gpu_; }
  /// For what is to be done there.
  const Device& device() const { return there_; }
  const std::shared_ptr<Communicator>& ranks() const { return ranks_there_; }

  /// Begins with it after all that the first thread has queued; in the end waits for it, or for a part of it that
  /// somebody promised, and throws what it threw. Calls of all ranks. Who has what begin() gives waits for the work,
  /// also where an exception ends it.
  [[nodiscard]] std::future<void> begin(std::function<void()> work);
  void end(std::future<void>& running);
  /// Does it in the first thread, between what was queued before and what will be.
  void now(const std::function<void()>& work);

 private:
  Device device_, there_;
  std::shared_ptr<Communicator> ranks_, ranks_there_;
  bool apart_ = false, shares_gpu_ = false;
  double talked_ = 0;  // seconds, there, until work began or was last waited for
};

}  // namespace pergola
