#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/host_device.hpp"

// An RGB picture in memory, and PNG files. Compression and filters are fixed, so that the same picture always gives
// the same bytes. Figures with lines and text are in picture/drawing.hpp.
namespace pergola {

/// An sRGB colour, 8 bits per channel.
struct Color {
  std::uint8_t r = 0, g = 0, b = 0;
  friend bool operator==(Color, Color) = default;
};

/// Mixes `over` with weight `opacity` and `under` with the rest.
Color blend(Color under, Color over, double opacity);

/// An RGB picture, 8 bits per channel; row 0 is the top.
class PERGOLA_API Image {
 public:
  Image() = default;
  Image(int width, int height, Color fill = {});

  int width() const { return width_; }
  int height() const { return height_; }
  Color at(int x, int y) const { return pixels_[index(x, y)]; }
  void set(int x, int y, Color color) { pixels_[index(x, y)] = color; }
  const std::vector<Color>& pixels() const { return pixels_; }

 private:
  std::size_t index(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x);
  }
  int width_ = 0, height_ = 0;
  std::vector<Color> pixels_;
};

/// The bytes of a PNG file. The same picture always gives the same bytes.
PERGOLA_API std::vector<std::uint8_t> encode_png(const Image& image);

/// The file appears when it is complete. Throws Error(system) if the operating system refuses, and Error(input) for a
/// path that cannot name a file.
PERGOLA_API void write_png(const std::filesystem::path& path, const Image& image);

}  // namespace pergola
