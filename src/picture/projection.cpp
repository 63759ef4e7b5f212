#include "picture/projection.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "base/text.hpp"
#include "picture/blur.hpp"

namespace pergola {

namespace {

constexpr double neighbours_wanted = 60;      // particles that share a Gaussian
constexpr std::int64_t spots_most = 60000;    // beyond, single particles cannot be told apart
constexpr std::int64_t all_shown_below = 17;  // few bodies: the automatic frame shows all
constexpr double frame_fraction = 0.93;       // of the particles, in the automatic frame
constexpr int margin_parts = 8;               // the map is made with a margin of this part of its width
constexpr int widest_blur_parts = 14;         // the widest Gaussian is this part of the width

const std::vector<double>& right_of(const Particles& p, SightLine axis) { return axis == SightLine::x ? p.y : p.x; }
const std::vector<double>& up_of(const Particles& p, SightLine axis) { return axis == SightLine::z ? p.y : p.z; }
double right_of(Vec3<double> v, SightLine axis) { return axis == SightLine::x ? v.y : v.x; }
double up_of(Vec3<double> v, SightLine axis) { return axis == SightLine::z ? v.y : v.z; }

double quantile(std::vector<double> values, double fraction) {
  const auto rank = static_cast<std::size_t>(fraction * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank), values.end());
  return values[rank];
}

double middle_of_range(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return 0.5 * *low + 0.5 * *high;
}

/// Where particles lie in a grid with a margin around the map.
struct Placing {
  const std::vector<double>&right, &up;
  double right_center, up_center, cells_per_length, half_side;
  double x(std::size_t i) const { return (right[i] - right_center) * cells_per_length + half_side; }
  double y(std::size_t i) const { return half_side - (up[i] - up_center) * cells_per_length; }
};

/// What stands on the map and its margin of a periodic cube: of each particle the images that are there.
struct PeriodicImages {
  std::vector<double> right, up, mass;

  PeriodicImages(const std::vector<double>& rights, const std::vector<double>& ups, const std::vector<double>& masses,
                 const Placing& placing, double side) {
    const double reach = placing.half_side / placing.cells_per_length;
    const auto images = [&](double at, double center) {
      const double first = at - side * std::floor((at - center + reach) / side);  // the lowest that is on it
      std::vector<double> places;
      for (double place = first; place < center + reach; place += side) places.push_back(place);
      return places;
    };
    for (std::size_t i = 0; i < rights.size(); ++i)
      for (const double y : images(ups[i], placing.up_center))
        for (const double x : images(rights[i], placing.right_center))
          right.push_back(x), up.push_back(y), mass.push_back(masses[i]);
  }
};

struct Deposits {
  SquareGrid mass, number;
};

/// Shares out mass and number over the four nearest cells by area; particles beyond the grid are left out.
Deposits deposit(const Placing& placing, const std::vector<double>& mass, int side) {
  Deposits to{SquareGrid(side), SquareGrid(side)};
  for (std::size_t i = 0; i < placing.right.size(); ++i) {
    const double x = placing.x(i) - 0.5, y = placing.y(i) - 0.5;
    if (!(x >= 0 && y >= 0 && x < side - 1 && y < side - 1)) continue;
    const int cx = static_cast<int>(x), cy = static_cast<int>(y);
    const double fx = x - cx, fy = y - cy;
    const double m = mass.empty() ? 1.0 : mass[i];
    const double w11 = fx * fy, w01 = fx - w11, w10 = fy - w11, w00 = 1 - fx - w10;
    to.mass.at(cx, cy) += w00 * m;
    to.mass.at(cx + 1, cy) += w01 * m;
    to.mass.at(cx, cy + 1) += w10 * m;
    to.mass.at(cx + 1, cy + 1) += w11 * m;
    to.number.at(cx, cy) += w00;
    to.number.at(cx + 1, cy) += w01;
    to.number.at(cx, cy + 1) += w10;
    to.number.at(cx + 1, cy + 1) += w11;
  }
  return to;
}

/// Blur radii 0, 1, 2, 4, … up to a part of the map.
std::vector<int> blur_radii(int pixels) {
  std::vector<int> radii{0};
  for (int radius = 1; radius <= std::max(1, pixels / widest_blur_parts); radius *= 2) radii.push_back(radius);
  return radii;
}

/// For each cell, the (fractional) place in `radii` at which the Gaussian around it holds the neighbours wanted.
std::vector<float> smoothing_levels(const SquareGrid& number, const std::vector<int>& radii, int threads) {
  std::vector<float> level(number.cells.size(), -1.0f);
  std::vector<double> finer;
  for (std::size_t k = 0; k < radii.size(); ++k) {
    SquareGrid smooth = number;
    blur(smooth, radii[k], threads);
    const double width = std::max(0.5, blur_width(radii[k]));
    const double area = 4 * std::numbers::pi * width * width;  // of a Gaussian: 1 / ∫ g²
    for (std::size_t c = 0; c < smooth.cells.size(); ++c) {
      auto& held = smooth.cells[c];
      held *= area;
      if (level[c] >= 0 || held < neighbours_wanted) continue;
      const double below = k > 0 ? std::max(finer[c], 1e-9) : held;
      const double part = k > 0 && held > below ? std::log(neighbours_wanted / below) / std::log(held / below) : 0.0;
      level[c] = static_cast<float>(static_cast<double>(k) - (k > 0 ? 1.0 - std::clamp(part, 0.0, 1.0) : 0.0));
    }
    finer = std::move(smooth.cells);
  }
  for (auto& l : level)
    if (l < 0) l = static_cast<float>(radii.size() - 1);
  return level;
}

/// Splits the mass by level, smooths each level by its radius and adds up.
SquareGrid smooth_adaptively(const SquareGrid& mass, const std::vector<float>& level, const std::vector<int>& radii,
                             int threads) {
  SquareGrid sum(mass.side);
  for (std::size_t k = 0; k < radii.size(); ++k) {
    SquareGrid part(mass.side);
    bool any = false;
    for (std::size_t c = 0; c < level.size(); ++c) {
      const double share = 1.0 - std::abs(static_cast<double>(level[c]) - static_cast<double>(k));
      if (share <= 0 || mass.cells[c] == 0) continue;
      part.cells[c] = share * mass.cells[c];
      any = true;
    }
    if (!any) continue;
    blur(part, radii[k], threads);
    for (std::size_t c = 0; c < level.size(); ++c) sum.cells[c] += part.cells[c];
  }
  return sum;
}

void check(const Particles& particles, const ProjectionOptions& options) {
  if (particles.size() == 0) throw Error(ErrorKind::input, "picture: there are no particles to show");
  if (!(options.frame.width > 0) || !std::isfinite(options.frame.width))
    throw Error(ErrorKind::input,
                fmt::format("picture: the width is {}, expected a length above 0", to_text(options.frame.width)));
  if (options.pixels < 16 || options.pixels > 4096)
    throw Error(ErrorKind::input, fmt::format("picture: the size is {} pixels, expected 16 to 4096", options.pixels));
}

}  // namespace

