#include "picture/volume.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "device/parallel.hpp"
#include "physics/volume_light.hpp"

namespace pergola {

namespace {

constexpr int tile_side = 32;
constexpr double least_pixels = 0.75;        // radius of the smallest sphere
constexpr double largest_angle = 1.0 / 3.0;  // sine of the angle under which the largest one is seen

/// A particle as the camera sees it: places with x to the right, y up and z along the line of sight.
struct SeenParticle {
  Vec3<float> place{};
  float inverse_length2 = 0, weight = 0;
  Color color;
  float distance = 0;
  float x = 0, y = 0, reach = 0;  // on the picture, in pixels; reach < 0: not there
};

/// The geometry of a picture: the plane through the target, `distance` away.
struct ViewPlane {
  CameraView view;
  double distance, width;
  int pixels;

  explicit ViewPlane(const VolumeOptions& options)
      : view(options.camera), width(view.frame().width), pixels(options.pixels) {
    const Vec3<double> sight = options.camera.target - options.camera.position;
    distance = std::sqrt(dot(sight, sight));
  }
  double per_length() const { return pixels / width; }

  /// The direction through the middle of a pixel.
  Vec3<float> ray(int x, int y) const {
    const double right = (x + 0.5) / per_length() - width / 2, up = width / 2 - (y + 0.5) / per_length();
    const double size = std::sqrt(right * right + up * up + distance * distance);
    return {static_cast<float>(right / size), static_cast<float>(up / size), static_cast<float>(distance / size)};
  }
};

SeenParticle see(const VolumeParticle& particle, const ViewPlane& plane) {
  SeenParticle seen;
  seen.reach = -1;
  const Vec3<double> at = plane.view.place(particle.place);
  if (!std::isfinite(at.x) || !(particle.weight > 0)) return seen;
  const double shrink = at.z / plane.distance;
  const Vec3<double> place{at.x * shrink, at.y * shrink, at.z};
  const double far = std::sqrt(dot(place, place));
  const double pixel = far / plane.distance / plane.per_length();
  const double length = std::min(std::max(particle.length, least_pixels * pixel), largest_angle * far);
  // The farthest place of the sphere's image from that of its centre is outward.
  const double off = std::hypot(at.x, at.y), tilt = std::atan(off / plane.distance), half = std::asin(length / far);
  if (!(tilt + half < 1.5)) return seen;
  seen.reach = static_cast<float>((plane.distance * std::tan(tilt + half) - off) * plane.per_length());
  seen.x = static_cast<float>((at.x + plane.width / 2) * plane.per_length());
  seen.y = static_cast<float>((plane.width / 2 - at.y) * plane.per_length());
  seen.place = {static_cast<float>(place.x), static_cast<float>(place.y), static_cast<float>(place.z)};
  seen.distance = static_cast<float>(far);
  seen.inverse_length2 = static_cast<float>(1 / (length * length));
  seen.weight = static_cast<float>(particle.weight);
  seen.color = particle.color;
  return seen;
}

bool on_picture(const SeenParticle& one, int pixels) {
  const auto within = [&](float at) { return at + one.reach > 0 && at - one.reach < static_cast<float>(pixels); };
  return one.reach >= 0 && within(one.x) && within(one.y);
}

/// Particles that reach into each tile, the farthest first.
std::vector<std::vector<std::uint32_t>> sort_into_tiles(const std::vector<SeenParticle>& seen, int pixels) {
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (on_picture(seen[i], pixels)) order.push_back(static_cast<std::uint32_t>(i));
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return seen[a].distance != seen[b].distance ? seen[a].distance > seen[b].distance : a < b;
  });
  const int row = (pixels + tile_side - 1) / tile_side;
  std::vector<std::vector<std::uint32_t>> tiles(static_cast<std::size_t>(row) * static_cast<std::size_t>(row));
  for (const std::uint32_t i : order) {
    const auto tile_of = [&](float at) {
      return std::clamp(static_cast<int>(std::floor(at / static_cast<float>(tile_side))), 0, row - 1);
    };
    const SeenParticle& one = seen[i];
    for (int ty = tile_of(one.y - one.reach); ty <= tile_of(one.y + one.reach); ++ty)
      for (int tx = tile_of(one.x - one.reach); tx <= tile_of(one.x + one.reach); ++tx)
        tiles[static_cast<std::size_t>(ty * row + tx)].push_back(i);
  }
  return tiles;
}

