#include "device/launch.cuh"
#include "plasma/step_graph.hpp"

namespace pergola {

namespace cuda {

namespace {

/// A graph that can be launched.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { clear(); }

  void record(cudaStream_t stream, int steps, const std::function<void()>& one_step) {
    clear();
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      for (int k = 0; k < steps; ++k) one_step();
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
  void clear() {
    if (ready_) cudaGraphExecDestroy(ready_);
    ready_ = nullptr;
  }
  cudaGraphExec_t ready_ = nullptr;
};

class RecordedStepsCuda final : public RecordedSteps {
  static constexpr int several = 16;

 public:
  explicit RecordedStepsCuda(const Device& device) : device_(device) {}

  void record(const std::function<void()>& one_step) override {
    device_.make_current();
    one_.record(stream(), 1, one_step);
    several_.record(stream(), several, one_step);
  }
  void replay(std::int64_t count) override {
    device_.make_current();
    for (; count >= several; count -= several) several_.launch(stream());
    for (; count > 0; --count) one_.launch(stream());
  }

 private:
  cudaStream_t stream() const { return handle(device_.stream()); }

  Device device_;
  Graph one_, several_;
};

}  // namespace

}  // namespace cuda

std::unique_ptr<RecordedSteps> make_recorded_steps_cuda(const Device& device) {
  return std::make_unique<cuda::RecordedStepsCuda>(device);
}

}  // namespace pergola