Frame automatic_frame(const Particles& particles, SightLine axis) {
  if (particles.size() == 0) return {};
  const bool few = particles.size() < all_shown_below;
  const auto middle = [few](const std::vector<double>& values) {
    return few ? middle_of_range(values) : quantile(values, 0.5);
  };
  Frame frame{{middle(particles.x), middle(particles.y), middle(particles.z)}, 0};
  const auto &right = right_of(particles, axis), &up = up_of(particles, axis);
  std::vector<double> reach(right.size());
  for (std::size_t i = 0; i < reach.size(); ++i)
    reach[i] = std::max(std::abs(right[i] - right_of(frame.center, axis)), std::abs(up[i] - up_of(frame.center, axis)));
  frame.width = 2 * (few ? 1.25 : 1.1) * quantile(std::move(reach), few ? 1.0 : frame_fraction);
  if (!(frame.width > 0)) frame.width = 1;
  return frame;
}

namespace {

/// The map of what is placed on its grid, with a margin around it.
Projection map_of(const Placing& placing, const std::vector<double>& mass, const ProjectionOptions& options, int margin,
                  int side) {
  const bool massless = std::all_of(mass.begin(), mass.end(), [](double m) { return m == 0; });
  const auto deposits = deposit(placing, massless ? std::vector<double>{} : mass, side);
  const auto radii = blur_radii(options.pixels);
  const auto level = smoothing_levels(deposits.number, radii, options.threads);
  const auto smooth = smooth_adaptively(deposits.mass, level, radii, options.threads);

  Projection map{options.pixels, options.axis, options.frame, {}, {}, 0, 0};
  map.density.reserve(static_cast<std::size_t>(map.pixels) * static_cast<std::size_t>(map.pixels));
  const double per_area = placing.cells_per_length * placing.cells_per_length;
  for (int y = 0; y < map.pixels; ++y)
    for (int x = 0; x < map.pixels; ++x) map.density.push_back(smooth.at(x + margin, y + margin) * per_area);
  for (std::size_t i = 0; i < placing.right.size(); ++i) {
    const double x = placing.x(i) - margin, y = placing.y(i) - margin;
    if (!(x >= 0 && y >= 0 && x < map.pixels && y < map.pixels)) continue;
    ++map.shown;
    if (map.shown <= spots_most)
      map.spots.push_back({static_cast<float>(x), static_cast<float>(y), static_cast<float>(mass[i])});
  }
  if (map.shown > spots_most) map.spots.clear();
  return map;
}

}  // namespace

Projection project(const Particles& particles, const ProjectionOptions& options) {
  check(particles, options);
  const int margin = std::max(8, options.pixels / margin_parts), side = options.pixels + 2 * margin;
  const SightLine axis = options.axis;
  const Placing placing{right_of(particles, axis),
                        up_of(particles, axis),
                        right_of(options.frame.center, axis),
                        up_of(options.frame.center, axis),
                        options.pixels / options.frame.width,
                        side / 2.0};
  Projection map;
  if (const double box = options.periodic_side; box > 0 && options.frame.width <= box * (1 + 1e-9)) {
    const PeriodicImages images(placing.right, placing.up, particles.mass, placing, box);
    map = map_of(
        {images.right, images.up, placing.right_center, placing.up_center, placing.cells_per_length, placing.half_side},
        images.mass, options, margin, side);
    map.shown = std::min(map.shown, particles.size());  // one at the edge may stand at both
  } else {
    map = map_of(placing, particles.mass, options, margin, side);
  }
  map.particles = particles.size();
  return map;
}

}  // namespace pergola
