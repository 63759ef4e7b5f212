#include "domain/chunk_shares.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace pergola {

std::int64_t ChunkShares::first(int rank) const {
  return std::min(shares_.total, (shares_.first(rank) + chunk_ - 1) / chunk_ * chunk_);
}

std::int64_t ChunkShares::kept(int rank) const {
  return std::max<std::int64_t>(0, std::min(first(rank + 1), shares_.first(rank + 1)) - first(rank));
}

void ChunkShares::fetch_missing(Communicator& ranks, std::int64_t row_bytes, const Give& give, const Take& take) const {
  struct Message {
    int rank = 0;
    std::int64_t first = 0, count = 0;
    std::vector<std::byte> rows;
  };
  const auto wanted = [&](int rank, int keeper) {
    const std::int64_t begin = std::max(first(rank), shares_.first(keeper));
    const std::int64_t end = std::min(first(rank + 1), shares_.first(keeper + 1));
    return Message{keeper, begin, end - begin, std::vector<std::byte>(begin < end ? (end - begin) * row_bytes : 0)};
  };
  const int own = ranks.rank();
  std::vector<Message> given, taken;
  for (int rank = 0; rank < own; ++rank) {
    Message message = wanted(rank, own);
    if (message.rows.empty()) continue;
    give(message.first - shares_.first(own), message.count, message.rows.data());
    message.rank = rank;
    given.push_back(std::move(message));
  }
  for (int keeper = own + 1; keeper < ranks.size(); ++keeper)
    if (Message message = wanted(own, keeper); !message.rows.empty()) taken.push_back(std::move(message));
  std::vector<Communicator::Outgoing> out;
  std::vector<Communicator::Incoming> in;
  for (Message& one : given) out.push_back({one.rank, one.rows.data(), one.rows.size()});
  for (Message& one : taken) in.push_back({one.rank, one.rows.data(), one.rows.size()});
  ranks.exchange(out, in);
  for (const Message& one : taken) take(one.first - first(own) - kept(own), one.count, one.rows.data());
}

}  // namespace pergola
