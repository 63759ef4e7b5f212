#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pergola::fuzz {

/// The same numbers from the same seed, everywhere. Steele, Lea & Flood 2014 (SplitMix64).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// 0 … count − 1.
  std::size_t below(std::size_t count) { return count == 0 ? 0 : static_cast<std::size_t>(next() % count); }

 private:
  std::uint64_t state_;
};

/// One of the inputs with one to eight changes: bits, bytes, whole numbers at the edge of their range, pieces that are
/// cut out, doubled, moved or taken from another input, words of text that readers stumble over, an early end.
std::string mutate(const std::vector<std::string>& inputs, Dice& dice);

}  // namespace pergola::fuzz
