#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/key.hpp"
#include "config/keys.hpp"

namespace pergola {

/// The configuration's key for a key of a part. `part` gives the place of the part's options in a RunConfig.
template <class Options, class Part>
ConfigKey config_key(const std::string& path, const Key<Options>& key, Part part) {
  const auto read = [=](RunConfig& config, const ConfigValue& value) {
    if (const auto problem = key.take(part(config), key_value(value, path))) refuse(value, path, *problem);
  };
  if (!key.value) return {path, key.help, read, nullptr};
  return {path, key.help, read, [=](const RunConfig& config) { return toml_value(key.value(part(config))); }};
}

// Keys that differ in where their value is kept only: `get` gives that place in a RunConfig.

inline ConfigKey own_key(const Key<RunConfig>& key) {
  return config_key(
      key.name, key, [](auto& config) -> auto& { return config; });
}
template <class Get>
ConfigKey real_key(const std::string& path, const std::string& comment, const Range& range, Get get) {
  return own_key(real_option<RunConfig>(path, comment, range, get));
}
template <class Get>
ConfigKey integer_key(const std::string& path, const std::string& comment, const Range& range, Get get) {
  return own_key(integer_option<RunConfig>(path, comment, range, get));
}
template <class Get>
ConfigKey flag_key(const std::string& path, const std::string& comment, Get get) {
  return own_key(flag_option<RunConfig>(path, comment, get));
}
template <class Get>
ConfigKey word_key(const std::string& path, const std::string& comment, const std::vector<std::string>& words,
                   Get get) {
  return own_key(word_option<RunConfig>(path, comment, words, get));
}
template <class Enum, std::size_t count, class Get>
ConfigKey choice_key(const std::string& path, const std::string& comment,
                     const std::array<std::string_view, count>& names, Get get, int first = 0) {
  return own_key(choice_option<Enum, RunConfig>(path, comment, names, get, first));
}

std::string did_you_mean(const std::string& near);

}  // namespace pergola
