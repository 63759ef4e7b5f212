#include "picture/seen_density.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/philox.hpp"
#include "picture/camera.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class SeenDensityOn : public DeviceTest {};

/// From (0, 0, 4) straight down, 2 from edge to edge of a picture at the origin.
Sight from_four_above(int width, int height) {
  Sight sight;
  sight.right = {4, 0, 0, 0};
  sight.up = {0, 4, 0, 0};
  sight.depth = {0, 0, -1, 4};
  sight.focus = 4;
  sight.width = width, sight.height = height;
  return sight;
}

Particles at(const std::vector<Vec3<double>>& places) {
  Particles p;
  p.resize(std::ssize(places));
  for (std::size_t k = 0; k < places.size(); ++k) {
    p.id[k] = k + 1, p.mass[k] = 1;
    p.x[k] = places[k].x, p.y[k] = places[k].y, p.z[k] = places[k].z;
  }
  return p;
}

// Reference: places that were worked out by hand; pixels are half a unit wide at the origin.
TEST_P(SeenDensityOn, ADeviceHasEachParticleBehindItsPixel) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto shown = show_particles(device(2), at({{-0.75, 0.75, 0},  // upper left
                                                   {0.75, -0.75, 0},  // lower right, and another one there
                                                   {0.75, -0.75, 0},
                                                   {0.375, 0.375, 2},  // half as far: seen at 0.75, 0.75, four times
                                                   {1.25, 0, 0},       // beyond the edge
                                                   {0, 0, 5},          // behind the camera
                                                   {0, 0, 3.97},       // nearer than a hundredth
                                                   {nan, 0, 0}}));
  SeenCounter counter;
  const SeenDensity seen = counter.count(*shown, from_four_above(4, 4));
  std::vector<std::uint64_t> expected(16, 0);
  expected[0] = SeenDensity::quanta;
  expected[3] = 4 * SeenDensity::quanta;
  expected[15] = 2 * SeenDensity::quanta;
  EXPECT_EQ(seen.pixels, expected);
  // The memory of the picture before is not seen again.
  EXPECT_EQ(counter.count(*shown, from_four_above(4, 4)).pixels, expected);
  const SeenDensity flat = counter.count(*shown, from_four_above(2, 1));
  EXPECT_EQ(flat.pixels, (std::vector<std::uint64_t>{SeenDensity::quanta, 6 * SeenDensity::quanta}));
}

Particles in_a_ball(std::int64_t n) {
  std::vector<Vec3<double>> places;
  for (std::int64_t k = 0; k < n; ++k) {
    Philox numbers(7, 0, static_cast<std::uint64_t>(k));
    std::uint32_t words[4];
    numbers.block(0, words);
    const auto one = [&](int c) { return words[c] / 4294967296.0 - 0.5; };
    places.push_back({one(0), one(1), one(2)});
  }
  return at(places);
}

// Reference: the camera of the pictures, which knows where it stands and looks, and weighs by distance; it integrates
// along the ray, which is longer than the depth by the cosine of the angle.
TEST_P(SeenDensityOn, ADeviceSeesWhatTheCameraOfPicturesSees) {
  const Particles all = in_a_ball(20000);
  Camera camera;
  camera.position = {0, 0, 4}, camera.target = {0, 0, 0}, camera.up = {0, 1, 0};
  camera.field_of_view_degrees = 2 * std::atan(0.25) * 180 / 3.14159265358979323846;
  const CameraView view(camera);
  const Particles places = view.see(all);
  ASSERT_EQ(places.size(), all.size());
  const Frame frame = view.frame();
  const int pixels = 16;
  std::vector<double> expected(pixels * pixels, 0);
  for (std::size_t k = 0; k < places.x.size(); ++k) {
    const auto column = static_cast<int>((places.x[k] / frame.width + 0.5) * pixels);
    const auto row = static_cast<int>((0.5 - places.y[k] / frame.width) * pixels);
    if (column >= 0 && column < pixels && row >= 0 && row < pixels)
      expected[static_cast<std::size_t>(row * pixels + column)] +=
          places.mass[k] * 4 / std::sqrt(16 + places.x[k] * places.x[k] + places.y[k] * places.y[k]);
  }
  const auto seen = SeenCounter().count(*show_particles(device(2), all), from_four_above(pixels, pixels));
  for (std::size_t k = 0; k < expected.size(); ++k)
    EXPECT_NEAR(static_cast<double>(seen.pixels[k]) / SeenDensity::quanta, expected[k], 0.002 * expected[k] + 1.2) << k;
  const double sum = std::accumulate(seen.pixels.begin(), seen.pixels.end(), 0.0) / SeenDensity::quanta;
  EXPECT_NEAR(sum, std::accumulate(expected.begin(), expected.end(), 0.0), 0.002 * 20000);
}

// Reference: the same on one thread of the CPU. More than one piece, and not a whole number of them.
TEST_P(SeenDensityOn, ADeviceCountsTheSameNumbersAsOneThread) {
  const Particles all = in_a_ball(70001);
  const Sight sight = from_four_above(33, 17);
  const auto one = SeenCounter().count(*show_particles(Device::open("cpu", 1), all), sight);
  EXPECT_EQ(SeenCounter().count(*show_particles(device(3), all), sight).pixels, one.pixels);
}

INSTANTIATE_TEST_SUITE_P(Devices, SeenDensityOn, OnEachDevice(), device_test_name);

TEST(SeenDensity, AddsPiecesOfTheSamePicture) {
  SeenDensity sum{2, 1, {}};
  sum.add({2, 1, {1, 2}});
  sum.add({2, 1, {10, 20}});
  EXPECT_EQ(sum.pixels, (std::vector<std::uint64_t>{11, 22}));
}

}  // namespace
}  // namespace pergola
