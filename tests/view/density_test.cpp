#include "view/messages.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace pergola {
namespace {

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
