#pragma once
/// Draws openPMD files of plasmas: phase space or a field, for `picture` and `movie`.
///
/// plasma_picture() draws one file. common_ranges() first finds axes and colours that suit a whole series: pictures of
/// a series can then be compared. In phase space colours are particles per area of the plane; of a field they are its
/// values. Units are those of the file, with their names in the labels. Errors in options and files are Error(input).
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/picture_options.hpp"
#include "picture/plasma_plots.hpp"
#include "picture/plot.hpp"

namespace pergola::app {

/// The ranges that pictures share which belong together; none: automatic for each picture.
struct PlasmaRanges {
  std::optional<Limits> across, up, colors;
};
/// Ranges for all of these files; in a long series 16 files decide.
PlasmaRanges common_ranges(const PictureOptions& options, const std::vector<std::string>& files, int threads);

/// The figure, and its record for --json.
struct PlasmaPicture {
  Drawing drawing;
  nlohmann::json description;  // without the output file
  Axis colors;                 // of the colour bar: label, and limits if they are shared
  std::string colormap;
};

/// Draws an openPMD file: phase space, or a field if the options name one or the file has no particles. Without `bar`
/// others share draw_color_bar().
PlasmaPicture plasma_picture(const PictureOptions& options, const std::string& file, const PlasmaRanges& ranges,
                             int threads, bool bar = true);

}  // namespace pergola::app
