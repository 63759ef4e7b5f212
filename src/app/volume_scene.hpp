#pragma once
#include "app/scene.hpp"

namespace pergola::app {

/// The camera of a volume picture where none is given: it looks along the axis and has the frame for its view.
Camera camera_before(const Frame& frame, SightLine axis, double field_of_view_degrees);

/// What the colours of a volume picture span, where nothing is asked for: most of the mass.
DensityRange volume_range(const PictureOptions& options, ShownSnapshot shown, int threads);

/// Smoothed particles that shine and absorb, in colours of their density, dispersion or species.
Panel draw_volume(const PictureOptions& options, ShownSnapshot shown, const Look& look, const RenderOptions& labels,
                  int threads);

}  // namespace pergola::app
