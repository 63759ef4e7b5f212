#include "view/requests.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola {

namespace {

using nlohmann::json;

[[noreturn]] void refuse(std::string_view expected) {
  throw Error(ErrorKind::input, fmt::format("request: expected {}", expected));
}

std::int64_t integer(const json& message, const char* name, std::int64_t least, std::int64_t most) {
  const auto found = message.find(name);
  if (found == message.end() || !found->is_number_integer()) refuse(fmt::format("a whole number as \"{}\"", name));
  const auto value = found->is_number_unsigned() && found->get<std::uint64_t>() > std::uint64_t(INT64_MAX)
                         ? INT64_MAX
                         : found->get<std::int64_t>();
  if (value < least || value > most) refuse(fmt::format("\"{}\" from {} to {}", name, least, most));
  return value;
}

std::string text(const json& message, const char* name) {
  const auto found = message.find(name);
  if (found == message.end()) return {};
  if (!found->is_string()) refuse(fmt::format("text as \"{}\"", name));
  return found->get<std::string>();
}

/// The camera and the size of a picture.
Sight sight_of(const json& message) {
  const std::string camera = text(message, "camera");
  std::istringstream words(camera);
  std::vector<double> numbers;
  for (std::string word; words >> word;) {
    const auto value = parse_real(word);
    if (!value || !std::isfinite(*value)) refuse(fmt::format("numbers as \"camera\", found \"{}\"", word));
    numbers.push_back(*value);
  }
  if (numbers.size() != 13 || !(numbers[12] > 0))
    refuse(fmt::format("13 numbers as \"camera\", the last one above 0, found {}", numbers.size()));
  Sight sight;
  std::copy_n(numbers.begin(), 4, sight.right.begin());
  std::copy_n(numbers.begin() + 4, 4, sight.up.begin());
  std::copy_n(numbers.begin() + 8, 4, sight.depth.begin());
  sight.focus = numbers[12];
  sight.width = static_cast<int>(integer(message, "width", 1, most_view_pixels));
  sight.height = static_cast<int>(integer(message, "height", 1, most_view_pixels));
  return sight;
}

/// Nested messages are refused before the parser follows them; a page sends none.
bool is_nested(std::string_view message) {
  return std::count_if(message.begin(), message.end(), [](char c) { return c == '{' || c == '['; }) > 1;
}

}  // namespace

ViewRequest parse_view_request(std::string_view message_text) {
  if (message_text.size() > longest_view_request)
    refuse(fmt::format("at most {} bytes, found {}", longest_view_request, message_text.size()));
  if (is_nested(message_text)) refuse("one JSON object without others inside");
  const json message = json::parse(message_text, nullptr, false);
  if (!message.is_object()) refuse("a JSON object");
  ViewRequest request;
  if (message.contains("do")) {
    request.kind = ViewRequest::Kind::act;
    request.action = text(message, "do");
    request.argument = text(message, "argument");
    return request;
  }
  const std::string asked = text(message, "ask");
  if (asked == "state") return request;
  if (message.contains("wait")) request.wait_ms = static_cast<int>(integer(message, "wait", 0, request.wait_ms));
  if (asked == "density") {
    const bool of_run = message.contains("after");
    request.kind = of_run ? ViewRequest::Kind::newest_density : ViewRequest::Kind::density;
    request.number = integer(message, of_run ? "after" : "number", 0, INT64_MAX);
    request.sight = sight_of(message);
    return request;
  }
  if (asked == "id") {
    request.kind = ViewRequest::Kind::id;
    request.of_run = message.contains("moment");
    request.number = integer(message, request.of_run ? "moment" : "number", 0, INT64_MAX);
    request.most = integer(message, "most", 1, most_view_points);
    request.point = integer(message, "point", 0, most_view_points - 1);
    return request;
  }
  if (asked != "snapshot" && asked != "newest") refuse("\"ask\" as state, snapshot, newest, density or id, or \"do\"");
  request.kind = asked == "snapshot" ? ViewRequest::Kind::snapshot : ViewRequest::Kind::newest;
  request.number = integer(message, asked == "snapshot" ? "number" : "after", 0, INT64_MAX);
  request.most = integer(message, "most", 1, most_view_points);
  return request;
}

bool is_own_page(std::string_view host, std::string_view origin, std::string_view address) {
  if (!origin.empty() && origin != fmt::format("http://{}", host)) return false;
  std::string_view name = host;
  if (name.starts_with('[')) {
    const auto end = name.find(']');
    if (end == std::string_view::npos) return false;
    name = name.substr(1, end - 1);
  } else {
    name = name.substr(0, name.find(':'));
  }
  constexpr std::array<std::string_view, 3> loopback{"127.0.0.1", "localhost", "::1"};
  return name == address || std::find(loopback.begin(), loopback.end(), name) != loopback.end();
}

bool same_token(std::string_view given, std::string_view expected) {
  if (given.size() != expected.size()) return false;
  unsigned differ = 0;
  for (std::size_t k = 0; k < given.size(); ++k)
    differ |= static_cast<unsigned char>(given[k]) ^ static_cast<unsigned char>(expected[k]);
  return differ == 0;
}

std::string_view query_value(std::string_view target, std::string_view name) {
  const auto mark = target.find('?');
  if (mark == std::string_view::npos) return {};
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const auto end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=')
      return pair.substr(name.size() + 1);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

}  // namespace pergola
