#include "base/range.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace pergola {
namespace {

TEST(Range, HoldsItsEndsUnlessTheyAreOpen) {
  EXPECT_TRUE(Range::at_least(0).contains(0));
  EXPECT_FALSE(Range::above(0).contains(0));
  EXPECT_TRUE(Range::between(1, 2).contains(2));
  EXPECT_FALSE(Range::between(1, 2).contains(2.5));
}

TEST(Range, HoldsNoInfinityAndNoNan) {
  EXPECT_FALSE(Range{}.contains(INFINITY));
  EXPECT_FALSE(Range{}.contains(-INFINITY));
  EXPECT_FALSE(Range{}.contains(NAN));
}

TEST(Range, SaysWhatItExpects) {
  EXPECT_EQ(Range{}.text(), "a number");
  EXPECT_EQ(Range::above(0).text(), "a number > 0");
  EXPECT_EQ(Range::at_least(1).text("an integer"), "an integer >= 1");
  EXPECT_EQ(Range::between(0, 1).text(), "a number from 0 to 1");
  EXPECT_EQ((Range{0, 1, true, false}).text(), "a number > 0 and <= 1");
  EXPECT_EQ(Range::between(1, 1).text(), "1");
}

}  // namespace
}  // namespace pergola
