#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "picture/image.hpp"

namespace pergola {

/// An animated GIF (GIF89a) that repeats for ever, frame by frame: the beginning of the file, each picture with a table
/// of 256 colours of its own, and the end.
PERGOLA_API std::string gif_beginning(int width, int height);
/// `hundredths`: of a second that the picture stands.
PERGOLA_API std::string gif_frame(const Image& image, int hundredths);
PERGOLA_API std::string gif_end();

/// Up to 256 colours, and the place of each pixel's nearest one among them. Pictures of so few colours stay as they
/// are; of more the colours are cut at their medians (Heckbert 1982).
struct IndexedImage {
  std::vector<Color> colors;
  std::vector<std::uint8_t> pixels;
};
PERGOLA_API IndexedImage reduce_colors(const Image& image);

}  // namespace pergola
