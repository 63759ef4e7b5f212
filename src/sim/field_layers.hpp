#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "sim/state_map.hpp"

namespace pergola {

/// Calls `use` with the values of a field, x fastest: all, or some whole rows along x at a time, in their order;
/// `first` is the place of the first of them.
using FieldLayers =
    std::function<void(const std::function<void(std::int64_t first, const std::vector<double>& values)>& use)>;

/// Of a field that lives longer than this.
inline FieldLayers whole_field(const std::vector<double>& values) {
  return [&values](const auto& use) { use(0, values); };
}

/// state_map() of a field in layers, times `factor`.
PERGOLA_API StateMap state_map(std::string title, std::string unit, const FieldLayers& values, double factor,
                               const std::array<int, 3>& cells, const std::array<double, 2>& spacing);

}  // namespace pergola
