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

}  // namespace pergola
