#include "comm/failure.hpp"

#include <new>

namespace pergola {

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
