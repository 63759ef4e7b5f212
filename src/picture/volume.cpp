#include "picture/volume.hpp"
#include "base/exact_sum.hpp"
#include "comm/collectives.hpp"
#include "device/parallel.hpp"
#include "physics/volume_light.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

// Tiles of 32 × 32 pixels are the unit of work. Particles in a tile are sorted by distance, equal ones by id, and
// passed from the farthest to the nearest. Opacity is scaled with an exact sum over all particles in the picture.
namespace pergola {

namespace {

constexpr int tile_side = 32;
constexpr double least_pixels = 0.75;        // radius of the smallest sphere
constexpr double largest_angle = 1.0 / 3.0;  // sine of the angle under which the largest one is seen

/// A particle in the frame of the camera: x to the right, y up, z along the line of sight.
struct SeenParticle {
  Vec3<float> place{};
  float inverse_length2 = 0, weight = 0;
  Color color;
  float distance = 0;
  float x = 0, y = 0, reach = 0;  // on the picture, in pixels; reach < 0: not seen
  std::uint64_t id = 0;
};

/// The plane through the target, `distance` from the camera.
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

  /// The direction of the ray through the middle of a pixel.
  Vec3<float> ray(int x, int y) const {
    const double right = (x + 0.5) / per_length() - width / 2, up = width / 2 - (y + 0.5) / per_length();
    const double size = std::sqrt(right * right + up * up + distance * distance);
    return {static_cast<float>(right / size), static_cast<float>(up / size), static_cast<float>(distance / size)};
  }
};

/// Projects a particle, and limits its size: not below a pixel, not above a third of its distance.
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
  // The farthest point of the sphere's image is on its outer side.
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
  seen.id = particle.id;
  return seen;
}

/// Whether the square about a particle's image touches the picture.
bool on_picture(const SeenParticle& one, int pixels) {
  const auto within = [&](float at) { return at + one.reach > 0 && at - one.reach < static_cast<float>(pixels); };
  return one.reach >= 0 && within(one.x) && within(one.y);
}

/// The tiles of a picture, row by row.
struct Tiles {
  int row;  // tiles in a row
  explicit Tiles(int pixels) : row((pixels + tile_side - 1) / tile_side) {}
  int count() const { return row * row; }
  /// Calls body(tile) for each tile that a particle reaches.
  template <class Body>
  void each_of(const SeenParticle& one, const Body& body) const {
    const auto tile_of = [&](float at) {
      return std::clamp(static_cast<int>(std::floor(at / static_cast<float>(tile_side))), 0, row - 1);
    };
    for (int ty = tile_of(one.y - one.reach); ty <= tile_of(one.y + one.reach); ++ty)
      for (int tx = tile_of(one.x - one.reach); tx <= tile_of(one.x + one.reach); ++tx) body(ty * row + tx);
  }
};

/// Tiles go to ranks in turn: tile t to rank t modulo `ranks`. With several ranks there are four rounds, to limit
/// memory: a particle in many tiles is sent once per round to each rank that needs it.
struct Turn {
  int number, of, rank, ranks;
  static int count(const Communicator& all) { return all.size() > 1 ? 4 : 1; }
  Turn(int k, const Communicator& all) : number(k), of(count(all)), rank(all.rank()), ranks(all.size()) {}

  int rank_of(int tile) const { return tile % ranks; }
  bool has(int tile) const { return tile / ranks % of == number; }
  /// Tile number k of this rank in this round.
  int tile(int k) const { return (k * of + number) * ranks + rank; }
};

/// The particles of each tile of this rank in this round, the farthest first.
std::vector<std::vector<std::uint32_t>> sort_into_tiles(const std::vector<SeenParticle>& seen, int pixels,
                                                        const Turn& turn) {
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (on_picture(seen[i], pixels)) order.push_back(static_cast<std::uint32_t>(i));
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (seen[a].distance != seen[b].distance) return seen[a].distance > seen[b].distance;
    return seen[a].id != seen[b].id ? seen[a].id < seen[b].id : a < b;
  });
  const Tiles all(pixels);
  std::vector<std::vector<std::uint32_t>> tiles(static_cast<std::size_t>(all.count()));
  for (const std::uint32_t i : order)
    all.each_of(seen[i], [&](int tile) {
      if (turn.has(tile) && turn.rank_of(tile) == turn.rank) tiles[static_cast<std::size_t>(tile)].push_back(i);
    });
  return tiles;
}

