#include "picture/image.hpp"

#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <filesystem>

#include "base/error.hpp"
#include "io/temporary_directory.hpp"
#include "picture/colormap.hpp"

namespace pergola {
namespace {

constexpr Color white{255, 255, 255}, red{255, 0, 0};

/// Reference: libpng's own reader.
Image read_back(const std::vector<std::uint8_t>& bytes) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()), 0) << png.message;
  png.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> raw(PNG_IMAGE_SIZE(png));
  EXPECT_NE(png_image_finish_read(&png, nullptr, raw.data(), 0, nullptr), 0) << png.message;
  Image image(static_cast<int>(png.width), static_cast<int>(png.height));
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) {
      const auto* p = raw.data() + 3 * (static_cast<std::size_t>(y) * png.width + static_cast<std::size_t>(x));
      image.set(x, y, {p[0], p[1], p[2]});
    }
  return image;
}

TEST(Png, DecodesToTheSamePixels) {
  Image image(37, 21, white);
  for (int y = 0; y < 21; ++y)
    for (int x = 0; x < 37; ++x)
      image.set(x, y, {static_cast<std::uint8_t>(7 * x), static_cast<std::uint8_t>(11 * y), 3});
  const auto back = read_back(encode_png(image));
  ASSERT_EQ(back.width(), 37);
  ASSERT_EQ(back.height(), 21);
  EXPECT_EQ(back.pixels(), image.pixels());
}

class PngFile : public FileTest {};

TEST_F(PngFile, IsWrittenWholeOrNotAtAll) {
  write_png(at("a.png"), Image(4, 4, red));
  EXPECT_EQ(read_bytes(at("a.png")).substr(1, 3), "PNG");
  const auto message = error_of(ErrorKind::input, [&] { write_png(at("missing") / "b.png", Image(4, 4, red)); });
  EXPECT_NE(message.find("b.png"), std::string::npos);
  std::filesystem::create_directory(at("c.png"));
  EXPECT_THROW(write_png(at("c.png"), Image(4, 4, red)), Error);
  EXPECT_EQ(files_in_directory(), 2u);
}

TEST(Image, RefusesAnExtentOfNothing) { EXPECT_THROW(Image(0, 5), Error); }

// Reference: the published end points of the maps (Smith & van der Walt 2015), to the accuracy of the fits.
TEST(Colormap, RunsFromThePublishedDarkToThePublishedBright) {
  const auto near = [](Color a, Color b) {
    return std::abs(a.r - b.r) < 9 && std::abs(a.g - b.g) < 9 && std::abs(a.b - b.b) < 9;
  };
  EXPECT_TRUE(near(Colormap("magma")(0), {0, 0, 4}));
  EXPECT_TRUE(near(Colormap("magma")(1), {252, 253, 191}));
  EXPECT_TRUE(near(Colormap("viridis")(0), {68, 1, 84}));
  EXPECT_TRUE(near(Colormap("viridis")(0.5), {33, 145, 140}));
  EXPECT_TRUE(near(Colormap("viridis")(1), {253, 231, 37}));
  EXPECT_TRUE(near(Colormap("inferno")(1), {252, 255, 164}));
  EXPECT_TRUE(near(Colormap("plasma")(0), {13, 8, 135}));
  EXPECT_THROW(Colormap("rainbow"), Error);
}

TEST(Colormap, BrightensAllTheWayAndCutsBeyondTheEnds) {
  for (const auto& name : colormap_names()) {
    const Colormap map(name);
    double last = -1;
    for (int i = 0; i <= 32; ++i) {
      const Color c = map(i / 32.0);
      const double luma = 0.2126 * c.r + 0.7152 * c.g + 0.0722 * c.b;
      EXPECT_GT(luma, last - 1.0) << name << " at " << i;
      last = luma;
    }
    EXPECT_EQ(map(-3), map(0));
    EXPECT_EQ(map(7), map(1));
    EXPECT_EQ(map(std::nan("")), map(0));
  }
}

}  // namespace
}  // namespace pergola
