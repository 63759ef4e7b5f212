#pragma once
// CUDA only: batches of work that run beside each other.
#include "device/launch.cuh"

namespace pergola::cuda {

/// Batches take turns on two streams, so that one fills the multiprocessors that the one before leaves idle. A batch
/// has parts that come after the same part of the batch before.
class BatchStreams {
 public:
  static constexpr int parts = 2;

  BatchStreams() = default;
  BatchStreams(const BatchStreams&) = delete;
  BatchStreams& operator=(const BatchStreams&) = delete;
  ~BatchStreams() {
    if (!side_) return;
    cudaEventDestroy(all_);
    for (cudaEvent_t event : done_) cudaEventDestroy(event);
    cudaStreamDestroy(side_);
  }

  /// All batches come after what is on `main` now. One needs no second stream.
  void begin(Stream main, bool several) {
    main_ = main, several_ = several, batch_ = 0;
    if (!several) return;
    if (!side_) {
      check(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking), "cudaStreamCreate");
      for (cudaEvent_t* event : {&all_, &done_[0], &done_[1]})
        check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreate");
    }
    check(cudaEventRecord(all_, handle(main_)), "cudaEventRecord");
    check(cudaStreamWaitEvent(side_, all_), "cudaStreamWaitEvent");
  }
  void next() { ++batch_; }
  /// What `main` gets from now on comes after all batches.
  void end() {
    if (!several_) return;
    check(cudaEventRecord(all_, side_), "cudaEventRecord");
    check(cudaStreamWaitEvent(handle(main_), all_), "cudaStreamWaitEvent");
  }

  /// Of this batch: those that have the same come one after the other.
  int turn() const { return several_ ? batch_ % 2 : 0; }
  Stream stream() const { return turn() == 0 ? main_ : Stream{side_}; }
  void begin_part(int part) {
    if (several_ && batch_ > 0) check(cudaStreamWaitEvent(handle(stream()), done_[part]), "cudaStreamWaitEvent");
  }
  void end_part(int part) {
    if (several_) check(cudaEventRecord(done_[part], handle(stream())), "cudaEventRecord");
  }

 private:
  Stream main_;
  bool several_ = false;
  int batch_ = 0;
  cudaStream_t side_ = nullptr;
  cudaEvent_t all_ = nullptr, done_[parts] = {};
};

}  // namespace pergola::cuda
