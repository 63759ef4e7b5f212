#pragma once
#include <string>

#include "picture/image.hpp"
#include "picture/projection.hpp"

namespace pergola {

struct RenderOptions {
  std::string colormap = "magma";
  std::string title;        // upper left corner
  std::string note;         // upper right corner, such as the time
  std::string length_unit;  // after the number at the scale bar
  bool legend = true;       // scale bar, colour bar, title and note
};

/// The logarithm of surface density in colours; where particles can be told apart, each is a small light on it.
PERGOLA_API Image render(const Projection& projection, const RenderOptions& options);

}  // namespace pergola
