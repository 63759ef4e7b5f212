#include "picture/projection.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/collectives.hpp"
#include "device/parallel.hpp"
#include "physics/mesh_weights.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

// Adaptive smoothing: counts are blurred at radii 1, 2, 4, …; each cell takes the radius at which its Gaussian holds 60
// particles, interpolated between two radii. Mass is split between these radii, blurred, and added.
namespace pergola {

namespace {

constexpr std::int64_t rows_per_task = 32;

/// The mean of 2r + 1 neighbours; cells beyond the ends are 0. `from` has r + 1 zeros before the row and r after it.
/// A running sum: the cost does not depend on r. Rounding may leave a tiny negative number, which becomes 0.
void mean_of_neighbours(const std::vector<double>& from, int count, int r, double* to) {
  const double scale = 1.0 / (2 * r + 1);
  double sum = 0;
  for (int i = 1; i <= 2 * r; ++i) sum += from[static_cast<std::size_t>(i)];
  for (int i = 0; i < count; ++i) {
    sum += from[static_cast<std::size_t>(i + 2 * r + 1)] - from[static_cast<std::size_t>(i)];
    to[i] = std::max(0.0, sum * scale);
  }
}

/// Three means along each row are nearly a Gaussian.
void blur_rows(SquareGrid& grid, int r, int threads) {
  parallel_chunks(threads, grid.side, rows_per_task, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> padded(static_cast<std::size_t>(grid.side + 2 * r + 1), 0.0);
    for (std::int64_t y = begin; y < end; ++y) {
      double* row = grid.cells.data() + y * grid.side;
      for (int pass = 0; pass < 3; ++pass) {
        std::copy(row, row + grid.side, padded.begin() + r + 1);
        mean_of_neighbours(padded, grid.side, r, row);
      }
    }
  });
}

/// In blocks, so that both places of an exchange stay in the cache.
void transpose(SquareGrid& grid) {
  constexpr int block = 32;
  for (int y0 = 0; y0 < grid.side; y0 += block)
    for (int x0 = y0; x0 < grid.side; x0 += block)
      for (int y = y0; y < std::min(y0 + block, grid.side); ++y)
        for (int x = std::max(x0, y + 1); x < std::min(x0 + block, grid.side); ++x)
          std::swap(grid.at(x, y), grid.at(y, x));
}

}  // namespace

double blur_width(int radius) { return std::sqrt(static_cast<double>(radius) * (radius + 1)); }

/// Along rows, then along columns as rows of the transposed grid, which is faster than strides through memory.
void blur(SquareGrid& grid, int radius, int threads) {
  if (radius < 1) return;
  blur_rows(grid, radius, threads);
  transpose(grid);
  blur_rows(grid, radius, threads);
  transpose(grid);
}

namespace {

constexpr double neighbours_wanted = 60;      // particles that share a Gaussian
constexpr std::int64_t spots_most = 60000;    // beyond, single particles cannot be told apart
constexpr std::int64_t all_shown_below = 17;  // few bodies: the automatic frame shows all
constexpr double frame_fraction = 0.93;       // of the particles, in the automatic frame
constexpr int margin_parts = 8;               // the map is made with a margin of this part of its width
constexpr int widest_blur_parts = 14;         // the widest Gaussian is this part of the width

/// Right and up in the picture, for a line of sight along x, y or z.
const std::vector<double>& right_of(const Particles& p, SightLine axis) { return axis == SightLine::x ? p.y : p.x; }
const std::vector<double>& up_of(const Particles& p, SightLine axis) { return axis == SightLine::z ? p.y : p.z; }
double right_of(Vec3<double> v, SightLine axis) { return axis == SightLine::x ? v.y : v.x; }
double up_of(Vec3<double> v, SightLine axis) { return axis == SightLine::z ? v.y : v.z; }

/// The value of all ranks at a fraction of the way from the lowest to the highest.
double quantile(std::vector<double> values, double fraction, Communicator& ranks) {
  auto total = static_cast<std::int64_t>(values.size());
  ranks.all_reduce(&total, 1, Reduction::sum);
  const auto place = static_cast<std::int64_t>(fraction * static_cast<double>(total - 1));
  if (ranks.size() == 1) {
    std::nth_element(values.begin(), values.begin() + place, values.end());
    return values[static_cast<std::size_t>(place)] + 0.0;  // no -0
  }
  return RankedValues(ranks, values).reaching({place + 1}).front();
}

/// The middle of the lowest and highest value of all ranks.
double middle_of_range(const std::vector<double>& values, Communicator& ranks) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double value : values) low = std::min(low, value), high = std::max(high, value);
  ranks.all_reduce(&low, 1, Reduction::minimum);
  ranks.all_reduce(&high, 1, Reduction::maximum);
  return 0.5 * low + 0.5 * high;
}

/// The places of particles on the grid of the map with its margin.
struct Placing {
  const std::vector<double>&right, &up;
  double right_center, up_center, cells_per_length, half_side;
  double x(std::size_t i) const { return (right[i] - right_center) * cells_per_length + half_side; }
  double y(std::size_t i) const { return half_side - (up[i] - up_center) * cells_per_length; }
};

/// The periodic images of particles on the map and its margin.
struct PeriodicImages {
  std::vector<double> right, up, mass;

