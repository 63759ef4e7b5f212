#pragma once

namespace pergola {

/// Streams of devices that this thread opens while it lives come first on their GPU: what is launched on them begins
/// before what waits on others. In device/cuda_device.cu; present where cuda_built is true.
class UrgentStreams {
 public:
  UrgentStreams();
  ~UrgentStreams();
  UrgentStreams(const UrgentStreams&) = delete;
  UrgentStreams& operator=(const UrgentStreams&) = delete;
};

}  // namespace pergola
