#include "view/message.hpp"

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

namespace pergola {

void put_in_message(std::string& to, unsigned value, int bytes) {
  for (int k = 0; k < bytes; ++k) to += static_cast<char>((value >> (8 * k)) & 0xff);
}

std::string begin_view_message(std::string_view letters, const nlohmann::json& header) {
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string message(letters);
  put_in_message(message, static_cast<unsigned>(text.size()), 4);
  message += text;
  return message;
}

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

}  // namespace pergola
