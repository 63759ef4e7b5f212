#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "device/buffer.hpp"
#include "particles/shown_particles.hpp"

// Density pictures for the live view, counted on the device of the particles: only the picture leaves the device.
// Counts are fixed-point units, so that the picture does not depend on threads, ranks or the order of particles.
// A camera is given as three rows of a matrix: right, up and depth. Positions are read in pieces into device memory;
// each particle adds its weight to one pixel with an atomic addition of whole numbers.
namespace pergola {

/// A perspective: a position appears at right/depth and up/depth, which go from −1 to 1 over the picture.
struct Sight {
  using Row = std::array<double, 4>;  // factors of x, y, z and 1
  Row right{1, 0, 0, 0}, up{0, 1, 0, 0}, depth{0, 0, 0, 1};
  double focus = 1;           // the depth of what is looked at
  int width = 0, height = 0;  // of the picture, in pixels
  bool operator==(const Sight&) const = default;
};

/// For each pixel (row 0 at the top) the particles behind it. A particle counts (focus/depth)², so that pixels are
/// densities integrated over the depth. In fixed-point units.
struct PERGOLA_API SeenDensity {
  static constexpr int quanta = 256;  // of a particle at the focus
  int width = 0, height = 0;
  std::vector<std::uint64_t> pixels;
  /// Adds particles to the same picture. An empty picture takes the size of `more`.
  void add(const SeenDensity& more);
};

/// Finds the pixel of particle i. Particles nearer than a hundredth of the focus do not count, nor does NaN.
struct CountSeen {
  const double *x = nullptr, *y = nullptr, *z = nullptr;
  Sight sight;

  /// The pixel, or −1.
  PERGOLA_HD std::int64_t pixel_of(std::int64_t i, std::uint64_t& weight) const {
    const double depth = along(sight.depth.data(), i);
    if (!(depth >= 0.01 * sight.focus)) return -1;
    const double inverse = 1 / depth;
    const double u = 0.5 * (1 + along(sight.right.data(), i) * inverse) * sight.width;
    const double v = 0.5 * (1 - along(sight.up.data(), i) * inverse) * sight.height;
    if (!(u >= 0 && u < sight.width && v >= 0 && v < sight.height)) return -1;
    const double nearer = sight.focus * inverse;
    weight = static_cast<std::uint64_t>(SeenDensity::quanta * nearer * nearer + 0.5);
    return static_cast<std::int64_t>(v) * sight.width + static_cast<std::int64_t>(u);
  }

 private:
  PERGOLA_HD double along(const double* row, std::int64_t i) const {
    return row[0] * x[i] + row[1] * y[i] + row[2] * z[i] + row[3];
  }
};

/// Adds particles begin … end − 1 to `pixels` (width · height of them). Several threads may add to the same picture.
PERGOLA_API void count_seen(const CountSeen& body, std::int64_t begin, std::int64_t end, std::uint64_t* pixels);

/// Counts the particles of an output view. Keeps its memory for the next picture.
class PERGOLA_API SeenCounter {
 public:
  /// The result does not depend on threads or the order of particles.
  SeenDensity count(const ShownParticles& shown, const Sight& sight);

 private:
  void count_piece(const Device& device, std::int64_t n, const Sight& sight);

  Buffer<double> x_, y_, z_;
  Buffer<std::uint64_t> pixels_;
};

/// Adds n particles to `pixels`. Does not wait. Present if cuda_built is true.
void count_seen_cuda(const Device& device, std::int64_t n, const CountSeen& body, std::uint64_t* pixels);

}  // namespace pergola