/// The opacity per weight and column that gives the picture its mean optical depth.
double opacity_of(const std::vector<SeenParticle>& seen, const ViewPlane& plane, double optical_depth) {
  double sum = 0;
  for (const SeenParticle& one : seen) {
    if (!on_picture(one, plane.pixels)) continue;
    const double nearer = plane.distance / one.place.z;
    sum += one.weight * nearer * nearer;
  }
  return sum > 0 ? optical_depth * plane.width * plane.width / sum : 0;
}

/// The rays of one tile.
class TileRays {
 public:
  TileRays(const ViewPlane& plane, int tile_x, int tile_y)
      : left_(tile_x * tile_side),
        top_(tile_y * tile_side),
        right_(std::min(left_ + tile_side, plane.pixels)),
        bottom_(std::min(top_ + tile_side, plane.pixels)) {
    for (int y = top_; y < bottom_; ++y)
      for (int x = left_; x < right_; ++x) ray_[index(x, y)] = plane.ray(x, y);
  }

  void pass(const SeenParticle& one, float opacity) {
    const auto first = [](float at) { return static_cast<int>(std::floor(at)); };
    const int x0 = std::max(left_, first(one.x - one.reach)), x1 = std::min(right_, first(one.x + one.reach) + 1);
    const int y0 = std::max(top_, first(one.y - one.reach)), y1 = std::min(bottom_, first(one.y + one.reach) + 1);
    const float source[3] = {static_cast<float>(one.color.r), static_cast<float>(one.color.g),
                             static_cast<float>(one.color.b)};
    for (int y = y0; y < y1; ++y)
      for (int x = x0; x < x1; ++x) {
        const std::size_t at = index(x, y);
        const float column =
            physics::smoothed_column(physics::distance2_from_ray(one.place, ray_[at]), one.inverse_length2);
        if (!(column > 0)) continue;
        const float passing = std::exp(-opacity * one.weight * column);
        for (std::size_t c = 0; c < 3; ++c) light_[at][c] = physics::light_through(light_[at][c], source[c], passing);
      }
  }

  void expose(Image& image) const {
    const auto channel = [](float light) {
      return static_cast<std::uint8_t>(std::lround(std::clamp(light, 0.f, 255.f)));
    };
    for (int y = top_; y < bottom_; ++y)
      for (int x = left_; x < right_; ++x) {
        const auto& light = light_[index(x, y)];
        image.set(x, y, {channel(light[0]), channel(light[1]), channel(light[2])});
      }
  }

 private:
  std::size_t index(int x, int y) const { return static_cast<std::size_t>((y - top_) * tile_side + x - left_); }

  int left_, top_, right_, bottom_;
  std::array<Vec3<float>, tile_side * tile_side> ray_{};
  std::array<std::array<float, 3>, tile_side * tile_side> light_{};
};

}  // namespace

VolumePicture render_volume(const std::vector<VolumeParticle>& particles, const VolumeOptions& options) {
  const ViewPlane plane(options);
  std::vector<SeenParticle> seen(particles.size());
  parallel_chunks(options.threads, static_cast<std::int64_t>(particles.size()), 65536,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
                      seen[i] = see(particles[i], plane);
                  });
  const auto tiles = sort_into_tiles(seen, plane.pixels);
  const auto opacity = static_cast<float>(opacity_of(seen, plane, options.optical_depth));
  VolumePicture picture{Image(plane.pixels, plane.pixels), 0, 0};
  const int row = (plane.pixels + tile_side - 1) / tile_side;
  parallel_for(options.threads, static_cast<std::int64_t>(tiles.size()), [&](std::int64_t t) {
    TileRays rays(plane, static_cast<int>(t) % row, static_cast<int>(t) / row);
    for (const std::uint32_t i : tiles[static_cast<std::size_t>(t)]) rays.pass(seen[i], opacity);
    rays.expose(picture.image);
  });
  const auto side = static_cast<float>(plane.pixels);
  for (const SeenParticle& one : seen) picture.ahead += one.reach >= 0;
  for (const SeenParticle& one : seen)
    picture.shown += one.reach >= 0 && one.x >= 0 && one.y >= 0 && one.x < side && one.y < side;
  return picture;
}

}  // namespace pergola
