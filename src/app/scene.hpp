#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/picture_options.hpp"
#include "app/trails.hpp"
#include "comm/communicator.hpp"
#include "picture/camera.hpp"
#include "picture/render.hpp"

namespace pergola::app {

/// A snapshot made ready to be shown.
struct ShownSnapshot {
  std::string file;
  Snapshot snapshot;       // of the species asked for; of several ranks each has its part
  std::int64_t count = 0;  // of the particles of all ranks
  Trails trails;
  std::shared_ptr<Communicator> ranks;
};
/// Throws Error(input) where nothing of the species asked for is in the file. `earlier`: for trails. What is made of a
/// snapshot that several ranks have, all of them make together: what has more than most_with_trails particles.
ShownSnapshot read_shown(const PictureOptions& options, const std::string& file, FewBodyFiles& earlier,
                         const std::shared_ptr<Communicator>& ranks = serial_communicator());

/// From where one looks and what the colours mean. Where pictures belong together it is the same for all.
struct Look {
  Frame frame;
  std::optional<Camera> camera;
  std::optional<DensityRange> range;                                      // none: each picture's own
  std::array<std::optional<DensityRange>, species_count> species_ranges;  // likewise, with --color-species
  double longest_time = 0;                                                // times are written alike up to here; 0: own
};
/// That suits one snapshot.
Look own_look(const PictureOptions& options, const ShownSnapshot& shown);
/// That suits many: a frame that holds theirs, and colours from the lowest to the highest density of any. Of a long
/// series 16 are looked at, spread over all of it.
Look common_look(const PictureOptions& options, const std::vector<std::string>& files, FewBodyFiles& earlier,
                 int threads, const std::shared_ptr<Communicator>& ranks = serial_communicator());

struct Panel {
  Drawing figure;
  Frame frame;
  std::int64_t particles = 0, shown = 0;
};
/// The particles go as soon as they are not needed any more.
Panel draw_shown(const PictureOptions& options, ShownSnapshot shown, const Look& look, int threads,
                 bool color_bar = true);

/// Whether ranks make what is shown of these files together, each from its stretch: many particles. A plasma, and few
/// bodies with their trails, are for one.
bool is_for_ranks(const std::vector<std::string>& files);

/// The colour of a species, and the species that any rank has for a legend, each on a map of this frame.
Color species_color(std::size_t species);
std::vector<RenderLayer> species_present(const Particles& particles, const Projection& plane, Communicator& ranks);

/// "12,345".
std::string grouped(std::int64_t count);

}  // namespace pergola::app
