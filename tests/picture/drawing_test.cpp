#include "picture/drawing.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "io/temporary_directory.hpp"

namespace pergola {
namespace {

constexpr Color white{255, 255, 255}, black{0, 0, 0}, red{255, 0, 0};

double darkness(const Drawing& figure) {
  const Image image = rasterize(figure);
  double sum = 0;
  for (const Color c : image.pixels()) sum += 255 - c.g;
  return sum / 255;
}

TEST(Drawing, AreaOfShapesIsTheirArea) {
  Drawing box(64, 64);
  box.box({10, 10, 20, 8}, black);
  EXPECT_NEAR(darkness(box), 160, 0.5);
  Drawing disc(64, 64);
  disc.disc({32, 32}, 12, black);
  EXPECT_NEAR(darkness(disc), 3.14159 * 144, 3);
  Drawing line(64, 64);
  line.line({10.5, 10.5}, {50.5, 50.5}, {black, 3});
  EXPECT_NEAR(darkness(line), 56.57 * 3 + 3.14159 * 2.25, 4);  // the line and its two round ends
  Drawing triangle(64, 64);
  triangle.polygon({{10, 10}, {50, 10}, {10, 50}}, black);
  EXPECT_NEAR(darkness(triangle), 800, 4);
}

TEST(Drawing, PointsWithoutAPlaceAreGapsAndNothingLeavesTheClip) {
  Drawing figure(20, 20);
  figure.clip({5, 5, 10, 10});
  figure.polyline({{-1e30, 10}, {1e30, 10}, {std::nan(""), 3}, {3, HUGE_VAL}}, {black, 2});
  figure.end_clip();
  const Image image = rasterize(figure);
  EXPECT_EQ(image.at(4, 10), white);
  EXPECT_EQ(image.at(15, 10), white);
  EXPECT_EQ(image.at(10, 10), black);
  EXPECT_EQ(image.at(10, 7), white);
}

TEST(Drawing, ALineOfVeryManyPointsKeepsItsCourse) {
  std::vector<Point> points;
  for (int i = 0; i <= 100000; ++i) points.push_back({10 + i * 80e-5, i % 2 == 0 ? 20.0 : 20.01});
  Drawing figure(100, 40);
  figure.polyline(points, {black, 2});
  EXPECT_LT(std::get<Shape>(figure.items()[0]).points.size(), 400u);
  EXPECT_NEAR(darkness(figure), 2 * 80 + 3.14159, 2);
}

TEST(Drawing, PixelsStandWhereTheyArePut) {
  Image two(2, 1, red);
  two.set(1, 0, black);
  Drawing figure(40, 20);
  figure.pixels({10, 5, 20, 10}, two);
  Drawing sheet(80, 20);
  sheet.add(figure, {40, 0});
  const Image image = rasterize(sheet);
  EXPECT_EQ(image.at(49, 10), white);
  EXPECT_EQ(image.at(50, 5), red);
  EXPECT_EQ(image.at(59, 14), red);
  EXPECT_EQ(image.at(60, 14), black);
  EXPECT_EQ(image.at(69, 5), black);
  EXPECT_EQ(image.at(70, 10), white);
}

TEST(Drawing, TextGrowsWithItsWordsAndTheirSize) {
  EXPECT_EQ(text_width("", 10), 0);
  EXPECT_GT(text_width("ab", 10), text_width("a", 10));
  EXPECT_NEAR(text_width("time", 20), 2 * text_width("time", 10), 0.1);
  EXPECT_LT(text_width("10^{3}", 10), text_width("103", 10));
  Drawing figure(60, 30);
  figure.text({5, 20}, "H", {16, black});
  EXPECT_GT(darkness(figure), 10);
  Drawing right(60, 30);
  right.text({55, 20}, "H", {16, black, Align::right});
  EXPECT_NEAR(darkness(right), darkness(figure), 1);
  EXPECT_EQ(rasterize(right).at(58, 15), white);
}

TEST(Markup, RaisesAndLowersAndMendsWhatIsNoText) {
  const auto runs = parse_markup("10^{−3} ω_{p}");
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[1].text, "−3");
  EXPECT_EQ(runs[1].script, 1);
  EXPECT_EQ(runs[2].text, " ω");
  EXPECT_EQ(runs[3].script, -1);
  for (const char* text :
       {"\xE2", "\xE2\x88", "\xFF\xFF", "^{", "_{3", "}", "日本", "\xC0\xAF", "\xED\xA0\x80", "a\nb"}) {
    Drawing figure(60, 30);
    figure.text({2, 20}, text, {12, black});
    EXPECT_NO_THROW(rasterize(figure)) << text;
  }
  EXPECT_EQ(parse_markup("a\x01").at(0).text, "a\xEF\xBF\xBD");
}

class DrawingFile : public FileTest {};

TEST_F(DrawingFile, EndingSaysWhatItIsAndTheSameFigureHasTheSameBytes) {
  Drawing figure(80, 40);
  figure.text({10, 20}, "a < b & 10^{−3}", {12, black});
  figure.line({5, 30}, {75, 30}, {red, 2});
  for (const char* name : {"a.png", "a.svg", "a.PDF"}) {
    write_drawing(at(name), figure);
    const auto first = read_bytes(at(name));
    write_drawing(at(name), figure);
    // Cairo numbers the parts of SVG files from the first in a program to the last.
    if (name != std::string("a.svg")) {
      EXPECT_EQ(read_bytes(at(name)), first) << name;
    }
  }
  EXPECT_EQ(read_bytes(at("a.png")).substr(1, 3), "PNG");
  const auto svg = read_bytes(at("a.svg"));
  EXPECT_NE(svg.find("width=\"80px\" height=\"40px\""), std::string::npos);
  EXPECT_NE(svg.find("a &lt; b &amp; 10"), std::string::npos);
  const auto pdf = read_bytes(at("a.PDF"));
  EXPECT_TRUE(pdf.starts_with("%PDF-1."));
  EXPECT_NE(pdf.rfind("%%EOF"), std::string::npos);
  EXPECT_EQ(pdf.find("CreationDate"), std::string::npos);
  error_of(ErrorKind::input, [&] { write_drawing(at("a.jpg"), figure); });
  error_of(ErrorKind::input, [&] { write_drawing(at("a"), figure); });
  EXPECT_THROW(Drawing(0, 3), Error);
}

}  // namespace
}  // namespace pergola
