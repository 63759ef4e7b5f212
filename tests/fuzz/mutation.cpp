#include "fuzz/mutation.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace pergola::fuzz {

namespace {

constexpr std::size_t longest_input = 1 << 20;

constexpr std::array<std::uint64_t, 16> edges{0,
                                              1,
                                              2,
                                              0x7f,
                                              0x80,
                                              0xff,
                                              0x7fff,
                                              0xffff,
                                              0x7fffffff,
                                              0x80000000,
                                              0xffffffff,
                                              0x100000000,
                                              0x7fffffffffffffff,
                                              0x8000000000000000,
                                              0xffffffffffffffff,
                                              0x7ff8000000000000};  // NaN

constexpr std::array<std::string_view, 18> words{"nan",  "-inf", "1e999",    "-1",  "0",  "9223372036854775808",
                                                 "64.5", "\"",   "\n",       ",,",  "[[", "]",
                                                 "{",    "\\u",  "\xff\xfe", "= =", "0x", "'''"};

void overwrite_number(std::string& bytes, Dice& dice) {
  constexpr std::array<std::size_t, 4> widths{1, 2, 4, 8};
  const std::size_t width = widths[dice.below(widths.size())];
  if (bytes.size() < width) return;
  const std::uint64_t value = edges[dice.below(edges.size())];
  std::memcpy(bytes.data() + dice.below(bytes.size() - width + 1), &value, width);
}

void add_to_number(std::string& bytes, Dice& dice) {
  if (bytes.size() < 4) return;
  std::uint32_t value = 0;
  char* const at = bytes.data() + dice.below(bytes.size() - 3);
  std::memcpy(&value, at, sizeof value);
  value += static_cast<std::uint32_t>(dice.below(64)) - 32;
  std::memcpy(at, &value, sizeof value);
}

void change(std::string& bytes, const std::string& other, Dice& dice) {
  if (bytes.empty()) bytes.push_back('\0');
  const std::size_t at = dice.below(bytes.size()),
                    length = 1 + dice.below(std::min<std::size_t>(64, bytes.size() - at));
  const std::size_t from = dice.below(other.size());
  switch (dice.below(10)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << dice.below(8)));
      break;
    case 1:
      bytes[at] = static_cast<char>(dice.below(256));
      break;
    case 2:
    case 3:
      overwrite_number(bytes, dice);
      break;
    case 4:
      add_to_number(bytes, dice);
      break;
    case 5:
      bytes.erase(at, length);
      break;
    case 6:
      bytes.insert(dice.below(bytes.size()), bytes.substr(at, length));
      break;
    case 7:
      bytes.replace(at, length, words[dice.below(words.size())]);
      break;
    case 8:
      if (!other.empty()) bytes.replace(at, length, other.substr(from, length));
      break;
    default:
      if (dice.below(8) == 0) bytes.resize(at);
  }
}

}  // namespace

std::uint64_t Dice::next() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::string mutate(const std::vector<std::string>& inputs, Dice& dice) {
  std::string bytes = inputs[dice.below(inputs.size())];
  const std::string& other = inputs[dice.below(inputs.size())];
  for (std::size_t changes = 1 + dice.below(8); changes > 0; --changes) change(bytes, other, dice);
  bytes.resize(std::min(bytes.size(), longest_input));
  return bytes;
}

}  // namespace pergola::fuzz
