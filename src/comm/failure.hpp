#pragma once
#include <exception>
#include <string>

#include "base/error.hpp"
#include "base/host_device.hpp"

namespace pergola {

/// An exception as other ranks can be told of it.
struct Failure {
  std::exception_ptr exception;  // null: none
  ErrorKind kind = ErrorKind::numerics;
  std::string message;
};

/// The exception that is being handled.
PERGOLA_API Failure current_failure();

}  // namespace pergola
