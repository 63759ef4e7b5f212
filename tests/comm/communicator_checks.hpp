#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "comm/communicator.hpp"

namespace pergola {

// What any communicator must do, called by every rank. The expected values are computed by each rank for all of them.

inline std::uint8_t byte_of(int rank, std::size_t place) {
  return static_cast<std::uint8_t>(31 * static_cast<std::size_t>(rank) + 7 * place + 1);
}

inline void check_broadcast_and_gather(Communicator& ranks) {
  const int last = ranks.size() - 1;
  std::vector<int> text(1000, ranks.rank() == last ? 42 : ranks.rank());
  ranks.broadcast(text.data(), text.size() * sizeof(int), last);
  EXPECT_EQ(text, std::vector<int>(1000, 42));

  std::vector<std::size_t> sizes;  // rank r gives r bytes: rank 0 none
  for (int r = 0; r < ranks.size(); ++r) sizes.push_back(static_cast<std::size_t>(r));
  std::vector<std::uint8_t> all(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0})), expected;
  for (int r = 0; r < ranks.size(); ++r)
    for (std::size_t i = 0; i < sizes[static_cast<std::size_t>(r)]; ++i) {
      if (r == ranks.rank()) all[expected.size()] = byte_of(r, i);
      expected.push_back(byte_of(r, i));
    }
  ranks.all_gather_in_place(all.data(), sizes);
  EXPECT_EQ(all, expected);
}

inline void check_reductions(Communicator& ranks) {
  const std::int64_t rank = ranks.rank(), size = ranks.size(), large = std::int64_t{1} << 55;
  std::vector<std::int64_t> whole{rank, large + rank, -rank};
  ranks.all_reduce(whole.data(), whole.size(), Reduction::sum);
  EXPECT_EQ(whole, (std::vector<std::int64_t>{size * (size - 1) / 2, size * large + size * (size - 1) / 2,
                                              -size * (size - 1) / 2}));
  std::vector<std::int64_t> least{rank - 3, -rank}, most = least;
  ranks.all_reduce(least.data(), least.size(), Reduction::minimum);
  ranks.all_reduce(most.data(), most.size(), Reduction::maximum);
  EXPECT_EQ(least, (std::vector<std::int64_t>{-3, 1 - size}));
  EXPECT_EQ(most, (std::vector<std::int64_t>{size - 4, 0}));

  // Numbers of very different sizes: another order of the sum has other bits.
  const auto term = [](std::int64_t r) { return 1.0 / static_cast<double>(3 + r) * (r % 3 == 0 ? 1e12 : 1e-3); };
  double in_order = term(0);
  for (std::int64_t r = 1; r < size; ++r) in_order += term(r);
  double sum = term(rank), smallest = sum, largest = sum;
  ranks.all_reduce(&sum, 1, Reduction::sum);
  EXPECT_EQ(sum, in_order);
  ranks.all_reduce(&smallest, 1, Reduction::minimum);
  ranks.all_reduce(&largest, 1, Reduction::maximum);
  for (std::int64_t r = 0; r < size; ++r) {
    EXPECT_LE(smallest, term(r));
    EXPECT_GE(largest, term(r));
  }
  ranks.all_reduce(static_cast<double*>(nullptr), 0, Reduction::sum);
}

inline void check_all_to_all(Communicator& ranks) {
  // Rank s sends (s + 2 r) mod 5 bytes to rank r; some send nothing.
  const auto bytes = [](int from, int to) { return static_cast<std::size_t>((from + 2 * to) % 5); };
  std::vector<std::size_t> send_bytes, receive_bytes;
  std::vector<std::uint8_t> send, expected;
  for (int r = 0; r < ranks.size(); ++r) {
    send_bytes.push_back(bytes(ranks.rank(), r));
    receive_bytes.push_back(bytes(r, ranks.rank()));
    for (std::size_t i = 0; i < send_bytes.back(); ++i) send.push_back(byte_of(ranks.rank() + 64 * r, i));
    for (std::size_t i = 0; i < receive_bytes.back(); ++i) expected.push_back(byte_of(r + 64 * ranks.rank(), i));
  }
  std::vector<std::uint8_t> received(expected.size());
  ranks.all_to_all(send.data(), send_bytes, received.data(), receive_bytes);
  EXPECT_EQ(received, expected);
}

inline void check_neighbours(Communicator& ranks) {
  // Each rank hands its number to the next and the one before, and long messages one way. On one or two ranks these
  // are the same one.
  const int size = ranks.size(), next = (ranks.rank() + 1) % size, before = (ranks.rank() + size - 1) % size;
  const std::vector<double> long_one(100000, ranks.rank() + 0.5);
  std::vector<double> arrived(long_one.size());
  ranks.exchange({{next, long_one.data(), long_one.size() * sizeof(double)}},
                 {{before, arrived.data(), arrived.size() * sizeof(double)}});
  EXPECT_EQ(arrived, std::vector<double>(100000, before + 0.5));
  const std::int32_t both[2] = {10 * ranks.rank(), 10 * ranks.rank() + 1};
  std::int32_t in_order[2] = {-1, -1};
  ranks.exchange({{next, both, sizeof both[0]}, {next, both + 1, sizeof both[1]}},
                 {{before, in_order, sizeof in_order[0]}, {before, in_order + 1, sizeof in_order[1]}});
  EXPECT_EQ(in_order[0], 10 * before);
  EXPECT_EQ(in_order[1], 10 * before + 1);
  // Some that are too long to travel as one, with an empty one.
  std::vector<double> parts[2] = {std::vector<double>(7000), std::vector<double>(9000)};
  ranks.exchange(
      {{next, long_one.data(), 7000 * sizeof(double)}, {next, both, 0}, {next, long_one.data() + 7000, 72000}},
      {{before, parts[0].data(), 7000 * sizeof(double)}, {before, in_order, 0}, {before, parts[1].data(), 72000}});
  for (const auto& part : parts) EXPECT_EQ(part, std::vector<double>(part.size(), before + 0.5));
  if (size < 3) return;
  const std::int32_t mine = ranks.rank();
  std::int32_t from_next = -1, from_before = -1;
  ranks.exchange({{next, &mine, sizeof mine}, {before, &mine, sizeof mine}},
                 {{next, &from_next, sizeof from_next}, {before, &from_before, sizeof from_before}});
  EXPECT_EQ(from_next, next);
  EXPECT_EQ(from_before, before);
}

inline void check_agreement(Communicator& ranks) {
  std::string text = ranks.is_root() ? "the root's words" : "";
  share(ranks, text);
  EXPECT_EQ(text, "the root's words");
  try {
    on_root(ranks, [] { throw Error(ErrorKind::input, "file.toml: a bad key"); });
    ADD_FAILURE() << "no error on rank " << ranks.rank();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_STREQ(error.what(), "file.toml: a bad key");
  }
}

inline void check_all(Communicator& ranks) {
  for (int round = 0; round < 3; ++round) {
    check_broadcast_and_gather(ranks);
    check_reductions(ranks);
    ranks.barrier();
    check_all_to_all(ranks);
    check_neighbours(ranks);
    check_agreement(ranks);
  }
}

/// In two threads of each rank at once.
inline void check_beside(Communicator& ranks) {
  const auto beside = ranks.beside();
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->rank(), ranks.rank());
  std::thread second([&] { check_all(*beside); });
  check_all(ranks);
  second.join();
}

}  // namespace pergola
