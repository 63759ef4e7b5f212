#pragma once
#include <exception>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "base/host_device.hpp"

namespace pergola {

/// An exception as other ranks can be told of it.
struct Failure {
  std::exception_ptr exception;  // null: none
  ErrorKind kind = ErrorKind::numerics;
  std::string message;
};

/// What it says; where a thread cannot be started, its own words alone would tell nobody what was wanted.
PERGOLA_API std::string words_of(const std::system_error& error);

/// The exception that is being handled.
PERGOLA_API Failure current_failure();

}  // namespace pergola
