#pragma once
// CUDA only: work that runs beside a device's stream, and recorded launches.
#include "device/launch.cuh"

namespace pergola::cuda {

/// A second stream: what is launched on it between fork() and join() runs beside what the main stream gets meanwhile.
/// Both may be recorded in a graph.
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
  /// The side stream continues after all that is on `main` now.
  void fork(cudaStream_t main) {
    check(cudaEventRecord(begun_, main), "cudaEventRecord");
    check(cudaStreamWaitEvent(stream_, begun_), "cudaStreamWaitEvent");
    forked_ = true;
  }
  /// What `main` gets from now on runs after the side stream.
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

/// Batches of work take turns on two streams, so that one fills the multiprocessors that the one before leaves idle. A
/// part of a batch runs after the same part of the batch before.
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

  /// All batches run after what is on `main` now. A single batch needs no second stream.
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
  /// What `main` gets from now on runs after all batches.
  void end() {
    if (!several_) return;
    check(cudaEventRecord(all_, side_), "cudaEventRecord");
    check(cudaStreamWaitEvent(handle(main_), all_), "cudaStreamWaitEvent");
  }

  /// The turn of this batch, 0 or 1. Batches of the same turn run one after the other.
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

/// A recorded sequence of launches.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { reset(); }

  void reset() {
    if (ready_) cudaGraphExecDestroy(ready_);
    ready_ = nullptr;
  }
  bool recorded() const { return ready_ != nullptr; }

  /// Records what body() launches on the stream and replaces what was recorded before. If body() throws, nothing is
  /// recorded.
  template <class Body>
  void record(cudaStream_t stream, const Body& body) {
    reset();
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    try {
      body();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      if (graph) cudaGraphDestroy(graph);
      throw;
    }
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t status = cudaGraphInstantiate(&ready_, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "cudaGraphInstantiate");
  }
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(ready_, stream), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t ready_ = nullptr;
};

}  // namespace pergola::cuda
