#pragma once
#include <string>
#include <vector>

#include "picture/drawing.hpp"

namespace pergola {

/// Horizontal bars with a name before and a text behind each, the first at the top.
class PERGOLA_API BarChart {
 public:
  std::string title;
  void add_bar(std::string name, double value, std::string text);
  /// As high as its bars need.
  Drawing draw(int width) const;

 private:
  struct Bar {
    std::string name;
    double value = 0;
    std::string text;
  };
  std::vector<Bar> bars_;
};

}  // namespace pergola
