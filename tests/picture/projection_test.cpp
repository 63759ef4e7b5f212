#include "picture/projection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "picture/colormap.hpp"
#include "picture/render.hpp"

namespace pergola {
namespace {

/// A round heap of particles around the origin.
Particles heap(std::int64_t n, double radius = 1) {
  Particles p;
  p.resize(n);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    Philox random(3, 0, i);
    p.mass[i] = 1.0 / static_cast<double>(n);
    const double r = radius * std::sqrt(random.uniform()), angle = 6.283185307179586 * random.uniform();
    p.x[i] = r * std::cos(angle);
    p.y[i] = r * std::sin(angle);
    p.z[i] = radius * (random.uniform() - 0.5);
  }
  return p;
}

double mass_in(const Projection& map) {
  const double pixel = map.frame.width / map.pixels;
  return std::accumulate(map.density.begin(), map.density.end(), 0.0) * pixel * pixel;
}

struct Pixel {
  int x, y;
};

Pixel brightest(const Projection& map) {
  const auto at = std::max_element(map.density.begin(), map.density.end()) - map.density.begin();
  return {static_cast<int>(at % map.pixels), static_cast<int>(at / map.pixels)};
}

TEST(Blur, KeepsTheSumAndHasTheStatedWidth) {
  for (const int radius : {1, 4, 9}) {
    SquareGrid grid(101);
    grid.at(50, 50) = 3;
    blur(grid, radius, 2);
    double sum = 0, second = 0;
    for (int y = 0; y < 101; ++y)
      for (int x = 0; x < 101; ++x) {
        sum += grid.at(x, y);
        second += grid.at(x, y) * (x - 50) * (x - 50);
      }
    EXPECT_NEAR(sum, 3, 1e-12);
    EXPECT_NEAR(std::sqrt(second / sum), blur_width(radius), 1e-9);
    EXPECT_NEAR(grid.at(48, 57), grid.at(57, 48), 1e-15);
  }
}

TEST(Projection, ConservesMassInsideTheFrame) {
  for (const std::int64_t n : {1, 50, 3000, 200000}) {
    const auto map = project(heap(n), {SightLine::z, {{0, 0, 0}, 4}, 256, 1});
    EXPECT_NEAR(mass_in(map), 1, n == 1 ? 1e-3 : 1e-9) << n;
    EXPECT_EQ(map.shown, n);
  }
}

// Reference: a disc of unit mass seen face on has the surface density 1/(π R²).
TEST(Projection, DensityOfAUniformDiscIsMassOverArea) {
  const auto map = project(heap(200000), {SightLine::z, {{0, 0, 0}, 3}, 300, 1});
  double mean = 0;
  for (int y = 120; y < 180; ++y)
    for (int x = 120; x < 180; ++x) mean += map.at(x, y) / 3600;
  EXPECT_NEAR(mean, 1 / 3.14159265, 0.01);
}

TEST(Projection, APointLightsItsPixelOnEachLineOfSight) {
  Particles p;
  p.resize(1);
  p.mass = {1};
  p.x = {0.5};
  p.y = {-0.25};
  p.z = {1};
  // The frame is 4 wide on 400 pixels: 100 pixels per length, the centre at pixel 200, up is towards row 0.
  const struct {
    SightLine axis;
    int right, up;
  } cases[] = {{SightLine::z, 50, -25}, {SightLine::x, -25, 100}, {SightLine::y, 50, 100}};
  for (const auto& c : cases) {
    const auto map = project(p, {c.axis, {{0, 0, 0}, 4}, 400, 1});
    const auto at = brightest(map);
    EXPECT_NEAR(at.x + 0.5, 200 + c.right, 1.01);
    EXPECT_NEAR(at.y + 0.5, 200 - c.up, 1.01);
    ASSERT_EQ(map.spots.size(), 1u);
    EXPECT_FLOAT_EQ(map.spots[0].x, static_cast<float>(200 + c.right));
    EXPECT_FLOAT_EQ(map.spots[0].y, static_cast<float>(200 - c.up));
    const auto image = rasterize(render(map, {"gray", "", "", "", false}));
    EXPECT_GT(image.at(200 + c.right, 200 - c.up).g, 200);
    EXPECT_LT(image.at(200 + c.right, 200 + c.up).g, 50);
  }
}

TEST(Projection, IsSharpWhereParticlesAreManyAndSmoothWhereFew) {
  const auto width_of = [](std::int64_t n) {
    Particles p = heap(n, 0.01);
    const auto map = project(p, {SightLine::z, {{0, 0, 0}, 4}, 400, 1});
    return 1 / std::sqrt(map.at(brightest(map).x, brightest(map).y));  // width of a heap of unit mass
  };
  EXPECT_GT(width_of(3), 5 * width_of(20000));
}

TEST(Projection, DoesNotDependOnTheNumberOfThreads) {
  const auto p = heap(5000);
  const auto one = project(p, {SightLine::z, {{0, 0, 0}, 2}, 200, 1});
  const auto seven = project(p, {SightLine::z, {{0, 0, 0}, 2}, 200, 7});
  EXPECT_EQ(one.density, seven.density);
}

TEST(Projection, MasslessParticlesAreCounted) {
  auto p = heap(1000);
  std::fill(p.mass.begin(), p.mass.end(), 0.0);
  EXPECT_NEAR(mass_in(project(p, {SightLine::z, {{0, 0, 0}, 4}, 200, 1})), 1000, 1e-6);
}

TEST(Projection, RefusesNothingToShowAndAFrameWithoutExtent) {
  EXPECT_THROW(project(Particles{}, {SightLine::z, {{0, 0, 0}, 4}, 200, 1}), Error);
  EXPECT_THROW(project(heap(10), {SightLine::z, {{0, 0, 0}, 0}, 200, 1}), Error);
  EXPECT_THROW(project(heap(10), {SightLine::z, {{0, 0, 0}, std::nan("")}, 200, 1}), Error);
  EXPECT_THROW(project(heap(10), {SightLine::z, {{0, 0, 0}, 1}, 1, 1}), Error);
}

TEST(AutomaticFrame, EscapersDoNotShrinkTheCluster) {
  auto p = heap(1000);
  for (auto& x : p.x) x += 5;
  const auto before = automatic_frame(p, SightLine::z);
  EXPECT_NEAR(before.center.x, 5, 0.1);
  EXPECT_NEAR(before.width, 2, 0.3);
  for (std::size_t i = 0; i < 20; ++i) p.x[i] = 1e6;
  const auto after = automatic_frame(p, SightLine::z);
  EXPECT_NEAR(after.center.x, before.center.x, 0.1);
  EXPECT_NEAR(after.width, before.width, 0.2);
}

TEST(AutomaticFrame, AFewBodiesAreAllShown) {
  Particles p;
  p.resize(3);
  p.x = {0, 1, 40};
  p.y = {0, 3, -2};
  const auto frame = automatic_frame(p, SightLine::z);
  const auto map = project(p, {SightLine::z, frame, 200, 1});
  EXPECT_EQ(map.shown, 3);
  p.resize(1);
  EXPECT_GT(automatic_frame(p, SightLine::z).width, 0);
}

TEST(Render, LegendAndTitleChangeThePictureAndTheMiddleIsBright) {
  const auto p = heap(3000);
  const auto map = project(p, {SightLine::z, automatic_frame(p, SightLine::z), 256, 1});
  const auto bare = rasterize(render(map, {"magma", "", "", "", false})),
             full = rasterize(render(map, {"magma", "title", "t = 1", "", true}));
  EXPECT_EQ(bare.width(), 256);
  EXPECT_NE(bare.pixels(), full.pixels());
  double middle = 0, corner = 0;
  for (int k = 0; k < 20; ++k) {
    middle += bare.at(118 + k, 128).r;
    corner += bare.at(k, 0).r;
  }
  EXPECT_GT(middle, 2 * corner);
}

/// Points at random in a periodic cube of side 2 from the origin.
Particles cube_of_points(std::int64_t n) {
  Particles p;
  p.resize(n);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    Philox random(8, 0, i);
    p.mass[i] = 1;
    p.x[i] = 2 * random.uniform(), p.y[i] = 2 * random.uniform(), p.z[i] = 2 * random.uniform();
  }
  return p;
}

