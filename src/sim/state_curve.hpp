#pragma once
#include <string>
#include <vector>

namespace pergola {

/// Something of a system at one moment that is best seen as a curve, in the units of the configuration.
struct StateCurve {
  enum class Look { line, logarithmic, bars };  // logarithmic: y; bars: both axes
  std::string title;
  Look look = Look::line;
  std::vector<double> x, y;  // x rising
};

}  // namespace pergola
