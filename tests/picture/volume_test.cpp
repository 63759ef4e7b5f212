#include "picture/volume.hpp"
#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "physics/numerics.hpp"
#include "physics/volume_light.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace pergola {
namespace {

/// From 10 above the origin, which is in the middle, 4 from edge to edge there.
VolumeOptions looking_down(int pixels) {
  VolumeOptions options;
  options.camera = {{0, 0, 10}, {0, 0, 0}, {0, 1, 0}, 2 * std::atan(0.2) * 180 / std::numbers::pi};
  options.pixels = pixels;
  return options;
}

/// Reference: the integral of the density 8/π² (1 − r²/h²)^{3/2}/h³ along the ray.
TEST(Volume, TheColumnIsThatOfItsDensity) {
  const double h = 0.7;
  for (const double b : {0.0, 0.2, 0.65}) {
    const double end = std::sqrt(h * h - b * b), norm = 8 / (std::numbers::pi * std::numbers::pi * h * h * h);
    const double along = physics::integrate(
        [&](double z) { return norm * std::pow(std::max(0.0, 1 - (b * b + z * z) / (h * h)), 1.5); }, -end, end, 1e-9);
    EXPECT_NEAR(physics::smoothed_column(b * b, 1 / (h * h)), along, 1e-6 * along);
  }
  EXPECT_EQ(physics::smoothed_column(0.5, 1 / (h * h)), 0);
}

/// Reference: S (1 − exp(−τ)) with τ from the mean over the picture, which a single particle makes alone.
TEST(Volume, AParticleShinesWithItsOpticalDepth) {
  VolumeOptions options = looking_down(101);
  options.optical_depth = 0.02;
  const double h = 0.5, picture = 4 * 4, tau = 0.02 * picture * 3 / (std::numbers::pi * h * h);
  const Image image = render_volume({{{0, 0, 0}, h, 7, {200, 100, 50}}}, options).image;
  const double opaque = 1 - std::exp(-tau);
  EXPECT_NEAR(image.at(50, 50).r, 200 * opaque, 1);
  EXPECT_NEAR(image.at(50, 50).g, 100 * opaque, 1);
  const double b = 10 * 4 / 101.0, left = 1 - b * b / (h * h);  // ten pixels to the side
  EXPECT_NEAR(image.at(60, 50).r, 200 * (1 - std::exp(-tau * left * left)), 2);
  EXPECT_EQ(image.at(65, 50), (Color{0, 0, 0}));
}

TEST(Volume, WhatIsNearerHidesWhatIsBehindIt) {
  VolumeOptions options = looking_down(64);
  options.optical_depth = 50;
  const VolumeParticle red{{0, 0, 1}, 0.5, 1, {255, 0, 0}}, blue{{0, 0, -1}, 0.5, 1, {0, 0, 255}};
  for (const auto& both : {std::vector{red, blue}, std::vector{blue, red}})
    EXPECT_EQ(render_volume(both, options).image.at(32, 32), (Color{255, 0, 0}));
  options.camera.position.z = -10;
  EXPECT_EQ(render_volume({red, blue}, options).image.at(32, 32), (Color{0, 0, 255}));
}

TEST(Volume, PerspectivePutsNearerParticlesFartherOutAndUpIsUp) {
  VolumeOptions options = looking_down(100);
  options.optical_depth = 1;
  // At the plane of the target one length is 25 pixels; half way to the camera 50.
  const Image image = render_volume({{{0.8, 0.8, 5}, 0.1, 1, {255, 255, 255}}}, options).image;
  EXPECT_GT(image.at(90, 9).r, 100);
  EXPECT_EQ(image.at(70, 29).r, 0);
  EXPECT_EQ(image.at(90, 90).r, 0);
}

TEST(Volume, ParticlesSmallerThanAPixelAreSeenAndThoseBehindTheCameraAreNot) {
  const VolumeOptions options = looking_down(64);
  const VolumePicture picture =
      render_volume({{{0.01, 0.01, 0}, 1e-9, 1, {255, 255, 255}}, {{0, 0, 12}, 0.1, 1, {255, 255, 255}}}, options);
  EXPECT_EQ(picture.shown, 1);
  EXPECT_GT(picture.image.at(32, 31).r, 0);
}

TEST(Volume, IsTheSameOnAnyNumberOfThreadsAndRanks) {
  std::vector<VolumeParticle> cloud;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    Philox random(5, 0, i);
    cloud.push_back({{4 * random.uniform() - 2, 4 * random.uniform() - 2, 4 * random.uniform() - 2},
                     0.3 * random.uniform(),
                     random.uniform(),
                     {static_cast<std::uint8_t>(255 * random.uniform()), 128, 30},
                     i});
  }
  VolumeOptions options = looking_down(150);
  const Image one = render_volume(cloud, options).image;
  options.threads = 3;
  EXPECT_EQ(one.pixels(), render_volume(cloud, options).image.pixels());
  // 25 tiles: ranks that have one in some of their turns, or in none.
  for (const int count : {2, 7, 32})
    run_on_thread_ranks(count, [&](Communicator& ranks) {
      std::vector<VolumeParticle> own;
      for (std::size_t i = 0; i < cloud.size(); ++i)
        if (static_cast<int>(i) % count == ranks.rank()) own.push_back(cloud[i]);
      EXPECT_EQ(one.pixels(), render_volume(own, options, ranks).image.pixels());
    });
}

}  // namespace
}  // namespace pergola