double mean_of_rim(const Projection& map, int width) {
  double sum = 0;
  int count = 0;
  for (int y = 0; y < map.pixels; ++y)
    for (int x = 0; x < map.pixels; ++x)
      if (std::min({x, y, map.pixels - 1 - x, map.pixels - 1 - y}) < width) sum += map.at(x, y), ++count;
  return sum / count;
}

TEST(Projections, APeriodicCubeIsAsBrightAtItsRimAsWithin) {
  const Particles p = cube_of_points(4000);
  ProjectionOptions options{SightLine::z, {{1, 1, 1}, 2}, 96, 2};
  const double mean = 4000 / 4.0, open = mean_of_rim(project(p, options), 3) / mean;
  options.periodic_side = 2;
  const Projection map = project(p, options);
  EXPECT_LT(open, 0.8);
  EXPECT_NEAR(mean_of_rim(map, 3) / mean, 1, 0.06);
  EXPECT_EQ(map.particles, 4000);
  EXPECT_EQ(map.shown, 4000);
}

TEST(Projections, AFrameAtTheCornerOfAPeriodicCubeIsFull) {
  const Particles p = cube_of_points(8000);
  ProjectionOptions options{SightLine::x, {{0, 0, 0}, 1}, 64, 1, 2};
  const double mean = 8000 / 4.0;
  EXPECT_NEAR(mass_in(project(p, options)), mean, 0.1 * mean);
  options.frame.width = 3;  // wider: the cube once
  EXPECT_LT(mass_in(project(p, options)), 0.6 * 9 * mean);
}

}  // namespace
}  // namespace pergola
