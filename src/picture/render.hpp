#pragma once
#include <string>
#include <vector>

#include "picture/draw.hpp"
#include "picture/image.hpp"
#include "picture/projection.hpp"

namespace pergola {

struct RenderOptions {
  std::string colormap = "magma";
  std::string title;                            // upper left corner
  std::string note;                             // upper right corner, such as the time
  std::string length_unit;                      // after the number at the scale bar
  bool legend = true;                           // scale bar, colour bar, title and note
  std::string density_unit = {};                // after Σ at the colour bar
  std::vector<std::vector<Point>> trails = {};  // where particles have come from, in pixels; NaN: a gap
};

/// One kind of particles in a picture of several, with a colour of its own.
struct RenderLayer {
  Projection map;
  Color color;
  std::string name;
};

/// Layers of one frame as lights of their colours: each is as bright as the logarithm of its own surface density, and
/// they add up. The colour map of the options is not used; the legend names the layers.
PERGOLA_API Image render_layers(const std::vector<RenderLayer>& layers, const RenderOptions& options);

/// The logarithm of surface density in colours; where particles can be told apart, each is a small light on it.
PERGOLA_API Image render(const Projection& projection, const RenderOptions& options);

}  // namespace pergola
