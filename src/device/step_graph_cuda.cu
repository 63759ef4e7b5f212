#include "device/step_graph.hpp"
#include "device/streams.cuh"

namespace pergola {

namespace cuda {

namespace {

class RecordedStepsCuda final : public RecordedSteps {
  static constexpr int several = 16;

 public:
  explicit RecordedStepsCuda(const Device& device) : device_(device) {}

  void record(const std::function<void()>& one_step) override {
    device_.make_current();
    one_.record(stream(), one_step);
    several_.record(stream(), [&] {
      for (int k = 0; k < several; ++k) one_step();
    });
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
