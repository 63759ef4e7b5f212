#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "config/keys.hpp"

// Keys that differ in where their value is kept only: `get` gives that place in a RunConfig.

namespace pergola {

template <class Get>
ConfigKey real_key(const std::string& path, const std::string& comment, const Range& range, Get get) {
  return {path, comment,
          [=](RunConfig& config, const ConfigValue& value) { get(config) = read_real(value, path, range); },
          [=](const RunConfig& config) { return to_text(get(config)); }};
}

template <class Get>
ConfigKey integer_key(const std::string& path, const std::string& comment, const Range& range, Get get) {
  return {path, comment,
          [=](RunConfig& config, const ConfigValue& value) {
            get(config) = static_cast<std::decay_t<decltype(get(config))>>(read_integer(value, path, range));
          },
          [=](const RunConfig& config) { return std::to_string(get(config)); }};
}

template <class Get>
ConfigKey flag_key(const std::string& path, const std::string& comment, Get get) {
  return {path, comment,
          [=](RunConfig& config, const ConfigValue& value) {
            const auto* flag = value.get_if<bool>();
            if (!flag) refuse(value, path, "true or false");
            get(config) = *flag;
          },
          [=](const RunConfig& config) { return std::string(get(config) ? "true" : "false"); }};
}

inline std::string did_you_mean(const std::string& near) {
  return near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near);
}

/// One of a few words. `later` are words that the contract has and this version does not.
template <class Get>
ConfigKey word_key(const std::string& path, const std::string& comment, const std::vector<std::string>& words, Get get,
                   const std::vector<std::string>& later = {}) {
  return {path, comment,
          [=](RunConfig& config, const ConfigValue& value) {
            const auto* word = value.get_if<std::string>();
            const std::string expected = fmt::format("{}", fmt::join(words, ", "));
            if (!word) refuse(value, path, expected);
            if (std::count(later.begin(), later.end(), *word))
              throw Error(ErrorKind::input, fmt::format("{}: {}: expected {}, found {} (not in this version)",
                                                        value.where(), path, expected, *word));
            if (std::count(words.begin(), words.end(), *word) == 0)
              refuse(value, path, expected, did_you_mean(nearest_name(*word, words)));
            get(config) = *word;
          },
          [=](const RunConfig& config) { return toml_string(get(config)); }};
}

/// One of the words of an enumeration, in the order of its values from `first`.
template <class Enum, std::size_t count, class Get>
ConfigKey choice_key(const std::string& path, const std::string& comment,
                     const std::array<std::string_view, count>& names, Get get, int first = 0) {
  const std::vector<std::string> words(names.begin(), names.end());
  return {path, comment,
          [=](RunConfig& config, const ConfigValue& value) {
            const auto* word = value.get_if<std::string>();
            const std::string expected = fmt::format("{}", fmt::join(words, ", "));
            if (!word) refuse(value, path, expected);
            const auto found = std::find(words.begin(), words.end(), *word);
            if (found == words.end()) refuse(value, path, expected, did_you_mean(nearest_name(*word, words)));
            get(config) = static_cast<Enum>(found - words.begin() + first);
          },
          [=](const RunConfig& config) {
            return toml_string(words[static_cast<std::size_t>(static_cast<int>(get(config)) - first)]);
          }};
}

}  // namespace pergola
