#include "view/messages.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

// Positions are 16-bit fractions of their range, so that a point takes 8 bytes. The ranges are in the JSON text.
namespace pergola {

namespace {

/// Adds a little-endian number.
void put_in_message(std::string& to, unsigned value, int bytes) {
  for (int k = 0; k < bytes; ++k) to += static_cast<char>((value >> (8 * k)) & 0xff);
}

/// The start of a binary message: four letters, the length of a JSON text in 32 bits, and the text, padded with blanks
/// to a multiple of 8 bytes.
std::string begin_view_message(std::string_view letters, const nlohmann::json& header) {
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string message(letters);
  put_in_message(message, static_cast<unsigned>(text.size()), 4);
  message += text;
  return message;
}

/// Base64 (RFC 4648).
std::string base64(const std::string& bytes) {
  static constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t k = 0; k < bytes.size(); k += 3) {
    unsigned triple = 0;
    for (std::size_t j = 0; j < 3; ++j)
      triple = triple << 8 | (k + j < bytes.size() ? static_cast<unsigned char>(bytes[k + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) text += k + j <= bytes.size() ? letters[(triple >> (18 - 6 * j)) & 63u] : '=';
  }
  return text;
}

struct Span {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();

  void take(double value) { low = std::min(low, value), high = std::max(high, value); }
  double length() const { return high > low ? high - low : 0; }
  /// A value as a whole number from 0 to `most`.
  unsigned place(double value, double most) const {
    return length() > 0 ? static_cast<unsigned>((value - low) / length() * most + 0.5) : 0;
  }
};

bool is_finite(const ViewPoints& points, std::size_t i) {
  return std::isfinite(points.x[i]) && std::isfinite(points.y[i]) && std::isfinite(points.z[i]) &&
         std::isfinite(points.speed[i]);
}

/// Means over blocks of cells: at most 128 a side, 8 bits a value, scaled to the range of the means.
nlohmann::json map_json(const StateMap& map) {
  constexpr int most_cells = 128;
  const auto every = [](int n) { return (n + most_cells - 1) / most_cells; };
  const int across = every(map.cells[0]), down = every(map.cells[1]);
  const int width = (map.cells[0] + across - 1) / across, height = (map.cells[1] + down - 1) / down;
  std::vector<double> mean;
  Span range;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      double sum = 0;
      int count = 0;
      for (int j = y * down; j < std::min((y + 1) * down, map.cells[1]); ++j)
        for (int i = x * across; i < std::min((x + 1) * across, map.cells[0]); ++i, ++count)
          sum += map.values[static_cast<std::size_t>(j) * static_cast<std::size_t>(map.cells[0]) +
                            static_cast<std::size_t>(i)];
      mean.push_back(sum / count);
      if (std::isfinite(mean.back())) range.take(mean.back());
    }
  std::string bytes;
  for (const double value : mean) put_in_message(bytes, std::isfinite(value) ? range.place(value, 255) : 0, 1);
  const bool any = range.high >= range.low;
  return {{"title", map.title}, {"unit", map.unit},     {"width", width},
          {"height", height},   {"side", map.side},     {"range", {any ? range.low : 0, any ? range.high : 0}},
          {"cells", map.cells}, {"data", base64(bytes)}};
}

/// The JSON text before the points: names, units, ranges, maps and curves.
nlohmann::json header_of(const ViewPoints& points, const std::array<Span, 3>& frame, const Span& speed,
                         std::size_t count) {
  nlohmann::json corner = nlohmann::json::array(), side = nlohmann::json::array();
  for (const Span& span : frame) corner.push_back(count > 0 ? span.low : 0), side.push_back(span.length());
  nlohmann::json header{{"time", points.time},
                        {"time_text", points.time_text},
                        {"number", points.number},
                        {"count", count},
                        {"total", points.total},
                        {"axes", points.axes},
                        {"units", points.units},
                        {"kinds", points.kinds},
                        {"corner", corner},
                        {"side", side},
                        {"speed", {count > 0 ? speed.low : 0, count > 0 ? speed.high : 0}},
                        {"box_side", points.box_side}};
  for (const StateMap& map : points.maps) header["maps"].push_back(map_json(map));
  for (const StateCurve& curve : points.curves) header["curves"].push_back(curve_json(curve));
  return header;
}

}  // namespace

nlohmann::json curve_json(const StateCurve& curve) {
  const auto numbers = [](const std::vector<double>& values) {
    nlohmann::json list = nlohmann::json::array();
    for (const double value : values) list.push_back(std::isfinite(value) ? nlohmann::json(value) : nlohmann::json());
    return list;
  };
  const char* look = curve.look == StateCurve::Look::bars          ? "bars"
                     : curve.look == StateCurve::Look::logarithmic ? "logarithmic"
                                                                   : "line";
  return {{"title", curve.title}, {"look", look}, {"x", numbers(curve.x)}, {"y", numbers(curve.y)}};
}

std::string encode_points(const ViewPoints& points) {
  std::vector<std::size_t> shown;
  std::array<Span, 3> frame;
  Span speed;
  for (std::size_t i = 0; i < points.x.size(); ++i) {
    if (!is_finite(points, i)) continue;
    shown.push_back(i);
    frame[0].take(points.x[i]), frame[1].take(points.y[i]), frame[2].take(points.z[i]);
    speed.take(points.speed[i]);
  }
  std::string message = begin_view_message("PGV1", header_of(points, frame, speed, shown.size()));
  const std::size_t begin = message.size();
  message.resize(begin + 8 * shown.size());
  auto* to = reinterpret_cast<unsigned char*>(message.data() + begin);
  const auto put = [&](unsigned word) {
    *to++ = static_cast<unsigned char>(word & 0xff);
    *to++ = static_cast<unsigned char>(word >> 8 & 0xff);
  };
  constexpr double most_place = 65535, most_speed = 4095;
  for (const std::size_t i : shown) {
    put(frame[0].place(points.x[i], most_place));
    put(frame[1].place(points.y[i], most_place));
    put(frame[2].place(points.z[i], most_place));
    put((points.kind[i] & 15u) | speed.place(points.speed[i], most_speed) << 4);
  }
  return message;
}

std::uint64_t point_id(const ViewPoints& points, std::int64_t point) {
  for (std::size_t i = 0; i < points.id.size(); ++i)
    if (is_finite(points, i) && point-- == 0) return points.id[i];
  return 0;
}

std::string encode_density(const ViewDensity& density) {
  const SeenDensity& seen = density.seen;
  const auto particles = [](std::uint64_t count) { return static_cast<float>(count) / SeenDensity::quanta; };
  const auto fullest = std::max_element(seen.pixels.begin(), seen.pixels.end());
  const float most = fullest == seen.pixels.end() ? 0 : particles(*fullest);
  std::string message = begin_view_message("PGD1", {{"time", density.time},
                                                    {"time_text", density.time_text},
                                                    {"number", density.number},
                                                    {"total", density.total},
                                                    {"width", seen.width},
                                                    {"height", seen.height},
                                                    {"most", most}});
  message.reserve(message.size() + seen.pixels.size());
  const float scale = most > 0 ? 255 / std::log1p(most) : 0;  // exact enough for 256 levels
  for (const std::uint64_t count : seen.pixels)
    message += static_cast<char>(count == 0 ? 0 : std::lround(scale * std::log1p(particles(count))));
  return message;
}

}  // namespace pergola
