#pragma once
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "base/range.hpp"

namespace pergola {

/// A number of [output] that a registered output (outputs/output.hpp) brings with it. Its value is
/// RunConfig::output.more[path].
struct NumberKey {
  std::string path;  // "output.NAME"
  std::string help;
  Range range;
  double default_value = 0;
};

/// Adds a key, before any configuration is read.
PERGOLA_API void register_number_key(NumberKey key);
const std::vector<NumberKey>& registered_number_keys();

}  // namespace pergola
