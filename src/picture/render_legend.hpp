#pragma once
#include "picture/colormap.hpp"
#include "picture/render.hpp"

namespace pergola {

/// Title, note and scale bar of a picture.
PERGOLA_API void draw_labels(Drawing& figure, const Projection& map, const RenderOptions& options);

/// Colours and what they mean: the map from its darkest colour to the one at `top`. Densities of the range go up to the
/// colour at `full`; single particles may shine brighter.
struct ColorBar {
  const Colormap& colors;
  DensityRange range;
  double full = 1, top = 1;  // places in the colour map
  const char* symbol = "Σ";  // of what is shown
  double bottom = 0;         // place in the colour map of the lowest density
};
PERGOLA_API void draw_color_bar(Drawing& figure, const Projection& map, const ColorBar& bar, const std::string& unit);

/// The names of layers in their colours.
PERGOLA_API void draw_names(Drawing& figure, const std::vector<RenderLayer>& layers);

/// From the far end, where they are faint, to the particle.
void draw_trails(Drawing& figure, const std::vector<std::vector<Point>>& trails);

}  // namespace pergola
