#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace pergola {

/// Messages between two ranks in one exchange that are no longer than this together travel as one: a short message
/// takes as long as its way, a long one as its bytes.
constexpr std::size_t most_joined_bytes = 65536;

/// How messages of an exchange travel: those of each element as one, in this order. Empty ones are left out. Sender and
/// receiver, who both know of all messages between them, find the same.
template <class Message>
std::vector<std::vector<Message>> joined_messages(std::vector<Message> all) {
  std::erase_if(all, [](const Message& message) { return message.bytes == 0; });
  std::stable_sort(all.begin(), all.end(), [](const Message& a, const Message& b) { return a.rank < b.rank; });
  std::vector<std::vector<Message>> joined;
  for (auto first = all.begin(); first != all.end();) {
    std::size_t bytes = 0;
    auto end = first;
    for (; end != all.end() && end->rank == first->rank; ++end) bytes += end->bytes;
    if (bytes <= most_joined_bytes)
      joined.emplace_back(first, end);
    else
      for (; first != end; ++first) joined.push_back({*first});
    first = end;
  }
  return joined;
}

}  // namespace pergola
