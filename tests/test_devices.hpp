#pragma once
#include <gtest/gtest.h>

#include <string>

#include "device/device.hpp"

namespace pergola {

/// One test body for both devices: INSTANTIATE_TEST_SUITE_P(Devices, MyTest, OnEachDevice(), device_test_name). The
/// instance for cuda is skipped, never passed, on a machine without one.
class DeviceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() != "cuda") return;
    for (const auto& report : list_devices())
      if (report.spec == "cuda:0" && report.usable) return;
    GTEST_SKIP() << "no usable CUDA device";
  }
  Device device(int threads = 0) const { return Device::open(GetParam(), threads); }
};

inline auto OnEachDevice() { return ::testing::Values(std::string("cpu"), std::string("cuda")); }
inline std::string device_test_name(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

}  // namespace pergola
