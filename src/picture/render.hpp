#pragma once
#include <optional>
#include <string>
#include <vector>

#include "picture/colormap.hpp"
#include "picture/drawing.hpp"
#include "picture/projection.hpp"

// Pictures of density maps (picture/projection.hpp): the logarithm of surface density in colours, single particles as
// lights, and a legend with title, note, scale bar and colour bar. The map is pixels; trails, scales and text are lines
// and letters.
// What always holds: a given density range has the same colours in every picture of a film. Sizes of text and lines
// follow the size of the picture.
namespace pergola {

/// The surface densities at the darkest and the brightest colour.
struct DensityRange {
  double low = 1, high = 10;
};

/// The densities of most of the mass. High over low is at least 30, so that noise does not look like structure, and at
/// most 10^5.
PERGOLA_API DensityRange density_range(const Projection& map);

struct RenderOptions {
  std::string colormap = "magma";
  std::string title;                            // upper left corner
  std::string note;                             // upper right corner, such as the time
  std::string length_unit;                      // after the number at the scale bar
  bool legend = true;                           // scale bar, colour bar, title and note
  std::string density_unit = {};                // after Σ at the colour bar
  std::vector<std::vector<Point>> trails = {};  // earlier positions of particles, in pixels; NaN: a gap
  std::optional<DensityRange> range = {};       // none: from the map, and the bar ends with its brightest colour
  bool color_bar = true;                        // in the legend
};

/// One kind of particles, with its own colour.
struct RenderLayer {
  Projection map;
  Color color;
  std::string name;
  std::optional<DensityRange> range = {};  // none: from the map
};

/// Layers with the same frame as coloured lights that add up. Each is as bright as the logarithm of its surface
/// density. The legend names the layers; the colour map of the options is not used.
PERGOLA_API Drawing render_layers(const std::vector<RenderLayer>& layers, const RenderOptions& options);

/// The map in colours. If single particles can be seen, each is also a small light.
PERGOLA_API Drawing render(const Projection& projection, const RenderOptions& options);

/// Title, note and scale bar.
PERGOLA_API void draw_labels(Drawing& figure, const Projection& map, const RenderOptions& options);

/// A colour bar from the colour at `bottom` to the colour at `top`. The densities of the range reach the colour at
/// `full`; single particles may be brighter.
struct ColorBar {
  const Colormap& colors;
  DensityRange range;
  double full = 1, top = 1;  // places in the colour map
  const char* symbol = "Σ";  // of what is shown
  double bottom = 0;         // place in the colour map of the lowest density
};
PERGOLA_API void draw_color_bar(Drawing& figure, const Projection& map, const ColorBar& bar, const std::string& unit);

/// The names of layers, each in its colour.
PERGOLA_API void draw_names(Drawing& figure, const std::vector<RenderLayer>& layers);

}  // namespace pergola
