#include "tree/keys.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/philox.hpp"
#include "marks.hpp"

namespace pergola::tree {
namespace {

PERGOLA_MARK(threads, "*");

constexpr std::uint64_t last_cell = (std::uint64_t{1} << 42) - 1;

// Bit b of x, y, z is bit 3b + 2, 3b + 1, 3b of the key; bits from 21 on are left out.
TEST(Keys, EachBitHasItsPlace) {
  for (int bit = 0; bit < key_levels; ++bit) {
    const std::uint64_t one = std::uint64_t{1} << bit;
    EXPECT_EQ(interleave(one, 0, 0), std::uint64_t{4} << 3 * bit) << bit;
    EXPECT_EQ(interleave(0, one, 0), std::uint64_t{2} << 3 * bit) << bit;
    EXPECT_EQ(interleave(0, 0, one), std::uint64_t{1} << 3 * bit) << bit;
  }
  const std::uint64_t beyond = ~std::uint64_t{0} << key_levels;
  EXPECT_EQ(interleave(beyond, beyond, beyond), 0u);
  EXPECT_EQ(interleave(~beyond, ~beyond, ~beyond), (std::uint64_t{1} << 63) - 1);
}

TEST(Keys, PlacesBeyondTheEdgesAreInTheOutermostCells) {
  EXPECT_EQ(grid_place(0), 0u);
  EXPECT_EQ(grid_place(-1e-9), 0u);
  EXPECT_EQ(grid_place(-1e300), 0u);
  EXPECT_EQ(grid_place(0.5), std::uint64_t{1} << 41);
  EXPECT_EQ(grid_place(std::nextafter(0.5, 0)), (std::uint64_t{1} << 41) - 1);
  EXPECT_EQ(grid_place(0x1p-42), 1u);
  EXPECT_EQ(grid_place(std::nextafter(0x1p-42, 0)), 0u);
  EXPECT_EQ(grid_place(1 - 0x1p-42), last_cell);
  EXPECT_EQ(grid_place(1), last_cell);
  EXPECT_EQ(grid_place(1e300), last_cell);
}

// Reference: the cube halved 42 times; a digit says in which half of each axis the place is.
TEST(Keys, DigitsAreTheHalvesOfTheCube) {
  for (std::uint64_t k = 0; k < 200; ++k) {
    Philox random(7, 0, k);
    const Vec3<double> unit{random.uniform(), random.uniform(), random.uniform()};
    double low[3] = {0, 0, 0}, side = 1;
    const double at[3] = {unit.x, unit.y, unit.z};
    for (int level = 0; level < 2 * key_levels; ++level) {
      side /= 2;
      std::uint64_t digit = 0;
      for (int a = 0; a < 3; ++a) {
        const bool upper_half = at[a] >= low[a] + side;
        digit = 2 * digit + (upper_half ? 1 : 0);
        if (upper_half) low[a] += side;
      }
      const std::uint64_t key = level < key_levels ? upper_key(unit) : lower_key(unit);
      EXPECT_EQ(key >> 3 * (key_levels - 1 - level % key_levels) & 7, digit) << "level " << level;
    }
  }
}

// Cells are split by the highest digit in which their particles differ.
TEST(Keys, PlaceIsFoundFromTheUpperKey) {
  const double cell = 0x1p-21;
  for (const Vec3<double>& at : {Vec3<double>{0, 0, 0}, {0.3, 0.7, 0.999999999}, {0x1p-21, 0.5, 1 - 0x1p-30}}) {
    const Vec3<double> found = place_of_key(upper_key(at), SofteningDigit::no_digit);
    EXPECT_LE(std::abs(found.x - at.x), cell / 2 * (1 + 1e-9));
    EXPECT_LE(std::abs(found.y - at.y), cell / 2 * (1 + 1e-9));
    EXPECT_LE(std::abs(found.z - at.z), cell / 2 * (1 + 1e-9));
    for (const int level : {0, 7, 20}) {
      SofteningDigit digit;
      digit.level = level;
      const Vec3<double> with_digit = place_of_key(digit.upper(at, 5), level);
      EXPECT_LE(std::abs(with_digit.x - at.x), 1.5 * cell) << level;
      EXPECT_LE(std::abs(with_digit.y - at.y), 1.5 * cell) << level;
      EXPECT_LE(std::abs(with_digit.z - at.z), 1.5 * cell) << level;
    }
  }
}

TEST(Split, HighestDigitThatDiffers) {
  EXPECT_EQ(digit_shift(0, 1), 0);
  EXPECT_EQ(digit_shift(0, 7), 0);
  EXPECT_EQ(digit_shift(0, 8), 3);
  EXPECT_EQ(digit_shift(0721, 0731), 3);
  EXPECT_EQ(digit_shift(0, std::uint64_t{7} << 60), 60);
  EXPECT_EQ(digit_shift(std::uint64_t{5} << 60 | 3, std::uint64_t{5} << 60), 0);
}

TEST(Split, EndOfADigitIsTheFirstParticleAboveIt) {
  const std::vector<std::uint64_t> keys{010, 017, 020, 020, 023, 051, 052};
  const auto end = [&](std::uint32_t begin, std::uint64_t digit) {
    return end_of_digit(keys.data(), begin, 7, 3, digit);
  };
  EXPECT_EQ(end(0, 0), 0u);
  EXPECT_EQ(end(0, 1), 2u);
  EXPECT_EQ(end(2, 2), 5u);
  EXPECT_EQ(end(2, 4), 5u);
  EXPECT_EQ(end(5, 5), 7u);
}

TEST(Split, PartsHaveOneDigitEach) {
  std::vector<std::uint64_t> keys;
  const std::uint64_t head = std::uint64_t{3} << 57;
  for (const auto& [digit, count] : {std::pair<std::uint64_t, int>{0, 10}, {2, 40}, {7, 21}})
    for (int k = 0; k < count; ++k) keys.push_back(head | digit << 12 | static_cast<std::uint64_t>(k));
  const Pieces pieces = split_cell(0, 71, keys.data(), nullptr);
  ASSERT_EQ(pieces.count, 3);
  EXPECT_EQ(pieces.end[0], 10u);
  EXPECT_EQ(pieces.end[1], 50u);
  EXPECT_EQ(pieces.end[2], 71u);
  EXPECT_EQ(split_cell(0, leaf_capacity, keys.data(), nullptr).count, 0);
  EXPECT_EQ(split_cell(0, leaf_capacity + 1, keys.data(), nullptr).count, 3);
}

TEST(Split, LowerKeysDecideWhereUpperOnesAreTheSame) {
  const std::vector<std::uint64_t> upper(66, 5);
  std::vector<std::uint64_t> lower(66, 0);
  for (std::size_t k = 60; k < 66; ++k) lower[k] = 8;
  const Pieces pieces = split_cell(0, 66, upper.data(), lower.data());
  ASSERT_EQ(pieces.count, 2);
  EXPECT_EQ(pieces.end[0], 60u);
  EXPECT_EQ(pieces.end[1], 66u);
}

TEST(Split, ParticlesWithTheSameKeysAreSplitByTheirNumber) {
  const std::vector<std::uint64_t> keys(2000, 5);
  for (const std::uint64_t* lower : {static_cast<const std::uint64_t*>(nullptr), keys.data()}) {
    const Pieces some = split_cell(10, 150, keys.data(), lower), many = split_cell(0, 2000, keys.data(), lower);
    ASSERT_EQ(some.count, 3);
    EXPECT_EQ(some.end[0], 74u);
    EXPECT_EQ(some.end[1], 138u);
    EXPECT_EQ(some.end[2], 160u);
    ASSERT_EQ(many.count, 8);
    for (std::uint32_t k = 0; k < 8; ++k) EXPECT_EQ(many.end[k], 250 * (k + 1));
  }
}

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
