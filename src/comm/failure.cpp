#include "comm/failure.hpp"

#include <new>
#include <system_error>

namespace pergola {

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
    failure.message = error.what();
  } catch (const std::exception& error) {
    failure.message = error.what();
  } catch (...) {
    failure.message = "an exception of an unknown kind";
  }
  return failure;
}

}  // namespace pergola
