#include "config/registered_keys.hpp"

#include <utility>

namespace pergola {

namespace {

std::vector<NumberKey>& keys() {
  static std::vector<NumberKey> all{{"output.radii_every",
                                     "time between lines of lagrangian.csv; 0: none, -1: that of energy.csv",
                                     Range::at_least(-1), -1}};
  return all;
}

}  // namespace

void register_number_key(NumberKey key) { keys().push_back(std::move(key)); }

const std::vector<NumberKey>& registered_number_keys() { return keys(); }

}  // namespace pergola