  PeriodicImages(const std::vector<double>& rights, const std::vector<double>& ups, const std::vector<double>& masses,
                 const Placing& placing, double side) {
    const double reach = placing.half_side / placing.cells_per_length;
    const auto images = [&](double at, double center) {
      const double first = at - side * std::floor((at - center + reach) / side);  // the lowest image on the map
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

/// Distributes masses over the four nearest cells by area, in fixed-point units: the sums do not depend on order or
/// ranks. Particles beyond the grid are left out. Null `mass`: each particle counts 1.
SquareGrid deposit(const Placing& placing, const std::vector<double>* mass, double quantum, int side,
                   Communicator& ranks) {
  SquareGrid to(side);
  std::vector<std::int64_t> sums(to.cells.size());
  const auto sum = [&](int x, int y) -> std::int64_t& {
    return sums[static_cast<std::size_t>(y) * static_cast<std::size_t>(side) + static_cast<std::size_t>(x)];
  };
  for (std::size_t i = 0; i < placing.right.size(); ++i) {
    const double x = placing.x(i) - 0.5, y = placing.y(i) - 0.5;
    if (!(x >= 0 && y >= 0 && x < side - 1 && y < side - 1)) continue;
    const int cx = static_cast<int>(x), cy = static_cast<int>(y);
    const double fx = x - cx, fy = y - cy;
    const std::int64_t all = physics::quanta(mass ? (*mass)[i] : 1.0, 1 / quantum);
    const std::int64_t q11 = physics::quanta_share(all, fx * fy), q01 = physics::quanta_share(all, fx - fx * fy);
    const std::int64_t q10 = physics::quanta_share(all, fy - fx * fy);
    sum(cx, cy) += all - q01 - q10 - q11;
    sum(cx + 1, cy) += q01;
    sum(cx, cy + 1) += q10;
    sum(cx + 1, cy + 1) += q11;
  }
  ranks.all_reduce(sums.data(), sums.size(), Reduction::sum);
  for (std::size_t c = 0; c < sums.size(); ++c) to.cells[c] = static_cast<double>(sums[c]) * quantum;
  return to;
}

/// Blur radii 0, 1, 2, 4, …, up to a part of the map.
std::vector<int> blur_radii(int pixels) {
  std::vector<int> radii{0};
  for (int radius = 1; radius <= std::max(1, pixels / widest_blur_parts); radius *= 2) radii.push_back(radius);
  return radii;
}

/// For each cell: the (fractional) index in `radii` at which the Gaussian around it holds the wanted number of
/// neighbours.
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

/// Splits the mass by level, smooths each level by its radius, and adds.
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

/// Throws Error(input) for what cannot be shown.
void check_projection(std::int64_t particles, const ProjectionOptions& options) {
  if (particles == 0) throw Error(ErrorKind::input, "picture: there are no particles to show");
  if (!(options.frame.width > 0) || !std::isfinite(options.frame.width))
    throw Error(ErrorKind::input,
                fmt::format("picture: the width is {}, expected a length above 0", to_text(options.frame.width)));
  if (options.pixels < 16 || options.pixels > 4096)
    throw Error(ErrorKind::input, fmt::format("picture: the size is {} pixels, expected 16 to 4096", options.pixels));
}

}  // namespace

/// Few bodies: all of them, about the middle of their range. Many: medians, and the reach of 93 % of them.
Frame automatic_frame(const Particles& particles, SightLine axis, Communicator& ranks) {
  std::int64_t total = particles.size();
  ranks.all_reduce(&total, 1, Reduction::sum);
  if (total == 0) return {};
  const bool few = total < all_shown_below;
  const auto middle = [&](const std::vector<double>& values) {
    return few ? middle_of_range(values, ranks) : quantile(values, 0.5, ranks);
  };
  Frame frame;
  frame.center.x = middle(particles.x);
  frame.center.y = middle(particles.y);
  frame.center.z = middle(particles.z);
  const auto &right = right_of(particles, axis), &up = up_of(particles, axis);
  std::vector<double> reach(right.size());
  for (std::size_t i = 0; i < reach.size(); ++i)
    reach[i] = std::max(std::abs(right[i] - right_of(frame.center, axis)), std::abs(up[i] - up_of(frame.center, axis)));
  frame.width = 2 * (few ? 1.25 : 1.1) * quantile(std::move(reach), few ? 1.0 : frame_fraction, ranks);
  if (!(frame.width > 0)) frame.width = 1;
  return frame;
}

namespace {

/// The map of placed particles. `particles`: their number on all ranks.
Projection map_of(const Placing& placing, const std::vector<double>& mass, const ProjectionOptions& options, int margin,
                  int side, std::int64_t particles, Communicator& ranks) {
  constexpr double most_images = 4;  // of a particle on the grid, in the mean
  double largest = 0;
  for (const double one : mass) largest = std::max(largest, one);
  ranks.all_reduce(&largest, 1, Reduction::maximum);
  const double count = most_images * static_cast<double>(particles);
  const auto number = deposit(placing, nullptr, physics::mass_quantum(count, 1), side, ranks);
  const auto radii = blur_radii(options.pixels);
  const auto level = smoothing_levels(number, radii, options.threads);
  const auto smooth = smooth_adaptively(
      largest > 0 ? deposit(placing, &mass, physics::mass_quantum(count * largest, largest), side, ranks) : number,
      level, radii, options.threads);

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
  ranks.all_reduce(&map.shown, 1, Reduction::sum);
  map.spots = map.shown > spots_most ? std::vector<Spot>{} : gather_lists_on_all(ranks, map.spots);
  return map;
}

}  // namespace

/// Maps are made with a margin, so that particles just outside are smoothed into the picture.
Projection project(const Particles& particles, const ProjectionOptions& options, Communicator& ranks) {
  std::int64_t total = particles.size();
  ranks.all_reduce(&total, 1, Reduction::sum);
  check_projection(total, options);
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
        images.mass, options, margin, side, total, ranks);
    map.shown = std::min(map.shown, total);  // a particle at the edge may appear at both edges
  } else {
    map = map_of(placing, particles.mass, options, margin, side, total, ranks);
  }
  map.particles = total;
  return map;
}

}  // namespace pergola
