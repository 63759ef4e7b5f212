#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"

namespace pergola::plasma {

/// Lists of things, of several kinds, that go to other ranks: to partners[p] of kind k those in out[p][k]. Returns what
/// has come, by kind, in the order of the partners. A call of all ranks; a rank's partners have it for a partner, and
/// it may be its own.
template <class Thing>
std::vector<std::vector<Thing>> hand_to_ranks(Communicator& ranks, const std::vector<int>& partners, std::size_t kinds,
                                              const std::vector<std::vector<std::vector<Thing>>>& out) {
  static_assert(std::is_trivially_copyable_v<Thing>);
  const std::size_t numbers = partners.size() * kinds;
  std::vector<std::int64_t> sent(numbers), coming(numbers);
  std::vector<Communicator::Outgoing> send;
  std::vector<Communicator::Incoming> receive;
  for (std::size_t p = 0; p < partners.size(); ++p) {
    for (std::size_t k = 0; k < kinds; ++k) sent[p * kinds + k] = std::ssize(out[p][k]);
    send.push_back({partners[p], sent.data() + p * kinds, kinds * sizeof(std::int64_t)});
    receive.push_back({partners[p], coming.data() + p * kinds, kinds * sizeof(std::int64_t)});
  }
  ranks.exchange(send, receive);
  send.clear(), receive.clear();
  std::vector<std::vector<Thing>> arrived(kinds);
  for (std::size_t k = 0; k < kinds; ++k) {
    std::int64_t count = 0;
    for (std::size_t p = 0; p < partners.size(); ++p) count += coming[p * kinds + k];
    arrived[k].resize(static_cast<std::size_t>(count));
  }
  std::vector<std::size_t> at(kinds);
  for (std::size_t p = 0; p < partners.size(); ++p)
    for (std::size_t k = 0; k < kinds; ++k) {
      const auto& list = out[p][k];
      const auto count = static_cast<std::size_t>(coming[p * kinds + k]);
      if (!list.empty()) send.push_back({partners[p], list.data(), list.size() * sizeof(Thing)});
      if (count > 0) receive.push_back({partners[p], arrived[k].data() + at[k], count * sizeof(Thing)});
      at[k] += count;
    }
  ranks.exchange(send, receive);
  return arrived;
}

}  // namespace pergola::plasma
