#include "view/density.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "view/message.hpp"

namespace pergola {

std::string encode_density(const ViewDensity& density) {
  const SeenDensity& seen = density.seen;
  const auto particles = [](std::uint64_t count) { return static_cast<double>(count) / SeenDensity::quanta; };
  const auto fullest = std::max_element(seen.pixels.begin(), seen.pixels.end());
  const double most = fullest == seen.pixels.end() ? 0 : particles(*fullest);
  std::string message = begin_view_message("PGD1", {{"time", density.time},
                                                    {"time_text", density.time_text},
                                                    {"number", density.number},
                                                    {"total", density.total},
                                                    {"width", seen.width},
                                                    {"height", seen.height},
                                                    {"most", most}});
  message.reserve(message.size() + seen.pixels.size());
  const double scale = most > 0 ? 255 / std::log1p(most) : 0;
  for (const std::uint64_t count : seen.pixels)
    message += static_cast<char>(static_cast<unsigned char>(std::lround(scale * std::log1p(particles(count)))));
  return message;
}

}  // namespace pergola
