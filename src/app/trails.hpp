#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "io/snapshot.hpp"
#include "picture/drawing.hpp"
#include "picture/projection.hpp"

namespace pergola::app {

/// Where a handful of bodies have come from.
struct Trails {
  std::vector<std::vector<Vec3<double>>> paths;  // one per particle of the snapshot, the oldest place first

  bool empty() const { return paths.empty(); }
  /// The smallest square frame that shows all paths and the particles themselves.
  Frame frame(const Particles& particles, SightLine axis) const;
  /// The paths in pixels of a map.
  std::vector<std::vector<Point>> on(const Projection& map) const;
};

/// Snapshots of a handful of bodies, each read once, however often a film asks for it.
class FewBodyFiles {
 public:
  struct File {
    std::vector<std::int64_t> counts;  // by species
    Snapshot snapshot;
  };
  /// Null where it cannot be read, holds many bodies, or is an HDF5 file without checksums, which nobody has looked at.
  const File* find(const std::filesystem::path& path);

 private:
  std::map<std::filesystem::path, std::optional<File>> files_;
};

inline constexpr std::int64_t most_with_trails = 16;
/// The paths of up to so many particles through the snapshots of the same run before this one: files in its folder
/// whose names differ in the number only (snap_000.hdf5, snap_001.hdf5, …). Between two of them a path is the cubic
/// that has their places and velocities; where they are too far apart for that it has a gap. Empty where there are
/// none.
Trails find_trails(const std::filesystem::path& file, const Snapshot& snapshot, FewBodyFiles& files);

}  // namespace pergola::app
