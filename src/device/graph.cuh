#pragma once
// CUDA only: launches that are recorded once and repeated.
#include "device/launch.cuh"

namespace pergola::cuda {

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

  /// Records what body() launches on the stream, in place of what was recorded before. Where body() throws, nothing is.
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
