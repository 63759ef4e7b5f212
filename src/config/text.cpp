#include <fmt/core.h>

#include "base/text.hpp"
#include "config/config.hpp"
#include "config/keys.hpp"
#include "config/kind.hpp"
#include "config/value.hpp"

namespace pergola {

namespace {

std::string expect_text(const std::vector<Expectation>& expect) {
  if (expect.empty()) return "";
  std::string text = "\n[expect]\n";
  for (const auto& e : expect)
    text +=
        fmt::format("{} = {{ expected = {}, tolerance = {} }}\n", e.name, to_text(e.expected), to_text(e.tolerance));
  return text;
}

}  // namespace

std::string config_text(const RunConfig& config) {
  const KindEntry& kind = kind_of(config);
  std::string text, table;
  for (const auto& key : config_keys()) {
    if (!key.text || !has_key(kind, key.path) || key.path.starts_with("particles.")) continue;
    if (is_universe_key(key.path) && !config.cosmology) continue;
    const std::string value = key.text(config);
    if (value.empty()) continue;
    const auto dot = key.path.rfind('.');
    const std::string key_table = dot == std::string::npos ? "" : key.path.substr(0, dot);
    if (key_table != table) {
      if (table == "run" && has_key(kind, "particles.model")) text += particles_text(config);
      text += fmt::format("\n[{}]\n", key_table);
      table = key_table;
    }
    text += config_line(key.path.substr(dot == std::string::npos ? 0 : dot + 1), value, key.comment);
  }
  return text + expect_text(config.expect);
}

}  // namespace pergola
