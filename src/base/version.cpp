#include "base/version.hpp"

#include <pergola_commit.hpp>

namespace pergola {

const char* version() { return PERGOLA_VERSION; }
const char* build_commit() { return PERGOLA_COMMIT; }

}  // namespace pergola
