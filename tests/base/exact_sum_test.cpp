#include "base/exact_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <vector>

#include "base/philox.hpp"

namespace pergola {
namespace {

double sum(const std::vector<double>& values) {
  ExactSum s;
  for (double v : values) s.add(v);
  return s.value();
}

// Reference: sums that can be written down.
TEST(ExactSum, RoundsOnceAtTheEnd) {
  EXPECT_EQ(sum({}), 0);
  EXPECT_EQ(sum({1e300, 1, -1e300}), 1);
  EXPECT_EQ(sum({DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX, DBL_TRUE_MIN}), DBL_TRUE_MIN);
  EXPECT_EQ(sum({-0x1p-1074, -0x1p-1074}), -0x1p-1073);
  EXPECT_EQ(sum({0x1p-1022, -0x1p-1074}), 0x1p-1022 - 0x1p-1074);
  EXPECT_EQ(sum({1, 0x1p-53}), 1);                       // a tie goes to the even one
  EXPECT_EQ(sum({1, 0x1p-53, 0x1p-1000}), 1 + 0x1p-52);  // no tie
  EXPECT_EQ(sum({1 + 0x1p-52, 0x1p-53}), 1 + 0x1p-51);   // a tie goes to the even one
  EXPECT_EQ(sum({-1, -0x1p-53, -0x1p-1000}), -1 - 0x1p-52);
  EXPECT_EQ(sum({3, -5}), -2);
  EXPECT_EQ(sum({0.0, -0.0}), 0);
}

// Reference: the same numbers as whole multiples of 2^-40, summed as whole numbers.
TEST(ExactSum, AgreesWithWholeNumbersInAnyOrderAndAnyParts) {
  std::vector<double> values;
  __int128 whole = 0;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    std::uint32_t words[4];
    Philox(5, 0, i).block(0, words);
    const std::int64_t number = (static_cast<std::int64_t>(words[0]) << 20 | words[1] >> 12) >> (words[2] % 50);
    values.push_back(std::ldexp(static_cast<double>(words[3] % 3 == 0 ? -number : number), -40));
    whole += words[3] % 3 == 0 ? -number : number;
  }
  const double expected = std::ldexp(static_cast<double>(whole), -40);
  EXPECT_EQ(sum(values), expected);
  std::reverse(values.begin(), values.end());
  EXPECT_EQ(sum(values), expected);
  std::sort(values.begin(), values.end());
  ExactSum parts[7], all;
  for (std::size_t k = 0; k < values.size(); ++k) parts[k % 7].add(values[k]);
  for (const auto& part : parts) all.add(part);
  EXPECT_EQ(all.value(), expected);
}

}  // namespace
}  // namespace pergola
