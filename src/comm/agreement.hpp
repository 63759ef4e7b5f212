#pragma once
#include <functional>
#include <string>

#include "comm/communicator.hpp"

namespace pergola {

/// Rank 0 does what only one process may do (files, clocks) and all ranks learn how it went: an Error that `action`
/// throws on rank 0 is thrown on every rank.
PERGOLA_API void on_root(Communicator& communicator, const std::function<void()>& action);

/// Rank 0's text on every rank.
PERGOLA_API void share(Communicator& communicator, std::string& text);

/// Rank 0's value on every rank.
template <class T>
T share_value(Communicator& communicator, T value) {
  communicator.broadcast(&value, sizeof value);
  return value;
}

}  // namespace pergola
