#include "picture/plasma_plots.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "picture/colormap.hpp"
#include "picture/plot.hpp"

namespace pergola {
namespace {

int count(const Drawing& figure, Color color) {
  const Image image = rasterize(figure);
  int found = 0;
  for (const Color& pixel : image.pixels()) found += pixel == color ? 1 : 0;
  return found;
}

TEST(MapPlot, ColoursStandWhereTheValuesAre) {
  MapPlot plot;
  plot.colormap = "gray";
  plot.set_values(2, 2, {0, 1, 2, 4}, {0, 1}, {0, 1});  // the lower row first
  const Drawing figure = plot.draw(600, 400);
  const Image image = rasterize(figure);
  const Colormap gray("gray");
  // Quarters of the field: 0 below left, 4 above right; the bar shows every colour once more in a thin strip.
  EXPECT_GT(count(figure, gray(0)), 20000);
  EXPECT_GT(count(figure, gray(0.25)), 20000);
  EXPECT_GT(count(figure, gray(0.5)), 20000);
  EXPECT_EQ(image.at(150, 300), gray(0));
  EXPECT_EQ(image.at(380, 300), gray(0.25));
  EXPECT_EQ(image.at(150, 80), gray(0.5));
  EXPECT_EQ(image.at(380, 80), gray(1));
}

TEST(MapPlot, RefusesTheWrongNumberOfValues) {
  MapPlot plot;
  EXPECT_THROW(plot.set_values(2, 2, {1, 2, 3}, {0, 1}, {0, 1}), Error);
}

TEST(PlasmaPlots, PhaseSpaceIsBrightWhereTheParticlesAre) {
  PhaseSpace beams;
  for (int i = 0; i < 4000; ++i) {
    beams.across.push_back(std::fmod(i * 0.618, 1) * 10);
    beams.up.push_back((i % 2 == 0 ? 3 : -3) + 0.1 * std::sin(i * 1.7));
    beams.weights.push_back(1);
  }
  beams.period = 10;
  beams.colormap = "gray";
  const Image one = rasterize(plot_phase_space(beams, 900));
  beams.threads = 3;
  EXPECT_EQ(encode_png(rasterize(plot_phase_space(beams, 900))), encode_png(one));
  const auto brightness = [&](int y) {
    int sum = 0;
    for (int x = 200; x < 700; ++x) sum += one.at(x, y).g;
    return sum / 500;
  };
  int brightest = 0, darkest = 255, middle = one.height() / 2;
  for (int y = 40; y < one.height() - 80; ++y) {
    brightest = std::max(brightest, brightness(y));
    darkest = std::min(darkest, brightness(y));
  }
  EXPECT_GT(brightest, 180);
  EXPECT_LT(darkest, 10);
  EXPECT_LT(brightness(middle), 10);
  EXPECT_THROW(plot_phase_space(PhaseSpace{}, 900), Error);
}

/// Pixels of about this colour.
int count_near(const Image& image, Color color) {
  int found = 0;
  for (const Color& pixel : image.pixels())
    found += std::abs(pixel.r - color.r) < 30 && std::abs(pixel.g - color.g) < 30 && std::abs(pixel.b - color.b) < 30;
  return found;
}

// A beam of a hundredth of the particles, each of a thousandth of the weight: 5 decades less, of which one cloud shows
// the upper 2.5.
TEST(PlasmaPlots, SpeciesHaveColoursAndAWeakBeamIsSeen) {
  PhaseSpace plasma;
  const auto add = [&](int count, double up, double weight) {
    for (int i = 0; i < count; ++i) {
      plasma.across.push_back(std::fmod(i * 0.618034, 1) * 10);
      plasma.up.push_back(up + 0.3 * std::sin(i * 1.7));
      plasma.weights.push_back(weight);
    }
  };
  add(20000, 0, 1);
  add(200, 3, 1e-3);
  plasma.period = 10;
  plasma.colormap = "gray";
  const auto seen_above = [&](Color nothing) {  // in the upper third, where the beam is
    const Image image = rasterize(plot_phase_space(plasma, 900));
    int found = 0;
    for (int y = image.height() / 8; y < image.height() / 3; ++y) found += !(image.at(450, y) == nothing);
    return found;
  };
  EXPECT_EQ(seen_above(Colormap("gray")(0)), 0);
  plasma.species = {{"electrons", 20000}, {"beam", 200}};
  EXPECT_GT(seen_above({255, 255, 255}), 20);
  const Image image = rasterize(plot_phase_space(plasma, 900));
  EXPECT_GT(count_near(image, palette_color(0)), 5000);
  EXPECT_GT(count_near(image, palette_color(1)), 1000);  // the legend alone has some hundred
}

TEST(PlasmaPlots, ACircleIsRoundWhereBothAxesHaveOneUnit) {
  PhaseSpace ring;
  for (int i = 0; i < 20000; ++i) {
    ring.across.push_back(2 * std::cos(i * 0.1));
    ring.up.push_back(2 * std::sin(i * 0.1));
    ring.weights.push_back(1);
  }
  ring.colormap = "gray";
  const auto shape = [&] {
    const Image image = rasterize(plot_phase_space(ring, 900));
    int left = 900, right = 0, top = 900, bottom = 0;
    for (int y = 45; y < image.height() - 60; ++y)
      for (int x = 60; x < 760; ++x) {
        const Color pixel = image.at(x, y);
        if (pixel.r < 128 || pixel == Color{255, 255, 255}) continue;  // field and paper
        left = std::min(left, x), right = std::max(right, x), top = std::min(top, y), bottom = std::max(bottom, y);
      }
    return double(right - left) / (bottom - top);
  };
  EXPECT_GT(shape(), 1.2);
  ring.equal_scales = true;
  EXPECT_NEAR(shape(), 1, 0.02);
}

TEST(PlasmaPlots, AFieldOfBothSignsHasZeroInTheMiddleOfDivergingColours) {
  FieldSlice slice{2, 2, {-1, 0, 4, 2}, 1, 1, "", "", "", "", ""};
  const Colormap diverging(diverging_colormap), magma("magma");
  const Drawing both = plot_field(slice, 600);
  EXPECT_GT(count(both, diverging(0.5)), 10000);            // 0
  EXPECT_GT(count(both, diverging(1)), 10000);              // 4
  EXPECT_GT(count(both, diverging(0.5 - 0.5 / 4)), 10000);  // −1
  EXPECT_NEAR(diverging(0.5).b, 221, 1);                    // Moreland's middle, as near as 256 steps have it
  slice.values = {1, 2, 3, 5};
  EXPECT_GT(count(plot_field(slice, 600), magma(1)), 10000);
  slice.values = {-1, 0, 4, 2}, slice.colormap = "magma";
  EXPECT_GT(count(plot_field(slice, 600), magma(0)), 10000);
}

TEST(PlasmaPlots, SpectrumEndsWithItsPowerAndCurves) {
  SpectrumMap spectrum;
  for (int m = 1; m <= 10; ++m) spectrum.wave_numbers.push_back(0.1 * m);
  for (int i = 0; i < 100; ++i) {
    spectrum.frequencies.push_back(0.1 * i);
    for (int m = 1; m <= 10; ++m) spectrum.power.push_back(i == 12 ? 1.0 : 1e-9);
  }
  spectrum.theory.push_back({"langmuir", {0.1, 1.0}, {1.2, 1.2}});
  const Drawing figure = plot_spectrum(spectrum, 900);
  EXPECT_EQ(figure.width(), 900);
  EXPECT_GT(count(figure, palette_color(1)), 200);  // the curve
}

// Waves up to frequency 1.2 and three modes, over noise up to 10 and a hundred modes.
TEST(PlasmaPlots, SpectrumEndsWhereTheSignalDoes) {
  SpectrumMap spectrum;
  for (int m = 1; m <= 100; ++m) spectrum.wave_numbers.push_back(0.1 * m);
  for (int i = 0; i < 100; ++i) {
    spectrum.frequencies.push_back(0.1 * i);
    for (int m = 1; m <= 100; ++m) spectrum.power.push_back(i == 12 && m <= 3 ? 1.0 : 1e-4);
  }
  const Image image = rasterize(plot_spectrum(spectrum, 900));
  const Color brightest = Colormap("viridis")(1);
  int left = 900, right = 0, top = 900;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < 750; ++x)
      if (image.at(x, y) == brightest) left = std::min(left, x), right = std::max(right, x), top = std::min(top, y);
  EXPECT_GT(right - left, 150);            // three modes of eight
  EXPECT_LT(top, image.height() * 2 / 5);  // frequency 1.2 of 1.6
}

}  // namespace
}  // namespace pergola
