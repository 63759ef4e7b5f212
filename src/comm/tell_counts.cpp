#include "comm/tell_counts.hpp"

namespace pergola {

std::vector<std::int64_t> tell_counts(Communicator& ranks, const std::vector<std::int64_t>& to_each) {
  const auto size = static_cast<std::size_t>(ranks.size()), own = static_cast<std::size_t>(ranks.rank());
  // On their way: at k the number whose goal is k ranks on from the one that has it now, less those passed already.
  std::vector<std::int64_t> on_way(size), told(size), out, in;
  for (std::size_t k = 0; k < size; ++k) on_way[k] = to_each[(own + k) % size];
  for (std::size_t far = 1; far < size; far *= 2) {
    out.clear();
    for (std::size_t k = 0; k < size; ++k)
      if (k & far) out.push_back(on_way[k]);
    in.resize(out.size());
    const std::size_t bytes = out.size() * sizeof out[0];
    ranks.exchange({{static_cast<int>((own + far) % size), out.data(), bytes}},
                   {{static_cast<int>((own + size - far) % size), in.data(), bytes}});
    std::size_t next = 0;
    for (std::size_t k = 0; k < size; ++k)
      if (k & far) on_way[k] = in[next++];
  }
  for (std::size_t k = 0; k < size; ++k) told[(own + size - k) % size] = on_way[k];
  return told;
}

}  // namespace pergola
