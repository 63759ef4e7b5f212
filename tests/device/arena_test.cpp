#include "device/arena.hpp"
#include "marks.hpp"

#include <gtest/gtest.h>

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

/// As the parts that take memory have it: one function for both.
struct Part {
  Buffer<double> positions;
  Buffer<std::uint8_t> flags;

  template <class Self>
  static void room(Self& self, Arena& arena, std::int64_t n) {
    arena.room(self.positions, 3 * n);
    arena.room(self.flags, n, n / 2);
  }
};

TEST(Arena, CountsWithoutMemoryWhatItGivesWithADevice) {
  const Device device = Device::open("cpu", 1);
  Part part;
  Arena counting, giving(device);
  Part::room(part, counting, 100);
  EXPECT_EQ(part.positions.size(), 0);
  EXPECT_EQ(counting.bytes(), 100 * (3 * 8 + 1));
  Part::room(part, giving, 100);
  EXPECT_EQ(giving.bytes(), counting.bytes());
  EXPECT_EQ(part.positions.size(), 300);
  EXPECT_EQ(part.flags.size(), 150);  // what is spare is not counted
}

TEST(Arena, WhatCannotChangeAndWhatLiesElsewhereIsOnlyCounted) {
  const Device device = Device::open("cpu", 1);
  const Part part;
  Arena arena(device);
  Part::room(part, arena, 10);
  arena.count<std::int32_t>(5);
  EXPECT_EQ(arena.bytes(), 10 * (3 * 8 + 1) + 20);
  EXPECT_EQ(part.positions.size(), 0);
}

TEST(Arena, ABufferThatIsLargeEnoughIsKept) {
  const Device device = Device::open("cpu", 1);
  Part part;
  Arena arena(device);
  Part::room(part, arena, 100);
  part.positions.data()[299] = 7;
  Part::room(part, arena, 50);
  EXPECT_EQ(part.positions.size(), 300);
  EXPECT_EQ(part.positions.data()[299], 7);
  Part::room(part, arena, 101);
  EXPECT_EQ(part.positions.size(), 303);
}

TEST(MemoryParts, StandAtMultiplesOf256BytesAndFromNullOnSayWhatTheyTake) {
  MemoryParts none(nullptr);
  none.take<double>(33);
  none.take<char>(1);
  EXPECT_EQ(none.used(), 512 + 256);
  alignas(256) std::byte memory[1024];
  MemoryParts parts(memory);
  EXPECT_EQ(reinterpret_cast<std::byte*>(parts.take<double>(33)), memory);
  EXPECT_EQ(reinterpret_cast<std::byte*>(parts.take<char>(1)), memory + 512);
}

}  // namespace
}  // namespace pergola
