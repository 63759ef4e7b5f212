#pragma once
// Values of a configuration: TOML without its library. A value remembers the file and line that it came from, so that
// messages can name them. value.cpp is the only source that includes the TOML library.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host_device.hpp"
#include "base/variant.hpp"

namespace pergola {

struct ConfigEntry;

/// One value of a configuration and where it was written. Keeps the TOML library out of every file but one.
struct ConfigValue {
  using Table = std::vector<ConfigEntry>;
  using Array = std::vector<ConfigValue>;
  struct Date {};

  Variant<bool, std::int64_t, double, std::string, Table, Array, Date> data;
  std::string source;  // "run.toml" or "--set"
  int line = 0;        // 0: no line

  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&data);
  }
  /// "run.toml:7".
  std::string where() const;
  /// The value as a message shows it: -1, "abc", a table.
  std::string found() const;
};

/// A key of a table. No std::pair: clang wants to know of one whether its values can be made, before they are complete.
struct ConfigEntry {
  std::string name;
  ConfigValue value;
};

/// Finds the value of a key in the file; null: none.
using FindValue = std::function<const ConfigValue*(const std::string&)>;

/// The value of a name in a table; null: none.
const ConfigValue* find_in(const ConfigValue::Table& table, const std::string& name);

/// The whole of a TOML document. Throws Error(input) with source and line when it is not TOML.
ConfigValue parse_toml(std::string_view text, const std::string& source);

/// One --set "key=value" as a path and a value; what is not TOML is a string. Throws Error(input) when there is no key.
std::pair<std::string, ConfigValue> parse_set(const std::string& text);

/// A TOML string with its quotes.
PERGOLA_API std::string toml_string(std::string_view text);

}  // namespace pergola
