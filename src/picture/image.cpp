#include "picture/image.hpp"

#include <fmt/core.h>
#include <png.h>

#include <cmath>
#include <memory>

#include "base/atomic_file.hpp"
#include "base/error.hpp"

namespace pergola {

/// In sRGB values, without conversion to light.
Color blend(Color under, Color over, double opacity) {
  const auto mix = [opacity](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + (b - a) * opacity));
  };
  return {mix(under.r, over.r), mix(under.g, over.g), mix(under.b, over.b)};
}

Image::Image(int width, int height, Color fill) : width_(width), height_(height) {
  if (width < 1 || height < 1)
    throw Error(ErrorKind::input,
                fmt::format("a picture of {} x {} pixels cannot be made, expected at least 1 x 1", width, height));
  pixels_.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), fill);
}

namespace {

/// libpng must not return from its error function; an exception leaves it.
[[noreturn]] void png_failed(png_structp, png_const_charp message) {
  throw Error(ErrorKind::system, fmt::format("libpng refused to encode a picture: {}", message));
}

/// libpng writes into memory: the file is written at once when it is complete.
void append_bytes(png_structp png, png_bytep data, png_size_t size) {
  auto& bytes = *static_cast<std::vector<std::uint8_t>*>(png_get_io_ptr(png));
  bytes.insert(bytes.end(), data, data + size);
}

}  // namespace

/// 8 bits per channel, no time stamp. The filter and the level of compression are fixed, so the bytes are too.
std::vector<std::uint8_t> encode_png(const Image& image) {
  std::vector<std::uint8_t> bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, png_failed, nullptr);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  if (!info) throw Error(ErrorKind::device, "out of memory while encoding a PNG picture");
  const auto release = [&info](png_structp p) { png_destroy_write_struct(&p, &info); };
  const std::unique_ptr<png_struct, decltype(release)> owner(png, release);
  png_set_write_fn(png, &bytes, append_bytes, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width()), static_cast<png_uint_32>(image.height()), 8,
               PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(png, 6);  // 9 takes five times as long for 4 % less
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
  png_write_info(png, info);
  static_assert(sizeof(Color) == 3);
  for (int y = 0; y < image.height(); ++y)
    png_write_row(
        png, reinterpret_cast<png_const_bytep>(image.pixels().data() +
                                               static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width())));
  png_write_end(png, info);
  return bytes;
}

void write_png(const std::filesystem::path& path, const Image& image) {
  const auto bytes = encode_png(image);
  AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace pergola
