#include <fmt/core.h>

#include "base/text.hpp"
#include "config/config.hpp"
#include "config/keys.hpp"
#include "config/kind.hpp"
#include "config/value.hpp"

namespace pergola {

namespace {

std::string line(const std::string& name, const std::string& value, const std::string& comment) {
  const std::string text = fmt::format("{} = {}", name, value);
  return comment.empty() ? text + "\n" : fmt::format("{:<34} # {}\n", text, comment);
}

std::string model_value_text(const ModelValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return to_text(*number);
  return toml_string(std::get<std::string>(value));
}

std::string particles_text(const RunConfig::ParticlesTable& particles) {
  std::string text = "\n[particles]\n";
  if (!particles.file.empty()) return text + line("file", toml_string(particles.file), "a snapshot");
  if (particles.model.empty()) return text;
  const ModelInfo& model = find_model(particles.model);
  text += line("model", toml_string(model.name), "");
  text += line("n", std::to_string(model_count(model, particles.options.n)), "number of particles");
  text += line("seed", std::to_string(particles.options.seed), "of the random numbers");
  for (const auto& option : model.options) {
    const auto given = particles.options.values.find(option.name);
    text += line(option.name,
                 model_value_text(given == particles.options.values.end() ? option.default_value : given->second),
                 option.help);
  }
  return text;
}

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
    if (!key.text || !has_key(kind, key.path)) continue;
    const bool of_a_universe = key.path.starts_with("cosmology.") || key.path == "output.redshifts";
    if (of_a_universe && !config.cosmology) continue;
    const auto dot = key.path.rfind('.');
    const std::string key_table = dot == std::string::npos ? "" : key.path.substr(0, dot);
    if (key_table != table) {
      if (table == "run" && has_key(kind, "particles.model")) text += particles_text(config.particles);
      text += fmt::format("\n[{}]\n", key_table);
      table = key_table;
    }
    text += line(key.path.substr(dot == std::string::npos ? 0 : dot + 1), key.text(config), key.comment);
  }
  return text + expect_text(config.expect);
}

}  // namespace pergola
