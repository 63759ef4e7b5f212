#include "view/messages.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "analysis/force_audit.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

/// What a page makes of a message.
struct Decoded {
  nlohmann::json header;
  std::vector<std::array<double, 3>> places;
  std::vector<unsigned> kinds;
  std::vector<double> speeds;

  explicit Decoded(const std::string& message) {
    EXPECT_EQ(message.substr(0, 4), "PGV1");
    const auto length = word(message, 4) + (word(message, 6) << 16);
    EXPECT_EQ((8 + length) % 8, 0u);
    header = nlohmann::json::parse(message.substr(8, length));
    const auto count = header["count"].get<std::size_t>();
    EXPECT_EQ(message.size(), 8 + length + 8 * count);
    const double low = header["speed"][0], high = header["speed"][1];
    for (std::size_t i = 0; i < count; ++i) {
      std::array<double, 3> place{};
      for (std::size_t k = 0; k < 3; ++k)
        place[k] = header["corner"][k].get<double>() +
                   word(message, 8 + length + 8 * i + 2 * k) / 65535.0 * header["side"][k].get<double>();
      places.push_back(place);
      const unsigned rest = word(message, 8 + length + 8 * i + 6);
      kinds.push_back(rest & 15u);
      speeds.push_back(low + (rest >> 4) / 4095.0 * (high - low));
    }
  }
  static unsigned word(const std::string& message, std::size_t at) {
    return static_cast<unsigned char>(message.at(at)) | unsigned(static_cast<unsigned char>(message.at(at + 1))) << 8;
  }
};

ViewPoints some_points() {
  ViewPoints points;
  points.time = 1.5;
  points.total = 1000;
  points.kinds = {"gas", "halo", "disc"};
  points.x = {-3, 0.25f, 5}, points.y = {1, 2, 3}, points.z = {7, 7, 7}, points.speed = {0, 1, 2};
  points.kind = {2, 1, 0};
  return points;
}

TEST(ViewPoints, AreReadBackWithinOnePartInSixtyFiveThousand) {
  const ViewPoints points = some_points();
  const Decoded page(encode_points(points));
  ASSERT_EQ(page.places.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(page.places[i][0], points.x[i], 8 / 65535.0);
    EXPECT_NEAR(page.places[i][1], points.y[i], 2 / 65535.0);
    EXPECT_EQ(page.places[i][2], 7);
    EXPECT_EQ(page.kinds[i], points.kind[i]);
    EXPECT_NEAR(page.speeds[i], points.speed[i], 2 / 4095.0);
  }
  EXPECT_EQ(page.header["time"], 1.5);
  EXPECT_EQ(page.header["total"], 1000);
}

TEST(ViewPoints, ThatAreNotFiniteAreLeftOut) {
  ViewPoints points = some_points();
  points.y[1] = std::numeric_limits<float>::quiet_NaN();
  points.speed[2] = std::numeric_limits<float>::infinity();
  const Decoded page(encode_points(points));
  ASSERT_EQ(page.places.size(), 1u);
  EXPECT_EQ(page.places[0][0], -3);
  const Decoded nothing(encode_points(ViewPoints{}));
  EXPECT_TRUE(nothing.places.empty());
}

TEST(ViewPoints, SpreadPlacesAreEvenAndNeverTwice) {
  EXPECT_EQ(sample_places(5, 10), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(sample_places(0, 10).size(), 0u);
  const std::int64_t total = 1'000'000'007;
  const auto places = sample_places(total, 1000);
  ASSERT_EQ(places.size(), 1000u);
  EXPECT_EQ(places[0], 0);
  for (std::size_t k = 1; k < places.size(); ++k) {
    EXPECT_GE(places[k] - places[k - 1], total / 1000);
    EXPECT_LE(places[k] - places[k - 1], total / 1000 + 1);
  }
  EXPECT_LT(places.back(), total);
}

nlohmann::json text_of_message(const std::string& message, std::size_t& end) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(message.at(at)); };
  const std::size_t length = byte(4) + 256u * byte(5) + 65536u * byte(6);
  end = 8 + length;
  EXPECT_EQ(end % 8, 0u);
  return nlohmann::json::parse(message.substr(8, length));
}

// Reference: the logarithms themselves.
TEST(ViewDensity, IsSentAsLogarithmsOfTheFullestPixel) {
  ViewDensity density{0.5, "t = 0.5", 7, 1000, {3, 2, {0, 256, 512, 256 * 15, 128, 0}}};
  const std::string message = encode_density(density);
  EXPECT_EQ(message.substr(0, 4), "PGD1");
  std::size_t at = 0;
  const auto header = text_of_message(message, at);
  EXPECT_EQ(header.at("most"), 15);
  EXPECT_EQ(header.at("number"), 7);
  EXPECT_EQ(header.at("width"), 3);
  EXPECT_EQ(header.at("height"), 2);
  ASSERT_EQ(message.size(), at + 6);
  const double particles[] = {0, 1, 2, 15, 0.5, 0};
  for (std::size_t k = 0; k < 6; ++k)
    EXPECT_EQ(static_cast<unsigned char>(message[at + k]), std::lround(255 * std::log(1 + particles[k]) / std::log(16)))
        << k;
}

TEST(ViewDensity, OfNothingIsDark) {
  const std::string message = encode_density({0, "", 0, 0, {2, 1, {0, 0}}});
  EXPECT_EQ(message.substr(message.size() - 2), std::string(2, '\0'));
}

// Reference: RFC 4648's letters for these bytes, and means that were worked out by hand.
TEST(ViewMaps, GoWithThePointsThinnedToBlocks) {
  ViewPoints points;
  StateMap map{"charge density", "e n_0", {256, 1}, {512, 2}, std::vector<float>(256, 1.0f)};
  map.values[0] = 3, map.values[1] = 5, map.values[255] = -5;  // means 4, 1, …, 1, −2
  points.maps.push_back(map);
  points.maps.push_back({"|E|", "", {3, 1}, {3, 1}, {0, 1, 2}});
  std::size_t end = 0;
  const auto header = text_of_message(encode_points(points), end);
  const auto& thinned = header.at("maps").at(0);
  EXPECT_EQ(thinned.at("width"), 128);
  EXPECT_EQ(thinned.at("height"), 1);
  EXPECT_EQ(thinned.at("range"), (nlohmann::json{-2, 4}));
  EXPECT_EQ(thinned.at("side"), (nlohmann::json{512, 2}));
  // 255, 128, 128, … 0: groups of three bytes ff 80 80, then 80 80 80, at the end 80 00.
  const auto data = thinned.at("data").get<std::string>();
  EXPECT_EQ(data.substr(0, 8), "/4CAgICA");
  EXPECT_EQ(data.substr(data.size() - 4), "gAA=");
  EXPECT_EQ(header.at("maps").at(1).at("data"), "AID/");
}

}  // namespace
}  // namespace pergola
