#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "device/buffer.hpp"
#include "particles/shown_particles.hpp"

namespace pergola {

/// How somebody looks at particles, as a page that draws in perspective knows it: a place is seen at right/depth and
/// up/depth, which go from −1 to 1 over the picture.
struct Sight {
  using Row = std::array<double, 4>;  // factors of x, y, z and 1
  Row right{1, 0, 0, 0}, up{0, 1, 0, 0}, depth{0, 0, 0, 1};
  double focus = 1;           // the depth of what is looked at
  int width = 0, height = 0;  // of the picture, in pixels
  bool operator==(const Sight&) const = default;
};

/// How many particles lie behind each pixel, row 0 at the top, each as often as a pixel at its depth is smaller than
/// one at the focus: (focus/depth)², so that pixels are densities integrated over the depth. In whole quanta.
struct PERGOLA_API SeenDensity {
  static constexpr int quanta = 256;  // of a particle at the focus
  int width = 0, height = 0;
  std::vector<std::uint64_t> pixels;
  /// More particles in the same picture; the first ones where there are no pixels yet.
  void add(const SeenDensity& more);
};

/// Particle i of a piece, counted where it is seen. Nothing nearer than a hundredth of the focus is, nor what is not a
/// number.
struct CountSeen {
  const double *x = nullptr, *y = nullptr, *z = nullptr;
  Sight sight;

  /// The pixel, or −1.
  PERGOLA_HD std::int64_t pixel_of(std::int64_t i, std::uint64_t& weight) const {
    const double depth = along(sight.depth.data(), i);
    if (!(depth >= 0.01 * sight.focus)) return -1;
    const double u = 0.5 * (1 + along(sight.right.data(), i) / depth) * sight.width;
    const double v = 0.5 * (1 - along(sight.up.data(), i) / depth) * sight.height;
    if (!(u >= 0 && u < sight.width && v >= 0 && v < sight.height)) return -1;
    const double nearer = sight.focus / depth;
    weight = static_cast<std::uint64_t>(SeenDensity::quanta * nearer * nearer + 0.5);
    return static_cast<std::int64_t>(v) * sight.width + static_cast<std::int64_t>(u);
  }

 private:
  PERGOLA_HD double along(const double* row, std::int64_t i) const {
    return row[0] * x[i] + row[1] * y[i] + row[2] * z[i] + row[3];
  }
};

/// Counts what is seen of particles where they are: nothing but the picture leaves their device. Keeps its memory for
/// the next picture.
class PERGOLA_API SeenCounter {
 public:
  /// The same numbers for any number of threads and order of the particles.
  SeenDensity count(const ShownParticles& shown, const Sight& sight);

 private:
  void count_piece(const Device& device, std::int64_t n, const Sight& sight);

  Buffer<double> x_, y_, z_;
  Buffer<std::uint64_t> pixels_;
};

/// Present where cuda_built is true: adds n particles to `pixels`. Does not wait.
void count_seen_cuda(const Device& device, std::int64_t n, const CountSeen& body, std::uint64_t* pixels);

}  // namespace pergola
