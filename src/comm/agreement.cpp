#include "comm/agreement.hpp"

#include <exception>
#include <new>

#include "base/error.hpp"

namespace pergola {

void share(Communicator& communicator, std::string& text) {
  if (communicator.size() == 1) return;
  text.resize(share_value(communicator, text.size()));
  communicator.broadcast(text.data(), text.size());
}

void on_root(Communicator& communicator, const std::function<void()>& action) {
  if (communicator.size() == 1) return action();
  std::exception_ptr failure;
  int kind = 0;
  std::string message;
  if (communicator.is_root()) try {
      action();
    } catch (const Error& error) {
      failure = std::current_exception();
      kind = static_cast<int>(error.kind());
      message = error.what();
    } catch (const std::bad_alloc&) {
      failure = std::current_exception();
      kind = static_cast<int>(ErrorKind::device);
      message = "cpu: out of memory";
    } catch (const std::exception& error) {
      failure = std::current_exception();
      kind = static_cast<int>(ErrorKind::numerics);
      message = error.what();
    }
  kind = share_value(communicator, kind);
  if (kind == 0) return;
  share(communicator, message);
  if (failure) std::rethrow_exception(failure);
  throw Error(static_cast<ErrorKind>(kind), message);
}

}  // namespace pergola
