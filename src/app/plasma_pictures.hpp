#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/picture_options.hpp"
#include "picture/plasma_plots.hpp"

namespace pergola::app {

/// What pictures that belong together share; none: each picture's own.
struct PlasmaRanges {
  std::optional<Limits> across, up, colors;
};
/// That suit all of these files; of a long series 16 are looked at, spread over all of it.
PlasmaRanges common_ranges(const PictureOptions& options, const std::vector<std::string>& files, int threads);

struct PlasmaPicture {
  Drawing drawing;
  nlohmann::json description;  // what is shown; without the file that it goes to
};

/// An openPMD file as the options say: phase space where there are particles, a field where not or where one is named.
PlasmaPicture plasma_picture(const PictureOptions& options, const std::string& file, const PlasmaRanges& ranges,
                             int threads);

}  // namespace pergola::app
