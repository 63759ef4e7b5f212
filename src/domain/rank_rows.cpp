#include "domain/rank_rows.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/agreement.hpp"

namespace pergola {

namespace {

/// Instead of a request: rank 0 is done. `first` is then the ErrorKind of what it threw, 0: nothing.
constexpr std::int64_t done = -1;
/// As the number of rows: something that all ranks do together.
constexpr std::int64_t by_all = -1;

/// Stands before the rows of an answer: what the rank threw instead.
struct AnswerHeader {
  std::int64_t kind = 0;
  char words[248] = {};
};

AnswerHeader header_of(const Failure& failure) {
  AnswerHeader header;
  header.kind = static_cast<std::int64_t>(failure.kind);
  const std::size_t length = std::min(failure.message.size(), sizeof header.words - 1);
  std::memcpy(header.words, failure.message.data(), length);
  return header;
}

}  // namespace

RankRows::Part RankRows::part_of(const Request& request, int rank) const {
  const Shares shares{request.total > 0 ? request.total : shares_.total, shares_.ranks};
  const std::int64_t own_first = shares.first(rank), own_end = shares.first(rank + 1);
  if (request.chosen) {
    const auto* const list_end = request.chosen + request.count;
    const auto* const begin = std::lower_bound(request.chosen, list_end, own_first);
    const auto* const end = std::lower_bound(begin, list_end, own_end);
    return {begin - request.chosen, {request.what, 0, end - begin, request.row_bytes, begin}};
  }
  const std::int64_t begin = std::max(request.first, own_first);
  const std::int64_t end = std::min(request.first + request.count, own_end);
  return {begin - request.first,
          {request.what, begin - own_first, std::max<std::int64_t>(end - begin, 0), request.row_bytes}};
}

void RankRows::on_root(const std::function<void()>& action, const Answer& answer) {
  if (!communicator_.is_root()) return serve(answer);
  Failure failure;
  answer_ = &answer;
  try {
    action();
  } catch (...) {
    failure = current_failure();
  }
  answer_ = nullptr;
  share_value(communicator_, Request{done, failure.exception ? static_cast<std::int64_t>(failure.kind) : 0, 0, 0});
  if (!failure.exception) return;
  share(communicator_, failure.message);
  std::rethrow_exception(failure.exception);
}

void RankRows::serve(const Answer& answer) {
  std::vector<std::byte> message;
  std::vector<std::uint32_t> chosen;
  while (true) {
    Request request = share_value(communicator_, Request{});
    if (request.what == done) {
      if (request.first == 0) return;
      std::string words;
      share(communicator_, words);
      throw Error(static_cast<ErrorKind>(request.first), words);
    }
    if (request.count == by_all) {
      try {
        on_all(communicator_, [&] { answer(request, nullptr); });
      } catch (...) {
        // Rank 0 has the same failure, and will say so.
      }
      continue;
    }
    if (request.chosen) {  // rank 0's own memory: its list follows
      chosen.resize(static_cast<std::size_t>(request.count));
      communicator_.broadcast(chosen.data(), chosen.size() * sizeof(std::uint32_t));
      request.chosen = chosen.data();
    }
    const auto [at, own] = part_of(request, communicator_.rank());
    const auto own_first = static_cast<std::uint32_t>(shares_.first(communicator_.rank()));
    if (own.chosen)
      for (std::int64_t k = at; k < at + own.count; ++k) chosen[static_cast<std::size_t>(k)] -= own_first;
    std::vector<Communicator::Outgoing> out;
    if (own.count > 0) {
      AnswerHeader header;
      message.resize(sizeof header + static_cast<std::size_t>(own.count * own.row_bytes));
      try {
        answer(own, message.data() + sizeof header);
      } catch (...) {
        header = header_of(current_failure());
      }
      std::memcpy(message.data(), &header, sizeof header);
      out.push_back({0, message.data(), message.size()});
    }
    communicator_.exchange(out, {});
  }
}

void RankRows::together(const Request& request) {
  const Request by_each{request.what, request.first, by_all, 0};
  share_value(communicator_, by_each);
  on_all(communicator_, [&] { (*answer_)(by_each, nullptr); });
}

void RankRows::read(const Request& request, const Take& take) {
  if (request.count == 0) return;
  share_value(communicator_, request);
  if (request.chosen) {
    std::vector<std::uint32_t> chosen(request.chosen, request.chosen + request.count);
    communicator_.broadcast(chosen.data(), chosen.size() * sizeof(std::uint32_t));
  }
  const int ranks = communicator_.size();
  std::vector<std::vector<std::byte>> messages(static_cast<std::size_t>(ranks));
  std::vector<Communicator::Incoming> in;
  for (int rank = 1; rank < ranks; ++rank) {
    const std::int64_t count = part_of(request, rank).own.count;
    if (count == 0) continue;
    auto& message = messages[static_cast<std::size_t>(rank)];
    message.resize(sizeof(AnswerHeader) + static_cast<std::size_t>(count * request.row_bytes));
    in.push_back({rank, message.data(), message.size()});
  }
  communicator_.exchange({}, in);
  const auto [own_at, own] = part_of(request, 0);
  if (own.count > 0) {
    std::vector<std::byte> rows(static_cast<std::size_t>(own.count * own.row_bytes));
    (*answer_)(own, rows.data());
    take(own_at, own.count, rows.data());
  }
  for (const auto& message : in) {
    AnswerHeader header;
    std::memcpy(&header, message.data, sizeof header);
    if (header.kind != 0) throw Error(static_cast<ErrorKind>(header.kind), header.words);
    const auto [at, part] = part_of(request, message.rank);
    take(at, part.count, static_cast<const std::byte*>(message.data) + sizeof header);
  }
}

}  // namespace pergola
