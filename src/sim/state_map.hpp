#pragma once
// Curves and maps of a system at one moment, in the units of the configuration, for pages and pictures.
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

/// A curve.
struct StateCurve {
  enum class Look { line, logarithmic, bars };  // logarithmic: y; bars: both axes
  std::string title;
  Look look = Look::line;
  std::vector<double> x, y;  // x rising
};

/// A map over x and y.
struct StateMap {
  std::string title, unit;       // for people; the unit may be empty
  std::array<int, 2> cells{};    // along x and y
  std::array<double, 2> side{};  // lengths that they cover
  std::vector<float> values;     // x fastest, from the corner at the origin on
};

/// Values on a grid, x fastest, with sides of a cell in `spacing`; of three dimensions the mean over z.
PERGOLA_API StateMap state_map(std::string title, std::string unit, const std::vector<double>& values,
                               const std::array<int, 3>& cells, const std::array<double, 2>& spacing);

/// |E| from its components at the same points; the third may be empty.
PERGOLA_API std::vector<double> lengths_of(const std::array<std::vector<double>, 3>& components);

/// Gives the values of a field, x fastest: calls `use` with all of them, or with some whole rows along x at a time, in
/// order. `first`: the place of the first value.
using FieldLayers =
    std::function<void(const std::function<void(std::int64_t first, const std::vector<double>& values)>& use)>;

/// The layers of a field in memory, which must outlive them.
inline FieldLayers whole_field(const std::vector<double>& values) {
  return [&values](const auto& use) { use(0, values); };
}

/// state_map() of a field in layers, times `factor`.
PERGOLA_API StateMap state_map(std::string title, std::string unit, const FieldLayers& values, double factor,
                               const std::array<int, 3>& cells, const std::array<double, 2>& spacing);

}  // namespace pergola
