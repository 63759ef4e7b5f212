#pragma once
// Configuration keys as parts declare them.
//
// A part lists its keys, each with its name, help, range and place in the part's options. The configuration reads,
// checks, writes and explains them from this list, so that a key is written once. The helpers below make keys for
// numbers, whole numbers, words, switches and enums.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/range.hpp"
#include "base/units.hpp"
#include "base/variant.hpp"

namespace pergola {

/// A value of the configuration as the part sees whose key it is. Arrays hold numbers.
using KeyValue = Variant<bool, std::int64_t, double, std::string, std::vector<double>>;
/// Values of parts that have no struct of their own, by the part's table and key: "toy.strength".
using KeyValues = std::map<std::string, KeyValue>;

/// Why a value is not taken.
struct KeyProblem {
  std::string expected;            // "a number > 0"
  std::vector<std::string> words;  // where one of these was expected: the nearest is suggested
  std::string instead{};           // of a value that an earlier version took: what to use now
};

/// One key of a part: its name below the part's table, what it means (with its unit), and how it is taken and shown.
/// Options is where the part keeps its values.
template <class Options>
struct Key {
  std::string name;
  std::string help;
  std::function<std::optional<KeyProblem>(Options&, const KeyValue&)> take;
  std::function<KeyValue(const Options&)> value;
  Dimension dimension{};  // of its numbers, which may then be written with a unit: "5 Myr"
};

/// A key whose numbers have a dimension.
template <class AnyKey>
AnyKey with_dimension(AnyKey key, const Dimension& dimension) {
  key.dimension = dimension;
  return key;
}

/// What is each right by itself and cannot be had together: the key to change, and why.
struct Conflict {
  std::string key;
  std::string why;
};

/// A number, whole or not; none for any other value.
inline std::optional<double> number_of(const KeyValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  return std::nullopt;
}

/// A whole number; a real such as 1e6 is one too, as long as every whole number near it has a double of its own.
inline std::optional<std::int64_t> integer_of(const KeyValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  constexpr double exact = 9007199254740992.0;  // 2^53
  const auto* real = std::get_if<double>(&value);
  if (!real || !(std::abs(*real) <= exact) || std::floor(*real) != *real) return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

/// One number for all axes, or three.
inline std::optional<std::array<double, 3>> triple_of(const KeyValue& value, const Range& range) {
  std::array<double, 3> triple{};
  if (const auto number = number_of(value)) {
    triple.fill(*number);
  } else {
    const auto* array = std::get_if<std::vector<double>>(&value);
    if (!array || array->size() != 3) return std::nullopt;
    std::copy(array->begin(), array->end(), triple.begin());
  }
  if (!std::all_of(triple.begin(), triple.end(), [&](double x) { return range.contains(x); })) return std::nullopt;
  return triple;
}
inline KeyValue triple_value(double x, double y, double z) {
  if (x == y && y == z) return x;
  return std::vector<double>{x, y, z};
}

// Keys that differ in where their value is kept only: `get` gives that place in the Options.

template <class Options, class Get>
Key<Options> real_option(const std::string& name, const std::string& help, const Range& range, Get get) {
  return {name, help,
          [=](Options& options, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto number = number_of(value);
            if (!number || !range.contains(*number)) return KeyProblem{range.text(), {}};
            get(options) = *number;
            return std::nullopt;
          },
          [=](const Options& options) -> KeyValue { return get(options); }};
}

template <class Options, class Get>
Key<Options> integer_option(const std::string& name, const std::string& help, const Range& range, Get get) {
  return {name, help,
          [=](Options& options, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto number = integer_of(value);
            if (!number || !range.contains(static_cast<double>(*number)))
              return KeyProblem{range.text("an integer"), {}};
            get(options) = static_cast<std::decay_t<decltype(get(options))>>(*number);
            return std::nullopt;
          },
          [=](const Options& options) -> KeyValue { return static_cast<std::int64_t>(get(options)); }};
}

template <class Options, class Get>
Key<Options> flag_option(const std::string& name, const std::string& help, Get get) {
  return {name, help,
          [=](Options& options, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto* flag = std::get_if<bool>(&value);
            if (!flag) return KeyProblem{"true or false", {}};
            get(options) = *flag;
            return std::nullopt;
          },
          [=](const Options& options) -> KeyValue { return get(options); }};
}

/// "direct, tree, mesh".
inline KeyProblem one_of(const std::vector<std::string>& words) {
  KeyProblem problem{"", words};
  for (const auto& word : words) problem.expected += (problem.expected.empty() ? "" : ", ") + word;
  return problem;
}

/// One of a few words.
template <class Options, class Get>
Key<Options> word_option(const std::string& name, const std::string& help, const std::vector<std::string>& words,
                         Get get) {
  return {name, help,
          [=](Options& options, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto* word = std::get_if<std::string>(&value);
            if (!word || std::find(words.begin(), words.end(), *word) == words.end()) return one_of(words);
            get(options) = *word;
            return std::nullopt;
          },
          [=](const Options& options) -> KeyValue { return get(options); }};
}

/// One of the words of an enumeration, in the order of its values from `first`.
template <class Enum, class Options, std::size_t count, class Get>
Key<Options> choice_option(const std::string& name, const std::string& help,
                           const std::array<std::string_view, count>& names, Get get, int first = 0) {
  const std::vector<std::string> words(names.begin(), names.end());
  return {name, help,
          [=](Options& options, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto* word = std::get_if<std::string>(&value);
            const auto found = word ? std::find(words.begin(), words.end(), *word) : words.end();
            if (found == words.end()) return one_of(words);
            get(options) = static_cast<Enum>(found - words.begin() + first);
            return std::nullopt;
          },
          [=](const Options& options) -> KeyValue {
            return words[static_cast<std::size_t>(static_cast<int>(get(options)) - first)];
          }};
}

/// The key without these words, which an earlier version took: each is refused with what to use instead.
template <class Options>
Key<Options> without(Key<Options> key, const std::map<std::string, std::string>& gone) {
  key.take = [take = key.take, gone](Options& options, const KeyValue& value) -> std::optional<KeyProblem> {
    const auto* word = std::get_if<std::string>(&value);
    const auto found = word ? gone.find(*word) : gone.end();
    if (found != gone.end()) return KeyProblem{"", {}, found->second};
    return take(options, value);
  };
  return key;
}

/// A key that an earlier version had. `kept` is what always holds now: files that say so are read. Other values are
/// refused with what to use instead. The key has no value and is not shown.
template <class Options>
Key<Options> gone_key(const std::string& name, const std::string& kept, const std::string& instead) {
  return {name, "",
          [=](Options&, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto* word = std::get_if<std::string>(&value);
            if (word && *word == kept) return std::nullopt;
            return KeyProblem{"", {}, instead};
          },
          nullptr};
}

}  // namespace pergola
