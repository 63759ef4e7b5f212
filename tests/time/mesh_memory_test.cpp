#include <gtest/gtest.h>

#include "marks.hpp"
#include "test_devices.hpp"
#include "time/integrator.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class MeshMemory : public DeviceTest {};

// The bar of the particle-mesh method: with the FFT's work area, in single precision in a periodic box. Asking takes no
// such memory. On the CPU each thread has some 16 MB of work memory beside that; here there are two.
TEST_P(MeshMemory, IsAtMostEightyBytesPerParticleAndTwentyPerCell) {
  SolverOptions gravity;
  gravity.solver = "mesh";
  gravity.precision = Precision::single;
  gravity.mesh.cells = {256, 256, 256};
  gravity.mesh.box.side = {1, 1, 1};
  TimeOptions time;
  time.integrator = "leapfrog";
  const auto integrator = make_integrator(time, gravity, {device(2), serial_communicator(), nullptr});
  const double n = 256.0 * 256 * 256;
  const auto bytes = static_cast<double>(integrator->device_bytes(256 * 256 * 256));
  EXPECT_LE(bytes, 80 * n + 20 * n);
  EXPECT_GE(bytes, 40 * n + 20 * n);  // places, velocities, accelerations and masses; density and three forces
  // Each particle more costs no more than its share.
  EXPECT_LE(static_cast<double>(integrator->device_bytes(2 * 256 * 256 * 256)) - bytes, 80 * n);
}

INSTANTIATE_TEST_SUITE_P(Devices, MeshMemory, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola
