#include "comm/agreement.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <new>

#include "comm/collectives.hpp"

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

/// How these facts differ from those of rank 0. Empty if they do not.
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

void share(Communicator& communicator, std::string& text) {
  if (communicator.size() == 1) return;
  text.resize(share_value(communicator, text.size()));
  communicator.broadcast(text.data(), text.size());
}

void on_root(Communicator& communicator, const std::function<void()>& action) {
  if (communicator.size() == 1) return action();
  Failure failure;
  if (communicator.is_root()) try {
      action();
    } catch (...) {
      failure = current_failure();
    }
  const int kind = share_value(communicator, failure.exception ? static_cast<int>(failure.kind) : 0);
  if (kind == 0) return;
  share(communicator, failure.message);
  if (failure.exception) std::rethrow_exception(failure.exception);
  throw Error(static_cast<ErrorKind>(kind), failure.message);
}

void on_all(Communicator& communicator, const std::function<void()>& action) {
  if (communicator.size() == 1) return action();
  Failure failure;
  try {
    action();
  } catch (...) {
    failure = current_failure();
  }
  std::int64_t first = failure.exception ? communicator.rank() : communicator.size();
  communicator.all_reduce(&first, 1, Reduction::minimum);
  if (first == communicator.size()) return;
  const int from = static_cast<int>(first);
  int kind = static_cast<int>(failure.kind);
  communicator.broadcast(&kind, sizeof kind, from);
  auto length = static_cast<std::uint64_t>(failure.message.size());
  communicator.broadcast(&length, sizeof length, from);
  std::string words = failure.message;
  words.resize(length);
  communicator.broadcast(words.data(), words.size(), from);
  if (communicator.rank() == from) std::rethrow_exception(failure.exception);
  throw Error(static_cast<ErrorKind>(kind), words);
}

void require_agreement(Communicator& communicator, const std::vector<Fact>& facts) {
  if (communicator.size() == 1) return;
  std::string first = packed(facts);
  share(communicator, first);
  std::string said = difference(facts, unpacked(first), communicator.rank());
  const std::vector<std::uint64_t> lengths = gather_values(communicator, std::uint64_t{said.size()});
  const auto differs = std::find_if(lengths.begin(), lengths.end(), [](std::uint64_t length) { return length > 0; });
  if (differs == lengths.end()) return;
  said.resize(*differs);
  communicator.broadcast(said.data(), said.size(), static_cast<int>(differs - lengths.begin()));
  throw Error(ErrorKind::input, said);
}

std::string words_of(const std::system_error& error) {
  const bool thread = error.code() == std::errc::resource_unavailable_try_again;
  return (thread ? "a thread cannot be started: " : "") + std::string(error.what());
}

Failure current_failure() {
  Failure failure;
  failure.exception = std::current_exception();
  try {
    throw;
  } catch (const Error& error) {
    failure.kind = error.kind();
    failure.message = error.what();
  } catch (const std::bad_alloc&) {
    failure.kind = ErrorKind::device;
    failure.message = "cpu: out of memory";
  } catch (const std::system_error& error) {
    failure.kind = ErrorKind::system;
    failure.message = words_of(error);
  } catch (const std::exception& error) {
    failure.message = error.what();
  } catch (...) {
    failure.message = "an exception of an unknown kind";
  }
  return failure;
}

}  // namespace pergola
