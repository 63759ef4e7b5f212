#include "particles/box.hpp"
#include "marks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

/// Sides and shifts are small powers of two, so that images are exact.
template <class R>
void expect_images() {
  const Box box{{-1, 0, 4}, {2, 4, 8}, Boundary::periodic};
  for (int k = -3; k <= 3; ++k) {
    const Vec3<R> x{static_cast<R>(0.25 + 2 * k), static_cast<R>(3.5 - 4 * k), static_cast<R>(11.75 + 8 * k)};
    const Vec3<R> image = wrap(x, box);
    EXPECT_EQ(image.x, R(0.25)) << k;
    EXPECT_EQ(image.y, R(3.5)) << k;
    EXPECT_EQ(image.z, R(11.75)) << k;
  }
}

TEST(Box, ImageOfAVectorLiesInTheBoxOnEachAxis) {
  expect_images<double>();
  expect_images<float>();
}

TEST(Box, RoundingDoesNotPutAnImageOnTheUpperEdge) {
  const Box box{{0, 0, 0}, {1, 1, 1}, Boundary::periodic};
  const double below = -std::numeric_limits<double>::denorm_min(), edge = 1, within = std::nextafter(1.0, 0.0);
  const Vec3<double> image = wrap(Vec3<double>{below, edge, within}, box);
  EXPECT_EQ(image.x, 0);  // below + 1 rounds to 1
  EXPECT_EQ(image.y, 0);
  EXPECT_EQ(image.z, within);
}

}  // namespace
}  // namespace pergola
