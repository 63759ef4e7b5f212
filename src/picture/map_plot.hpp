#pragma once
#include <optional>
#include <string>
#include <vector>

#include "picture/plot.hpp"

namespace pergola {

/// A function of two variables in colours, with axes, a colour bar and lines on top (Plot::add_series).
class PERGOLA_API MapPlot {
 public:
  Plot plot;
  std::string colormap = "magma";
  Axis colors;              // the bar: label, logarithmic or not, limits; without limits they follow the values
  double decades_most = 4;  // of a logarithmic bar without limits, from the highest value down

  /// Values over the whole field, `columns` in a row, row 0 at the bottom; `x` and `y` are the field's limits. Throws
  /// Error(input) when the number of values is not that of the cells.
  void set_values(int columns, int rows, std::vector<double> values, std::pair<double, double> x,
                  std::pair<double, double> y);
  Drawing draw(int width, int height) const;

 private:
  Scale color_scale() const;
  int columns_ = 0, rows_ = 0;
  std::vector<double> values_;
};

}  // namespace pergola
