#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/picture_options.hpp"
#include "picture/plasma_plots.hpp"

namespace pergola::app {

/// The ranges that pictures share which belong together; none: automatic for each picture.
struct PlasmaRanges {
  std::optional<Limits> across, up, colors;
};
/// Ranges for all of these files; in a long series 16 files decide.
PlasmaRanges common_ranges(const PictureOptions& options, const std::vector<std::string>& files, int threads);

struct PlasmaPicture {
  Drawing drawing;
  nlohmann::json description;  // without the output file
};

/// Draws an openPMD file: phase space, or a field if the options name one or the file has no particles.
PlasmaPicture plasma_picture(const PictureOptions& options, const std::string& file, const PlasmaRanges& ranges,
                             int threads);

}  // namespace pergola::app
