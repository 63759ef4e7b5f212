#pragma once
// CUDA only: work that runs beside a device's stream.
#include "device/launch.cuh"

namespace pergola::cuda {

/// A second stream: what is launched on it between fork() and join() runs beside what is launched on the main one
/// meanwhile. Both may be recorded in a graph.
class SideStream {
 public:
  SideStream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    for (cudaEvent_t* event : {&begun_, &done_})
      check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreate");
  }
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;
  ~SideStream() {
    cudaEventDestroy(begun_);
    cudaEventDestroy(done_);
    cudaStreamDestroy(stream_);
  }

  cudaStream_t stream() const { return stream_; }
  /// After what is on `main` now.
  void fork(cudaStream_t main) {
    check(cudaEventRecord(begun_, main), "cudaEventRecord");
    check(cudaStreamWaitEvent(stream_, begun_), "cudaStreamWaitEvent");
    forked_ = true;
  }
  /// What `main` gets from now on comes after it.
  void join(cudaStream_t main) {
    if (!forked_) return;
    forked_ = false;
    check(cudaEventRecord(done_, stream_), "cudaEventRecord");
    check(cudaStreamWaitEvent(main, done_), "cudaStreamWaitEvent");
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begun_ = nullptr, done_ = nullptr;
  bool forked_ = false;
};

}  // namespace pergola::cuda
