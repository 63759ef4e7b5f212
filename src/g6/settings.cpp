#include "g6/settings.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola::g6 {

namespace {

/// The variable's value; empty where it is not set or is empty.
std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

[[noreturn]] void refuse(const char* name, const char* expected, std::string_view found) {
  throw Error(ErrorKind::input, fmt::format("{}: expected {}, found \"{}\"", name, expected, found));
}

int integer(const char* name, int least, int most, const char* expected, int otherwise) {
  const auto text = variable(name);
  if (text.empty()) return otherwise;
  const auto value = parse_integer(text);
  if (!value || *value < least || *value > most) refuse(name, expected, text);
  return static_cast<int>(*value);
}

}  // namespace

OnFailure on_failure() { return variable("PERGOLA_G6_FAILURE") == "nan" ? OnFailure::nan : OnFailure::exit; }

Settings settings_from_environment() {
  Settings settings;
  if (const auto text = variable("PERGOLA_G6_FAILURE"); !text.empty() && text != "exit" && text != "nan")
    refuse("PERGOLA_G6_FAILURE", "exit or nan", text);
  if (const auto device = variable("PERGOLA_DEVICE"); !device.empty()) settings.device = device;
  settings.threads = integer("PERGOLA_THREADS", 0, 65536, "a number of threads, 0 for all cores", settings.threads);
  settings.pipes = integer("PERGOLA_G6_PIPES", 1, 1 << 20, "a number from 1 to 1048576", settings.pipes);
  if (const auto text = variable("PERGOLA_G6_PRECISION"); text == "double")
    settings.precision = Precision::double_;
  else if (!text.empty() && text != "mixed")
    refuse("PERGOLA_G6_PRECISION", "mixed or double", text);
  settings.self_neighbour =
      integer("PERGOLA_G6_SELF_NEIGHBOUR", 0, 1, "0 or 1", settings.pipes > grape6_pipes ? 1 : 0) != 0;
  return settings;
}

}  // namespace pergola::g6
