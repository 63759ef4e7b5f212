#include "app/trails.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "app/series.hpp"
#include "base/error.hpp"
#include "io/hdf5_walk.hpp"
#include "sim/unit_text.hpp"

namespace pergola::app {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_files = 500;
constexpr int pieces = 12;  // of a path between two snapshots

/// The snapshots before this one, the oldest first.
std::vector<fs::path> earlier_files(const fs::path& file) {
  auto files = series_of(file);
  files.erase(std::find(files.begin(), files.end(), file), files.end());
  if (files.size() > most_files) files.erase(files.begin(), files.end() - static_cast<std::ptrdiff_t>(most_files));
  return files;
}

struct Place {
  double time = 0;
  Vec3<double> x, v;
};

std::optional<Place> place_of(const Snapshot& snapshot, std::uint64_t id) {
  const Particles& p = snapshot.particles;
  const auto found = std::find(p.id.begin(), p.id.end(), id);
  if (found == p.id.end()) return std::nullopt;
  const auto i = static_cast<std::size_t>(found - p.id.begin());
  return Place{snapshot.header.time, {p.x[i], p.y[i], p.z[i]}, {p.vx[i], p.vy[i], p.vz[i]}};
}

double length(const Vec3<double>& v) { return std::sqrt(dot(v, v)); }

/// Whether two places tell the path between them: over it, the speeds do not promise a much longer way.
bool tell_the_path(const Place& a, const Place& b) {
  const double time = b.time - a.time, way = length(b.x - a.x), promised = 0.5 * (length(a.v) + length(b.v)) * time;
  return time > 0 && promised < 3 * way;
}

/// The cubic through two places with their velocities (Hermite's interpolation), at a part s of the time between them.
Vec3<double> between(const Place& a, const Place& b, double s) {
  const double time = b.time - a.time, r = 1 - s;
  return (r * r * (1 + 2 * s)) * a.x + (s * s * (3 - 2 * s)) * b.x + (s * r * r * time) * a.v -
         (s * s * r * time) * b.v;
}

std::vector<Vec3<double>> path_through(const std::vector<Place>& places) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  std::vector<Vec3<double>> path{places[0].x};
  for (std::size_t k = 1; k < places.size(); ++k) {
    if (tell_the_path(places[k - 1], places[k]))
      for (int piece = 1; piece < pieces; ++piece)
        path.push_back(between(places[k - 1], places[k], static_cast<double>(piece) / pieces));
    else
      path.push_back({none, none, none});
    path.push_back(places[k].x);
  }
  return path;
}

double across(const Vec3<double>& x, SightLine axis) { return axis == SightLine::x ? x.y : x.x; }
double up(const Vec3<double>& x, SightLine axis) { return axis == SightLine::z ? x.y : x.z; }

}  // namespace

const FewBodyFiles::File* FewBodyFiles::find(const fs::path& path) {
  const auto [place, is_new] = files_.try_emplace(path);
  std::optional<File>& file = place->second;
  if (is_new && !hdf5_without_checksums(path)) try {
      const auto summary = inspect_snapshot(path);
      if (std::accumulate(summary.counts.begin(), summary.counts.end(), std::int64_t{0}) <= most_with_trails)
        file = File{{summary.counts.begin(), summary.counts.end()}, read_snapshot(path)};
    } catch (const Error&) {  // leaves no trail
    }
  return file ? &*file : nullptr;
}

Trails find_trails(const fs::path& file, const Snapshot& snapshot, FewBodyFiles& files) {
  const auto count = snapshot.particles.size();
  if (count == 0 || count > most_with_trails || has_universe(snapshot.header)) return {};
  const auto own = inspect_snapshot(file).counts;
  const std::vector<std::int64_t> counts(own.begin(), own.end());
  std::vector<Snapshot> moments;
  for (const auto& earlier : earlier_files(file))
    if (const auto* const found = files.find(earlier); found && found->counts == counts)
      moments.push_back(found->snapshot);
  if (moments.empty()) return {};
  moments.push_back(snapshot);
  Trails trails;
  for (const auto id : snapshot.particles.id) {
    std::vector<Place> places;
    for (const Snapshot& moment : moments)
      if (const auto place = place_of(moment, id)) places.push_back(*place);
    trails.paths.push_back(path_through(places));
  }
  return trails;
}

Frame Trails::frame(const Particles& particles, SightLine axis) const {
  constexpr double infinite = std::numeric_limits<double>::infinity(), room = 1.15;
  Vec3<double> low{infinite, infinite, infinite}, high{-infinite, -infinite, -infinite};
  const auto add = [&](const Vec3<double>& x) {
    if (!std::isfinite(x.x)) return;
    low = {std::min(low.x, x.x), std::min(low.y, x.y), std::min(low.z, x.z)};
    high = {std::max(high.x, x.x), std::max(high.y, x.y), std::max(high.z, x.z)};
  };
  for (const auto& path : paths)
    for (const auto& x : path) add(x);
  for (std::size_t i = 0; i < particles.id.size(); ++i) add({particles.x[i], particles.y[i], particles.z[i]});
  const Vec3<double> size = high - low;
  return {0.5 * (low + high), room * std::max(across(size, axis), up(size, axis))};
}

std::vector<std::vector<Point>> Trails::on(const Projection& map) const {
  const double scale = map.pixels / map.frame.width, middle = map.pixels / 2.0;
  std::vector<std::vector<Point>> lines;
  for (const auto& path : paths) {
    auto& line = lines.emplace_back();
    for (const auto& x : path) {
      const Vec3<double> away = x - map.frame.center;
      line.push_back({middle + scale * across(away, map.axis), middle - scale * up(away, map.axis)});
    }
  }
  return lines;
}

}  // namespace pergola::app
