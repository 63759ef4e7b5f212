#include "io/fletcher.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace pergola::hdf5 {

namespace {

constexpr std::size_t lanes = 32;
constexpr std::size_t most_rows = 256;  // 65535 · 256 · 257 / 2 is below 2^32
constexpr std::uint64_t modulus = 65535;

/// Both sums over words: first = Σ w_i, second = Σ (n − i) w_i, modulo 65535.
struct Sums {
  std::uint64_t first = 0, second = 0;
};

/// Adds rows of `lanes` words. Each lane keeps two sums of its own; word k · lanes + l of n has the weight
/// n − i = lanes · (rows − k) − l.
void add_rows(Sums& sums, const unsigned char* data, std::size_t rows) {
  std::array<std::uint32_t, lanes> one{}, two{};
  for (std::size_t k = 0; k < rows; ++k) {
    std::array<std::uint16_t, lanes> words;
    std::memcpy(words.data(), data + 2 * lanes * k, sizeof words);
    for (std::size_t l = 0; l < lanes; ++l) one[l] += words[l];
    for (std::size_t l = 0; l < lanes; ++l) two[l] += one[l];
  }
  std::uint64_t first = 0, second = 0, late = 0;
  for (std::size_t l = 0; l < lanes; ++l) {
    first += one[l];
    second += two[l];
    late += l * one[l];
  }
  sums.second = (sums.second + rows * lanes % modulus * sums.first + lanes * second - late) % modulus;
  sums.first = (sums.first + first) % modulus;
}

void add_word(Sums& sums, std::uint16_t word) {
  sums.first = (sums.first + word) % modulus;
  sums.second = (sums.second + sums.first) % modulus;
}

}  // namespace

std::uint32_t fletcher32(const void* data, std::size_t bytes) {
  const auto* next = static_cast<const unsigned char*>(data);
  const auto* const end = next + bytes;
  Sums sums;
  while (static_cast<std::size_t>(end - next) >= 2 * lanes) {
    const std::size_t rows = std::min(most_rows, static_cast<std::size_t>(end - next) / (2 * lanes));
    add_rows(sums, next, rows);
    next += rows * 2 * lanes;
  }
  for (; next != end; next += 2) {
    std::uint16_t word;
    std::memcpy(&word, next, sizeof word);
    add_word(sums, word);
  }
  // HDF5 takes the words with their high byte first. Exchanging the bytes of a word is a multiplication by 256 modulo
  // 65535, and so it is for the sums. It writes 65535 for 0, unless all bytes are 0.
  const auto* const begin = static_cast<const unsigned char*>(data);
  const bool nothing = sums.first == 0 && sums.second == 0 && std::all_of(begin, end, [](auto b) { return b == 0; });
  if (nothing) return 0;
  const auto swapped = [](std::uint64_t sum) {
    const auto value = static_cast<std::uint32_t>(sum * 256 % modulus);
    return value == 0 ? 65535u : value;
  };
  return swapped(sums.second) << 16 | swapped(sums.first);
}

}  // namespace pergola::hdf5
