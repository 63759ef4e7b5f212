#pragma once
/// What `picture` and `movie` show of a snapshot of particles.
///
/// read_shown() reads a snapshot and selects species. A look has the frame, the camera and the range of colours:
/// own_look() for one snapshot, common_look() for a series. draw_shown() draws a panel: surface density, layers by
/// species, a volume of smoothed particles, or a few bodies with their trails. Several ranks do all of this together,
/// each with its range of the particles.
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/picture_options.hpp"
#include "comm/communicator.hpp"
#include "io/snapshot.hpp"
#include "picture/camera.hpp"
#include "picture/drawing.hpp"
#include "picture/projection.hpp"
#include "picture/render.hpp"

namespace pergola::app {

/// The paths of a few bodies through earlier snapshots of their run: files in its folder whose names differ in the
/// number only. Between two snapshots a path is the cubic with their positions and velocities; if they are too far
/// apart for that, it has a gap.
struct Trails {
  std::vector<std::vector<Vec3<double>>> paths;  // one per particle of the snapshot, the oldest place first

  bool empty() const { return paths.empty(); }
  /// The smallest square frame that shows all paths and the particles themselves.
  Frame frame(const Particles& particles, SightLine axis) const;
  /// The paths in pixels of a map.
  std::vector<std::vector<Point>> on(const Projection& map) const;
};

/// Snapshots of a few bodies, each read once for a whole film.
class FewBodyFiles {
 public:
  struct File {
    std::vector<std::int64_t> counts;  // by species
    Snapshot snapshot;
  };
  /// Null if the file cannot be read, has many bodies, or is an HDF5 file without checksums, which is not safe to read.
  const File* find(const std::filesystem::path& path);

 private:
  std::map<std::filesystem::path, std::optional<File>> files_;
};

inline constexpr std::int64_t most_with_trails = 16;

/// A snapshot that is ready to be shown.
struct ShownSnapshot {
  std::string file;
  Snapshot snapshot;       // of the chosen species; each rank has its part
  std::int64_t count = 0;  // of the particles of all ranks
  Trails trails;
  std::shared_ptr<Communicator> ranks;
};
/// Throws Error(input) if the file has no particles of the chosen species. `earlier`: for trails. Collective; several
/// ranks only for more than most_with_trails particles.
ShownSnapshot read_shown(const PictureOptions& options, const std::string& file, FewBodyFiles& earlier,
                         const std::shared_ptr<Communicator>& ranks = serial_communicator());

/// The frame or camera and the range of colours, the same for all pictures that belong together.
struct Look {
  Frame frame;
  std::optional<Camera> camera;
  std::optional<DensityRange> range;                                      // none: automatic for each picture
  std::array<std::optional<DensityRange>, species_count> species_ranges;  // likewise, with --color-species
  double longest_time = 0;  // for the width of times in labels; 0: its own
};
/// The look for one snapshot.
Look own_look(const PictureOptions& options, const ShownSnapshot& shown);
/// The look for many snapshots: a frame that contains theirs, and colours from the lowest to the highest density of
/// any. In a long series 16 files decide. With `own_centers` each file is seen about its own centre (centred), and the
/// frame has the largest width.
Look common_look(const PictureOptions& options, const std::vector<std::string>& files, FewBodyFiles& earlier,
                 int threads, const std::shared_ptr<Communicator>& ranks = serial_communicator(),
                 bool own_centers = false);
/// The look about the centre of own_look(); a camera stays.
Look centred(const PictureOptions& options, Look look, const ShownSnapshot& shown);

struct Panel {
  Drawing figure;
  Frame frame;
  std::int64_t particles = 0, shown = 0;
};
/// Frees the particles as soon as they are not needed.
Panel draw_shown(const PictureOptions& options, ShownSnapshot shown, const Look& look, int threads,
                 bool color_bar = true);

/// Whether several ranks draw these files together: snapshots of many particles. One rank draws a plasma, and few
/// bodies with their trails.
bool is_for_ranks(const std::vector<std::string>& files);

/// "12,345".
std::string grouped(std::int64_t count);

}  // namespace pergola::app
