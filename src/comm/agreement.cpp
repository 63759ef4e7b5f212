#include "comm/agreement.hpp"

#include "base/error.hpp"
#include "comm/failure.hpp"

namespace pergola {

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

}  // namespace pergola
