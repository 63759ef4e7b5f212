#include "base/state_source.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace pergola {
namespace {

TEST(StateSource, PiecesAndBlocksHoldTheSameBytes) {
  std::vector<int> living(100);
  std::iota(living.begin(), living.end(), 7);
  StateSource source;
  source.put_range("z", sizeof(int), 100, [&](std::int64_t first, std::int64_t n, void* to) {
    std::copy_n(living.begin() + first, n, static_cast<int*>(to));
  });
  source.put_value("a", 2.5);
  source.put_value("a", 3.5);  // again: the later one counts
  ASSERT_EQ(source.ranges().size(), 2u);
  EXPECT_EQ(source.ranges()[0].name, "a");
  const StateRange& range = source.ranges()[1];
  EXPECT_EQ(range.bytes(), 100 * sizeof(int));
  std::vector<int> pieces(100);
  for (std::int64_t first = 0; first < 100; first += 30)
    range.copy(first, std::min<std::int64_t>(30, 100 - first), pieces.data() + first);
  EXPECT_EQ(pieces, living);

  const StateBlocks blocks = source.blocks();
  EXPECT_EQ(blocks.get<int>("z", 100), living);
  BlocksInput input(blocks);
  EXPECT_EQ(input.get_value<double>("a"), 3.5);
  EXPECT_EQ(input.get<int>("z", 100), living);
  EXPECT_EQ(input.names(), (std::vector<std::string>{"a", "z"}));
}

TEST(StateSource, AnInputSaysWhatIsMissingOrTooShort) {
  StateBlocks blocks;
  blocks.put_value("one", std::int32_t{1});
  BlocksInput input(blocks);
  const auto message = [&](auto&& act) {
    try {
      act();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(message([&] { input.get_value<int>("two"); }), "checkpoint: block two is missing");
  EXPECT_EQ(message([&] { input.get<int>("one", 2); }), "checkpoint: block one has 4 bytes, expected 8");
  int to[4];
  EXPECT_EQ(message([&] { input.read("one", 2, to, 4); }), "checkpoint: block one has 4 bytes, expected 6");
}

}  // namespace
}  // namespace pergola
