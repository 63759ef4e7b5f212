#pragma once
#include <functional>
#include <string>

#include "comm/communicator.hpp"

namespace pergola {

/// Rank 0 does what only one process may do (files, clocks) and all ranks learn how it went: an Error that `action`
/// throws on rank 0 is thrown on every rank.
PERGOLA_API void on_root(Communicator& communicator, const std::function<void()>& action);

/// All ranks do it and learn how it went: where one throws all throw, the rank its own exception, the others an Error
/// of the same kind and words; of several ranks the first one's. Nothing in `action` is a call of all ranks.
PERGOLA_API void on_all(Communicator& communicator, const std::function<void()>& action);

/// Rank 0's text on every rank.
PERGOLA_API void share(Communicator& communicator, std::string& text);

/// Rank 0's value on every rank.
template <class T>
T share_value(Communicator& communicator, T value) {
  communicator.broadcast(&value, sizeof value);
  return value;
}

}  // namespace pergola
