#include "comm/facts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "base/error.hpp"
#include "comm/agreement.hpp"

namespace pergola {

namespace {

constexpr char separator = '\0';

std::string packed(const std::vector<Fact>& facts) {
  std::string text;
  for (const Fact& fact : facts) text += fact.key + separator + fact.value + separator;
  return text;
}

std::vector<Fact> unpacked(const std::string& text) {
  std::vector<Fact> facts;
  for (std::size_t at = 0; at < text.size();) {
    const auto middle = text.find(separator, at), end = text.find(separator, middle + 1);
    facts.push_back({text.substr(at, middle - at), text.substr(middle + 1, end - middle - 1)});
    at = end + 1;
  }
  return facts;
}

std::string shortened(const std::string& value) {
  constexpr std::size_t longest = 200;
  return value.size() <= longest ? value : fmt::format("{}...", value.substr(0, longest));
}

/// How these facts differ from those of rank 0; empty: not at all.
std::string difference(const std::vector<Fact>& facts, const std::vector<Fact>& first, int rank) {
  const auto value_of = [](const std::vector<Fact>& all, const std::string& key) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Fact& fact) { return fact.key == key; });
    return found == all.end() ? std::string("nothing") : shortened(found->value);
  };
  std::string key;
  for (std::size_t k = 0; key.empty() && k < std::max(facts.size(), first.size()); ++k) {
    if (k >= first.size())
      key = facts[k].key;
    else if (k >= facts.size() || facts[k].key != first[k].key || facts[k].value != first[k].value)
      key = first[k].key;
  }
  if (key.empty()) return {};
  return fmt::format("rank {}: {}: expected {}, as on rank 0, found {}", rank, key, value_of(first, key),
                     value_of(facts, key));
}

}  // namespace

void require_agreement(Communicator& communicator, const std::vector<Fact>& facts) {
  if (communicator.size() == 1) return;
  std::string first = packed(facts);
  share(communicator, first);
  std::string said = difference(facts, unpacked(first), communicator.rank());
  std::vector<std::uint64_t> lengths(static_cast<std::size_t>(communicator.size()));
  lengths[static_cast<std::size_t>(communicator.rank())] = said.size();
  communicator.all_gather_in_place(lengths.data(), std::vector<std::size_t>(lengths.size(), sizeof lengths[0]));
  const auto differs = std::find_if(lengths.begin(), lengths.end(), [](std::uint64_t length) { return length > 0; });
  if (differs == lengths.end()) return;
  said.resize(*differs);
  communicator.broadcast(said.data(), said.size(), static_cast<int>(differs - lengths.begin()));
  throw Error(ErrorKind::input, said);
}

}  // namespace pergola
