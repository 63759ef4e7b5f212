#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "picture/image.hpp"

// Colour maps: magma, inferno, viridis and plasma as polynomials, grey, and a diverging map for values of both signs.
// A map is a table of 256 colours that is made once; equal steps of the value look equally large.
namespace pergola {

/// The names of the sequential maps.
PERGOLA_API std::vector<std::string> colormap_names();

/// A map for values of both signs: blue, light grey at 0, red.
inline constexpr const char* diverging_colormap = "coolwarm";

/// A perceptually uniform colour map, dark at 0 and bright at 1; or the diverging map.
class PERGOLA_API Colormap {
 public:
  /// Throws Error(input) that lists the valid names.
  explicit Colormap(std::string_view name);
  /// `t` is clamped to 0 … 1.
  Color operator()(double t) const {
    return table_[static_cast<std::size_t>(255.0 * (t > 0 ? (t < 1 ? t : 1) : 0) + 0.5)];
  }

 private:
  std::vector<Color> table_;
};

}  // namespace pergola
