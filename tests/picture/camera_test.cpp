#include "picture/camera.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "io/temporary_directory.hpp"
#include "picture/render.hpp"

namespace pergola {
namespace {

Particles at(const std::vector<Vec3<double>>& places) {
  Particles p;
  p.resize(static_cast<std::int64_t>(places.size()));
  for (std::size_t i = 0; i < places.size(); ++i)
    p.x[i] = places[i].x, p.y[i] = places[i].y, p.z[i] = places[i].z, p.mass[i] = 1;
  return p;
}

TEST(Camera, PlacesFollowSimilarTriangles) {
  const CameraView view({{10, 0, 0}, {0, 0, 0}, {0, 0, 1}, 90});  // from +x: y is to the right, z up
  EXPECT_NEAR(view.frame().width, 20, 1e-12);
  const auto here = view.place({0, 3, 2}), farther = view.place({-10, 3, 2}), nearer = view.place({5, 3, 2});
  EXPECT_NEAR(here.x, 3, 1e-12);
  EXPECT_NEAR(here.y, 2, 1e-12);
  EXPECT_NEAR(here.z, 10, 1e-12);
  EXPECT_NEAR(farther.x, 1.5, 1e-12);
  EXPECT_NEAR(nearer.y, 4, 1e-12);
  EXPECT_TRUE(std::isnan(view.place({11, 0, 0}).x));  // behind
  EXPECT_EQ(view.see(at({{0, 0, 0}, {12, 0, 0}})).size(), 1);
}

// Reference: a sheet of n particles per area has the surface density n wherever it stands, seen from the front.
TEST(Camera, ASheetHasItsSurfaceDensityAtAnyDistance) {
  for (const double depth : {0.0, -6.0, 4.0}) {
    std::vector<Vec3<double>> places;
    for (int i = -150; i < 150; ++i)
      for (int j = -150; j < 150; ++j) places.push_back({0.05 * i + 0.025, 0.05 * j + 0.025, depth});
    const CameraView view({{0, 0, 10}, {0, 0, 0}, {0, 1, 0}, 20});
    const auto map = project(view.see(at(places)), {SightLine::z, view.frame(), 64, 1});
    EXPECT_NEAR(map.at(32, 32), 400, 12) << depth;
  }
}

// Reference: a ray at the angle θ to the axis crosses a sheet of n particles per area that faces the camera on a path
// longer by 1 / cos θ, and so do its particles: n / cos θ.
TEST(Camera, ASheetIsDenserWhereTheRayCrossesItAslant) {
  std::vector<Vec3<double>> places;
  for (int i = -200; i < 200; ++i)
    for (int j = -200; j < 200; ++j) places.push_back({0.05 * i + 0.025, 0.05 * j + 0.025, 0});
  const CameraView view({{0, 0, 10}, {0, 0, 0}, {0, 1, 0}, 70});
  const int pixels = 64;
  const auto map = project(view.see(at(places)), {SightLine::z, view.frame(), pixels, 1});
  const double pixel = view.frame().width / pixels;
  for (const int column : {4, 32, 52}) {  // the first of eight
    double seen = 0, expected = 0;
    for (int i = column; i < column + 8; ++i)
      for (int j = 28; j < 36; ++j) {
        const double x = (i + 0.5 - 0.5 * pixels) * pixel / 10, y = (j + 0.5 - 0.5 * pixels) * pixel / 10;
        seen += map.at(i, j) / 64;
        expected += 400 * std::sqrt(1 + x * x + y * y) / 64;
      }
    EXPECT_NEAR(seen / expected, 1, 0.01) << column;
  }
}

TEST(Camera, RefusesWhatCannotBeSeen) {
  const auto refuses = [](const Camera& camera, const char* word) {
    const auto message = error_of(ErrorKind::input, [&] { CameraView(camera).see(at({{1, 2, 3}})); });
    EXPECT_NE(message.find(word), std::string::npos) << message;
  };
  refuses({{0, 0, 0}, {0, 0, 0}, {0, 0, 1}, 45}, "target");
  refuses({{0, 0, 5}, {0, 0, 0}, {0, 0, 1}, 45}, "up");
  refuses({{0, 5, 5}, {0, 0, 0}, {0, 0, 1}, 0}, "field of view");
  refuses({{0, 5, 5}, {0, 0, 0}, {0, 0, 1}, 180}, "field of view");
  refuses({{1, 2, 3}, {0, 0, 0}, {0, 0, 1}, 45}, "inside particle id 1");
}

TEST(Render, AGivenRangeMeansTheSameColoursInEveryPicture) {
  std::vector<Vec3<double>> places;
  for (int i = 0; i < 100000; ++i)
    places.push_back({std::fmod(0.618034 * i, 1) * 4 - 2, std::fmod(0.754878 * i, 1) * 4 - 2, 0});
  Particles one = at(places), two = one;
  for (auto& m : two.mass) m = 3;
  RenderOptions options{"gray", "", "", "", false};
  options.range = DensityRange{1e3, 1e5};
  const ProjectionOptions projection{SightLine::z, {{0, 0, 0}, 4}, 64, 1};
  const auto level = [&](const Particles& p) {
    const Image image = rasterize(render(project(p, projection), options));
    return image.at(32, 32).r / 255.0 / 0.93;  // the place in the range, as the gray map has it
  };
  const double density = 1e5 / 16;
  EXPECT_NEAR(level(one), std::log10(density / 1e3) / 2, 0.04);
  EXPECT_NEAR(level(two) - level(one), std::log10(3.0) / 2, 0.02);
}

}  // namespace
}  // namespace pergola
