#include "view/points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace pergola {

namespace {

struct Span {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();

  void take(double value) { low = std::min(low, value), high = std::max(high, value); }
  double length() const { return high > low ? high - low : 0; }
  /// 0 … most.
  unsigned place(double value, double most) const {
    return length() > 0 ? static_cast<unsigned>(std::lround((value - low) / length() * most)) : 0;
  }
};

bool is_finite(const ViewPoints& points, std::size_t i) {
  return std::isfinite(points.x[i]) && std::isfinite(points.y[i]) && std::isfinite(points.z[i]) &&
         std::isfinite(points.speed[i]);
}

void put(std::string& to, unsigned value, int bytes) {
  for (int k = 0; k < bytes; ++k) to += static_cast<char>((value >> (8 * k)) & 0xff);
}

std::string header_text(const ViewPoints& points, const std::array<Span, 3>& frame, const Span& speed,
                        std::size_t count) {
  nlohmann::json corner = nlohmann::json::array(), side = nlohmann::json::array();
  for (const Span& span : frame) corner.push_back(count > 0 ? span.low : 0), side.push_back(span.length());
  const nlohmann::json header{{"time", points.time},
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
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

std::vector<std::int64_t> spread_places(std::int64_t total, std::int64_t most) {
  const std::int64_t count = std::min(total, most);
  std::vector<std::int64_t> places(static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t whole = total / count, rest = total % count;  // k total/count without overflow
    places[static_cast<std::size_t>(k)] = k * whole + k * rest / count;
  }
  return places;
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
  const std::string header = header_text(points, frame, speed, shown.size());
  std::string message = "PGV1";
  message.reserve(8 + header.size() + 8 * shown.size());
  put(message, static_cast<unsigned>(header.size()), 4);
  message += header;
  constexpr double most_place = 65535, most_speed = 4095;
  for (const std::size_t i : shown) {
    put(message, frame[0].place(points.x[i], most_place), 2);
    put(message, frame[1].place(points.y[i], most_place), 2);
    put(message, frame[2].place(points.z[i], most_place), 2);
    put(message, (points.kind[i] & 15u) | speed.place(points.speed[i], most_speed) << 4, 2);
  }
  return message;
}

}  // namespace pergola
