#pragma once
// CUDA only.
#include "mesh/coupling/deposit_cuda.cuh"

namespace pergola::cuda {

/// A copy of the counts in memory of the host that the GPU writes to, looked at without waiting.
class CountsOnHost {
 public:
  CountsOnHost() {
    check(cudaMallocHost(&counts_, sizeof(DepositCounts)), "cudaMallocHost");
    *counts_ = {};
    check(cudaEventCreateWithFlags(&arrived_, cudaEventDisableTiming), "cudaEventCreate");
  }
  ~CountsOnHost() {
    cudaEventSynchronize(arrived_);
    cudaEventDestroy(arrived_);
    cudaFreeHost(counts_);
  }
  CountsOnHost(const CountsOnHost&) = delete;
  CountsOnHost& operator=(const CountsOnHost&) = delete;

  void fetch(const DepositCounts* from, Stream stream) {
    check(cudaMemcpyAsync(counts_, from, sizeof(DepositCounts), cudaMemcpyDeviceToHost, handle(stream)), "copy counts");
    check(cudaEventRecord(arrived_, handle(stream)), "cudaEventRecord");
  }
  /// What the last fetch brought, if it has arrived; else nothing.
  const DepositCounts* arrived() const { return cudaEventQuery(arrived_) == cudaSuccess ? counts_ : nullptr; }

 private:
  DepositCounts* counts_ = nullptr;
  cudaEvent_t arrived_ = nullptr;
};

}  // namespace pergola::cuda