/// Sends particles to the ranks of the tiles that they reach in this round, in pieces.
std::vector<SeenParticle> send_to_tiles(const std::vector<SeenParticle>& seen, int pixels, const Turn& turn,
                                        Communicator& ranks) {
  constexpr std::size_t piece = 65536;
  const Tiles all(pixels);
  std::vector<std::size_t> sent(static_cast<std::size_t>(ranks.size()));  // for each rank: the last particle, plus 1
  const auto each_way = [&](std::size_t i, const auto& body) {
    if (!on_picture(seen[i], pixels)) return;
    all.each_of(seen[i], [&](int tile) {
      const auto rank = static_cast<std::size_t>(turn.rank_of(tile));
      if (turn.has(tile) && std::exchange(sent[rank], i + 1) != i + 1) body(rank);  // once
    });
  };
  std::vector<std::int64_t> leaving(sent.size()), arriving(sent.size());
  for (std::size_t i = 0; i < seen.size(); ++i) each_way(i, [&](std::size_t rank) { ++leaving[rank]; });
  const std::vector<std::size_t> one(sent.size(), sizeof(std::int64_t));
  ranks.all_to_all(leaving.data(), one, arriving.data(), one);
  std::vector<SeenParticle> arrived;
  arrived.reserve(static_cast<std::size_t>(std::accumulate(arriving.begin(), arriving.end(), std::int64_t{0})));
  auto rounds = static_cast<std::int64_t>((seen.size() + piece - 1) / piece);
  ranks.all_reduce(&rounds, 1, Reduction::maximum);
  std::fill(sent.begin(), sent.end(), 0);
  for (std::size_t k = 0; k < static_cast<std::size_t>(rounds); ++k) {
    std::vector<std::vector<SeenParticle>> lists(sent.size());
    for (std::size_t i = k * piece; i < std::min(seen.size(), (k + 1) * piece); ++i)
      each_way(i, [&](std::size_t rank) { lists[rank].push_back(seen[i]); });
    for (const auto& list : exchange_lists(ranks, lists)) arrived.insert(arrived.end(), list.begin(), list.end());
  }
  return arrived;
}

/// The opacity per weight and column that gives the picture its mean optical depth.
double opacity_of(const std::vector<SeenParticle>& seen, const ViewPlane& plane, double optical_depth,
                  Communicator& ranks) {
  ExactSum exact;
  for (const SeenParticle& one : seen) {
    if (!on_picture(one, plane.pixels)) continue;
    const double nearer = plane.distance / one.place.z;
    exact.add(one.weight * nearer * nearer);
  }
  ExactSum all;
  for (const ExactSum& part : gather_lists_on_all(ranks, std::vector{exact})) all.add(part);
  const double sum = all.value();
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

  /// Light of the pixels that the particle reaches: dimmed by exp(−optical depth) and increased by its own.
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

  /// The light of the tile as pixels of the picture.
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

/// Follows the rays of this rank's tiles in this round.
void follow_rays(const std::vector<SeenParticle>& seen, const ViewPlane& plane, float opacity, const Turn& turn,
                 int threads, Image& image) {
  const auto lists = sort_into_tiles(seen, plane.pixels, turn);
  const Tiles tiles(plane.pixels);
  int own = 0;
  while (turn.tile(own) < tiles.count()) ++own;
  parallel_for(threads, own, [&](std::int64_t k) {
    const int t = turn.tile(static_cast<int>(k));
    TileRays rays(plane, t % tiles.row, t / tiles.row);
    for (const std::uint32_t i : lists[static_cast<std::size_t>(t)]) rays.pass(seen[i], opacity);
    rays.expose(image);
  });
}

/// Gathers all tiles on all ranks.
void gather_tiles(Image& image, const Tiles& tiles, Communicator& ranks) {
  const auto each_pixel = [&](int rank, const auto& body) {
    for (int t = rank; t < tiles.count(); t += ranks.size()) {
      const int left = t % tiles.row * tile_side, top = t / tiles.row * tile_side;
      for (int y = top; y < std::min(top + tile_side, image.height()); ++y)
        for (int x = left; x < std::min(left + tile_side, image.width()); ++x) body(x, y);
    }
  };
  std::vector<Color> own;
  each_pixel(ranks.rank(), [&](int x, int y) { own.push_back(image.at(x, y)); });
  const std::vector<Color> all = gather_lists_on_all(ranks, own);
  auto next = all.begin();
  for (int rank = 0; rank < ranks.size(); ++rank) each_pixel(rank, [&](int x, int y) { image.set(x, y, *next++); });
}

}  // namespace

/// Steps: (1) project, (2) opacity from the mean optical depth, (3) per round send particles to the ranks of their
/// tiles and follow the rays, (4) gather the tiles.
VolumePicture render_volume(std::vector<VolumeParticle> particles, const VolumeOptions& options, Communicator& ranks) {
  const ViewPlane plane(options);
  std::vector<SeenParticle> seen(particles.size());
  parallel_chunks(options.threads, static_cast<std::int64_t>(particles.size()), 65536,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
                      seen[i] = see(particles[i], plane);
                  });
  std::vector<VolumeParticle>().swap(particles);
  const auto side = static_cast<float>(plane.pixels);
  std::int64_t counts[2] = {0, 0};
  for (const SeenParticle& one : seen) counts[0] += one.reach >= 0;
  for (const SeenParticle& one : seen)
    counts[1] += one.reach >= 0 && one.x >= 0 && one.y >= 0 && one.x < side && one.y < side;
  ranks.all_reduce(counts, 2, Reduction::sum);
  const auto opacity = static_cast<float>(opacity_of(seen, plane, options.optical_depth, ranks));

  const Tiles tiles(plane.pixels);
  VolumePicture picture{Image(plane.pixels, plane.pixels), counts[1], counts[0]};
  for (int k = 0; k < Turn::count(ranks); ++k) {
    const Turn turn(k, ranks);
    std::vector<SeenParticle> arrived;
    if (ranks.size() > 1) arrived = send_to_tiles(seen, plane.pixels, turn, ranks);
    const std::vector<SeenParticle>& here = ranks.size() > 1 ? arrived : seen;
    follow_rays(here, plane, opacity, turn, options.threads, picture.image);
  }
  if (ranks.size() > 1) gather_tiles(picture.image, tiles, ranks);
  return picture;
}

}  // namespace pergola
