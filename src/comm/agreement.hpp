#pragma once
#include <exception>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator.hpp"

// How ranks agree: on values and texts of rank 0, on whether an action succeeded, and on what all must have in common.
//
// A rank that throws alone leaves the others waiting in their next collective call. So an action that may fail on some
// ranks runs inside on_root() or on_all(): either no rank throws, or all ranks throw an Error of the same kind and
// message. All functions here are collective; with one rank they only run the action.
namespace pergola {

/// Runs `action` on rank 0 only (files, clocks). An Error that it throws there is thrown on every rank.
PERGOLA_API void on_root(Communicator& communicator, const std::function<void()>& action);

/// Runs `action` on all ranks. If any rank throws, all throw: that rank its own exception, the others an Error of the
/// same kind and message. If several throw, the lowest of them decides. `action` makes no collective calls.
PERGOLA_API void on_all(Communicator& communicator, const std::function<void()>& action);

/// Sends the text of rank 0 to every rank.
PERGOLA_API void share(Communicator& communicator, std::string& text);

/// Returns the value of rank 0 on every rank.
template <class T>
T share_value(Communicator& communicator, T value) {
  communicator.broadcast(&value, sizeof value);
  return value;
}

/// Something on which all ranks must agree.
struct Fact {
  std::string key, value;
};

/// Compares the facts of all ranks. If one differs, throws Error(input) on every rank, with the rank, the key and both
/// values.
PERGOLA_API void require_agreement(Communicator& communicator, const std::vector<Fact>& facts);

/// An exception, in a form that other ranks can receive.
struct Failure {
  std::exception_ptr exception;  // null: none
  ErrorKind kind = ErrorKind::numerics;
  std::string message;
};

/// The exception that is being handled.
PERGOLA_API Failure current_failure();

/// The message of a system_error. If a thread cannot be started it says so, which the error's own text does not.
PERGOLA_API std::string words_of(const std::system_error& error);

}  // namespace pergola
