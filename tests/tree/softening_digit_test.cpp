#include "tree/softening_digit.hpp"

#include <gtest/gtest.h>

namespace pergola::tree {
namespace {

constexpr Vec3<double> place{0.123456789, 0.7654321, 0.5000001};

TreeSoftening lengths(const double* epsilon, bool uniform) { return {epsilon, uniform, SofteningKernel::plummer, 0}; }

TEST(SofteningDigit, OneLengthHasMortonKeys) {
  const double epsilon[6] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
  const auto digit = softening_digits(lengths(epsilon, true));
  EXPECT_EQ(digit.upper(place, 0), upper_key(place));
  EXPECT_EQ(digit.lower(place), lower_key(place));
}

TEST(SofteningDigit, EqualLengthsShareADigit) {
  const double epsilon[6] = {0, 0.05, 0.01, 0.01, 0, 0.05};
  const auto digit = softening_digits(lengths(epsilon, false));
  const std::uint8_t expected[6] = {0, 1, 2, 2, 0, 1};
  for (int s = 0; s < 6; ++s) EXPECT_EQ(digit.of_species[s], expected[s]) << s;
}

// The digit stands after those of the levels above it; both keys together lose the last of the 42 levels only.
TEST(SofteningDigit, StandsBetweenTheLevels) {
  for (const int level : {0, 1, 7, 20}) {
    SofteningDigit digit;
    digit.level = level;
    const std::uint64_t upper = digit.upper(place, 5), lower = digit.lower(place);
    const auto of = [](std::uint64_t key, int k) { return key >> 3 * (key_levels - 1 - k) & 7; };
    EXPECT_EQ(of(upper, level), 5u);
    for (int k = 0; k < 2 * key_levels - 1; ++k) {
      const auto expected = k < key_levels ? of(upper_key(place), k) : of(lower_key(place), k - key_levels);
      const int at = k < level ? k : k + 1;
      EXPECT_EQ(at < key_levels ? of(upper, at) : of(lower, at - key_levels), expected) << "level " << k;
    }
  }
}

TEST(SofteningDigit, LevelIsTheLastWithCellsThatWide) {
  EXPECT_EQ(softening_level(8, 16), 0);
  EXPECT_EQ(softening_level(8, 8), 0);
  EXPECT_EQ(softening_level(8, 4), 1);
  EXPECT_EQ(softening_level(8, 1.5), 2);
  EXPECT_EQ(softening_level(8, 0), key_levels - 1);
}

}  // namespace
}  // namespace pergola::tree
