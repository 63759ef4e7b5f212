#include "picture/image.hpp"

#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <filesystem>

#include "base/error.hpp"
#include "io/temporary_directory.hpp"
#include "picture/colormap.hpp"
#include "picture/draw.hpp"
#include "picture/font.hpp"

namespace pergola {
namespace {

constexpr Color white{255, 255, 255}, black{0, 0, 0}, red{255, 0, 0};

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

double darkness(const Image& image) {
  double sum = 0;
  for (const Color c : image.pixels()) sum += 255 - c.g;
  return sum / 255;
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

TEST(Coverage, AreaOfShapesIsTheirArea) {
  Image image(64, 64, white);
  draw_box(image, {10, 10, 20, 8}, black);
  EXPECT_NEAR(darkness(image), 160, 0.5);
  image = Image(64, 64, white);
  Coverage disc(image, {0, 0, 64, 64});
  disc.disc({32, 32}, 12);
  disc.paint(image, black);
  EXPECT_NEAR(darkness(image), 3.14159 * 144, 3);
  image = Image(64, 64, white);
  draw_line(image, {10.5, 10.5}, {50.5, 50.5}, 3, black);
  EXPECT_NEAR(darkness(image), 56.57 * 3 + 3.14159 * 2.25, 4);  // the line and its two round ends
  image = Image(64, 64, white);
  Coverage triangle(image, {0, 0, 64, 64});
  triangle.polygon({{10, 10}, {50, 10}, {10, 50}});
  triangle.paint(image, black);
  EXPECT_NEAR(darkness(image), 800, 4);
}

TEST(Coverage, OverlappingPiecesCoverOnce) {
  Image whole(40, 40, white), pieces(40, 40, white);
  Coverage a(whole, {0, 0, 40, 40}), b(pieces, {0, 0, 40, 40});
  a.segment({5, 20}, {35, 20}, 2);
  b.polyline({{5, 20}, {15, 20}, {25, 20}, {35, 20}}, 2);
  a.paint(whole, black);
  b.paint(pieces, black);
  EXPECT_EQ(whole.pixels(), pieces.pixels());
}

TEST(Coverage, PointsWithoutAPlaceAreGapsAndNothingLeavesTheArea) {
  Image image(20, 20, white);
  Coverage coverage(image, {5, 5, 10, 10});
  coverage.polyline({{-1e30, 10}, {1e30, 10}, {std::nan(""), 3}, {3, HUGE_VAL}}, 2);
  coverage.paint(image, black);
  EXPECT_EQ(image.at(4, 10), white);
  EXPECT_EQ(image.at(15, 10), white);
  EXPECT_EQ(image.at(10, 10), black);
  EXPECT_EQ(image.at(10, 7), white);
}

TEST(Font, EveryPrintableCharacterHasAGlyphOfItsOwn) {
  std::vector<std::vector<Color>> seen;
  for (char c = '!'; c <= '~'; ++c) {
    Image image(40, 40, white);
    draw_text(image, {10, 28}, std::string(1, c), {16, black});
    EXPECT_GT(darkness(image), 3) << c;
    for (const auto& other : seen) EXPECT_NE(image.pixels(), other) << c;
    seen.push_back(image.pixels());
  }
}

TEST(Font, WidthGrowsWithTextAndSize) {
  EXPECT_EQ(text_width("", 10), 0);
  EXPECT_GT(text_width("ab", 10), text_width("a", 10));
  EXPECT_NEAR(text_width("time", 20), 2 * text_width("time", 10), 1e-12);
  EXPECT_LT(text_width("10^{3}", 10), text_width("103", 10));
  EXPECT_LT(text_width("−", 10), text_width("0123", 10));
}

TEST(Font, CutAndForeignTextIsDrawnWithoutHarm) {
  Image image(60, 30, white);
  for (const char* text : {"\xE2", "\xE2\x88", "\xFF\xFF", "^{", "_{3", "}", "日本"})
    draw_text(image, {2, 20}, text, {});
  EXPECT_GT(darkness(image), 0);
}

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
