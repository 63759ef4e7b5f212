#include "picture/plot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "io/temporary_directory.hpp"
#include "picture/run_plots.hpp"

namespace pergola {
namespace {

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> names;
  for (const auto& tick : ticks)
    if (!tick.label.empty()) names.push_back(tick.label);
  return names;
}

using Names = std::vector<std::string>;

TEST(Ticks, AreRoundNumbersInsideTheAxis) {
  EXPECT_EQ(labels(linear_ticks(0, 10, 5)), (Names{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(labels(linear_ticks(-0.31, 0.32, 6)), (Names{"−0.2", "0", "0.2"}));
  EXPECT_EQ(labels(linear_ticks(0.1, 0.3, 2)), (Names{"0.1", "0.2", "0.3"}));
  EXPECT_EQ(labels(linear_ticks(0, 3e6, 3)), (Names{"0", "10^{6}", "2×10^{6}", "3×10^{6}"}));
  EXPECT_TRUE(linear_ticks(1, 1, 4).empty());
  for (const double high : {1e-300, 1e-7, 3.7, 1e5, 1e300}) {
    const auto ticks = linear_ticks(-high / 3, high, 6);
    EXPECT_GE(ticks.size(), 3u) << high;
    EXPECT_LE(ticks.size(), 9u) << high;
  }
}

TEST(Ticks, OfALogarithmicAxisAreThePowersOfTen) {
  EXPECT_EQ(labels(log_ticks(1e-3, 1e1, 8)), (Names{"10^{−3}", "10^{−2}", "10^{−1}", "10^{0}", "10^{1}"}));
  EXPECT_EQ(labels(log_ticks(1e-16, 1e4, 5)), (Names{"10^{−15}", "10^{−10}", "10^{−5}", "10^{0}"}));
  EXPECT_EQ(labels(log_ticks(1.5, 8, 5)), (Names{"2", "5"}));
  EXPECT_EQ(log_ticks(1, 10, 5).size(), 10u);  // with the minor ones
  // where less than a factor of two or so is shown
  EXPECT_EQ(labels(log_ticks(1.1, 1.9, 4)), (Names{"1.2", "1.4", "1.6", "1.8"}));
  EXPECT_EQ(labels(log_ticks(0.9e-6, 1.3e-6, 2)), (Names{"10^{−6}", "1.2×10^{−6}"}));
  EXPECT_TRUE(log_ticks(-1, 10, 5).empty());
}

TEST(Ticks, NumbersAreShort) {
  EXPECT_EQ(tick_text(0), "0");
  EXPECT_EQ(tick_text(-0.25), "−0.25");
  EXPECT_EQ(tick_text(65536), "65536");
  EXPECT_EQ(tick_text(2.5e-7), "2.5×10^{−7}");
  EXPECT_EQ(tick_text(1e-9), "10^{−9}");
}

TEST(Scale, FollowsTheDataAndLeavesOutWhatHasNoPlace) {
  Axis axis;
  axis.log = true;
  const Scale scale(axis, {0, -1, std::nan(""), HUGE_VAL, 1e-8, 1e-4});
  EXPECT_LT(scale.low(), 1e-8);
  EXPECT_GT(scale.low(), 1e-9);
  EXPECT_GT(scale.high(), 1e-4);
  EXPECT_NEAR(scale.place(1e-6), 0.5, 1e-12);
  EXPECT_TRUE(std::isnan(scale.place(0)));
  axis.low = 1;
  axis.high = 100;
  EXPECT_NEAR(Scale(axis, {5}).place(10), 0.5, 1e-12);
  EXPECT_NO_THROW(Scale(Axis{}, {}).ticks(5));
  EXPECT_GT(Scale(Axis{}, {3, 3}).high(), 3);
}

int pixels_of(const Drawing& figure, Color color) {
  const Image image = rasterize(figure);
  return static_cast<int>(std::count(image.pixels().begin(), image.pixels().end(), color));
}

TEST(Plot, DrawsEachSeriesInItsColour) {
  Plot plot;
  plot.title = "title";
  plot.x.label = "x";
  plot.y.label = "y";
  plot.add_series("line", {0, 1, 2}, {0, 1, 4});
  plot.add_series("points", {0, 1, 2}, {4, 1, 0}, {Stroke::none, Marker::square});
  Drawing figure(600, 400);
  plot.draw(figure);
  EXPECT_EQ(rasterize(figure).at(0, 0), (Color{255, 255, 255}));
  EXPECT_GT(pixels_of(figure, palette_color(0)), 300);
  EXPECT_GT(pixels_of(figure, palette_color(1)), 100);
  EXPECT_EQ(pixels_of(figure, palette_color(2)), 0);
}

TEST(Plot, HigherValuesAreHigherUpAndLaterOnesToTheRight) {
  Plot plot;
  plot.x.log = plot.y.log = true;
  plot.x.low = plot.y.low = 1;
  plot.x.high = plot.y.high = 100;
  plot.add_series("", {50}, {50}, {Stroke::none, Marker::circle, 0, 2, 5});
  Drawing figure(600, 400);
  plot.draw(figure);
  const Image image = rasterize(figure);
  double x = 0, y = 0;
  int count = 0;
  for (int j = 0; j < 400; ++j)
    for (int i = 0; i < 600; ++i)
      if (image.at(i, j) == palette_color(0)) x += i, y += j, ++count;
  ASSERT_GT(count, 40);
  EXPECT_GT(x / count, 450);
  EXPECT_LT(y / count, 100);
}

TEST(Plot, SurvivesEmptyAndUnplaceableData) {
  Drawing figure(300, 200);
  Plot().draw(figure);
  Plot plot;
  plot.y.log = true;
  plot.add_series("nothing", {0, 1, std::nan("")}, {0, -1, 5}, {Stroke::dashed, Marker::diamond});
  plot.draw(figure);
  EXPECT_EQ(rasterize(figure).width(), 300);
  EXPECT_THROW(plot.add_series("uneven", {1, 2}, {1}), Error);
  EXPECT_GT(BarChart().draw(300).height(), 10);
}

std::vector<Text> texts_of(const Drawing& figure) {
  std::vector<Text> texts;
  for (const DrawingItem& item : figure.items())
    if (const auto* const text = std::get_if<Text>(&item)) texts.push_back(*text);
  return texts;
}

TEST(Plot, ALongTitleTakesLinesThatFitIntoTheFigure) {
  Plot plot;
  const auto field = [&] {
    Drawing figure(600, 400);
    return plot.draw(figure, {0, 0, 600, 400});
  };
  plot.title = "short";
  const double high = field().y;
  plot.title =
      "The wave of [plasma.wave]: damping rate 0.1546 +/- 0.0021, theory 0.1536, frequency 1.414, theory 1.415";
  EXPECT_GT(field().y, high + 15);
  Drawing figure(600, 400);
  plot.draw(figure);
  std::string words;
  double below = 0;
  for (const Text& text : texts_of(figure)) {
    if (!text.style.bold) continue;
    EXPECT_LT(text.at.x + text_width(text.text, text.style.size, true), 600) << text.text;
    EXPECT_GT(text.at.y - text.style.size, -1) << text.text;
    words = text.at.y < below ? text.text + " " + words : words + text.text;
    below = text.at.y;
  }
  EXPECT_EQ(words, plot.title);
}

TEST(Plot, ALegendHidesNoLine) {
  const auto drawn = [](const std::vector<double>& x, const std::vector<double>& y) {
    Plot plot;
    plot.add_series("name", x, y);
    Drawing figure(600, 400);
    const Rect field = plot.draw(figure, {0, 0, 600, 400});
    double at = -1;
    for (const Text& text : texts_of(figure))
      if (text.text == "name") at = text.at.y;
    return std::pair{field.y, at};
  };
  const auto [diagonal_top, beside] = drawn({0, 1}, {0, 1});
  EXPECT_GT(beside, diagonal_top);  // in a corner of the field
  std::vector<double> x, y;
  for (int i = 0; i <= 400; ++i) x.push_back(i), y.push_back(i % 2);
  const auto [top, above] = drawn(x, y);  // fills the field
  EXPECT_LT(above, top);
  EXPECT_GT(above, 0);
  EXPECT_GT(top, diagonal_top);
}

TEST(BarChart, LengthIsProportionalToTheValue) {
  BarChart chart;
  chart.add_bar("a", 3, "");
  chart.add_bar("b", 1, "");
  const auto image = rasterize(chart.draw(500));
  const auto length = [&](int y) {
    int count = 0;
    for (int x = 0; x < image.width(); ++x) count += image.at(x, y) == palette_color(0) ? 1 : 0;
    return count;
  };
  EXPECT_NEAR(length(65), 3 * length(95), 4);
}

class RunLogFile : public FileTest {
 protected:
  std::string error_reading(const std::string& bytes) {
    write_bytes(at("log.csv"), bytes);
    return error_of(ErrorKind::input, [&] { RunLog::read(at("log.csv")).numbers("time"); });
  }
};

TEST_F(RunLogFile, ReadsColumnsByName) {
  write_bytes(at("log.csv"), "stage, seconds\r\nforce,1.5\r\noutput,2e-3\nhalf a li");
  const auto log = RunLog::read(at("log.csv"));
  EXPECT_EQ(log.rows(), 2u);
  EXPECT_EQ(log.text("stage"), (Names{"force", "output"}));
  EXPECT_EQ(log.numbers("seconds"), (std::vector<double>{1.5, 2e-3}));
}

TEST_F(RunLogFile, ColumnsHaveTheirNamesWithoutUnits) {
  write_bytes(at("log.csv"), "time[kpc/(km/s)],r50[kpc],particles\n0.5,2,10\n1,3,10\n");
  const auto log = RunLog::read(at("log.csv"));
  EXPECT_EQ(log.names(), (Names{"time", "r50", "particles"}));
  EXPECT_EQ(log.numbers("r50"), (std::vector<double>{2, 3}));
}

TEST_F(RunLogFile, SaysWhatIsWrongAndWhere) {
  EXPECT_NE(error_reading("").find("column names"), std::string::npos);
  EXPECT_NE(error_reading("time\n").find("at least one line"), std::string::npos);
  EXPECT_NE(error_reading("time,a\n1,2\n3\n").find("line 3 has 1 fields, expected 2"), std::string::npos);
  EXPECT_NE(error_reading("a,b\n1,2\n").find("no column \"time\""), std::string::npos);
  EXPECT_NE(error_reading("time\n1\nx\n").find("line 3, column time: expected a number, found \"x\""),
            std::string::npos);
  error_of(ErrorKind::input, [&] { RunLog::read(at("missing.csv")); });
  error_of(ErrorKind::input, [&] { RunLog::read(directory_); });
}

TEST_F(RunLogFile, PlotsOfARunShowData) {
  std::string energy = "time,kinetic,potential,total,relative_error,px,py,pz,lx,ly,lz,wall\n";
  for (int i = 0; i <= 20; ++i)
    energy += std::to_string(i) + ",0.25,-0.5,-0.25," + std::to_string(i * 1e-5) + ",0,0," + std::to_string(i * 1e-4) +
              ",0,0.1,0,1\n";
  write_bytes(at("energy.csv"), energy);
  write_bytes(at("profile.csv"), "stage,calls,seconds\nforce,10,3\npredict,10,1\n");
  const auto log = RunLog::read(at("energy.csv"));
  EXPECT_GT(pixels_of(plot_energy(log), palette_color(0)), 500);
  EXPECT_GT(pixels_of(plot_momentum(log), palette_color(0)), 300);
  LogUnits units{"Gyr", "J", ""};
  units.time_factor = 100;
  const auto with_units = plot_energy(log, units);
  const auto has_text = [&](const std::string& words) {
    return std::any_of(with_units.items().begin(), with_units.items().end(), [&](const DrawingItem& item) {
      const auto* const text = std::get_if<Text>(&item);
      return text && text->text == words;
    });
  };
  EXPECT_TRUE(has_text("time (Gyr)"));
  EXPECT_TRUE(has_text("energy (J)"));
  EXPECT_FALSE(has_text("time"));
  EXPECT_TRUE(has_text("2000"));  // 20 in the log
  EXPECT_TRUE(has_text("|E − E_{0}| / |E_{0}|"));
  EXPECT_GT(pixels_of(plot_profile(RunLog::read(at("profile.csv"))), palette_color(0)), 1000);
}

// Two species with the same energies: the second is drawn on the first.
TEST_F(RunLogFile, SpeciesWithTheSameEnergiesAreBothSeen) {
  std::string energy = "time,kinetic,potential,total,relative_error,px,py,pz,lx,ly,lz,wall";
  for (const char* name : {"left", "right"}) energy += std::string(",kinetic_") + name + ",kinetic_" + name + ".x";
  for (int i = 0; i <= 20; ++i) energy += "\n" + std::to_string(i) + ",2,0.1,2.1,0,0,0,0,0,0,0,1,1,1,1,1";
  write_bytes(at("energy.csv"), energy + "\n");
  const Drawing figure = plot_energy(RunLog::read(at("energy.csv")));
  const Image image = rasterize(figure);
  const auto by_direction = [&](int series) {  // pixels in the last panel
    int count = 0;
    for (int y = image.height() * 3 / 4; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x) count += image.at(x, y) == palette_color(series) ? 1 : 0;
    return count;
  };
  EXPECT_GT(by_direction(0), 100);  // between the dashes; its line in the legend has some fifty
  EXPECT_GT(by_direction(1), 250);
}

}  // namespace
}  // namespace pergola
