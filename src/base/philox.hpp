#pragma once
#include <cstdint>

#include "base/host_device.hpp"

namespace pergola {

/// Philox-4x32-10, a counter-based random number generator: the number is a function of (seed, stream, index, draw),
/// so any thread, rank or device makes the same one. Salmon et al. 2011, SC'11, "Parallel random numbers: as easy as 1,
/// 2, 3".
class Philox {
 public:
  PERGOLA_HD Philox(std::uint64_t seed, std::uint32_t stream, std::uint64_t index)
      : key0_(static_cast<std::uint32_t>(seed)),
        key1_(static_cast<std::uint32_t>(seed >> 32)),
        stream_(stream),
        index_(index) {}

  /// The four 32-bit words of one block.
  PERGOLA_HD void block(std::uint32_t draw, std::uint32_t out[4]) const {
    std::uint32_t c0 = static_cast<std::uint32_t>(index_), c1 = static_cast<std::uint32_t>(index_ >> 32);
    std::uint32_t c2 = stream_, c3 = draw, k0 = key0_, k1 = key1_;
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0, p1 = std::uint64_t{0xCD9E8D57u} * c2;
      const std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
      const std::uint32_t n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c1 = static_cast<std::uint32_t>(p1);
      c3 = static_cast<std::uint32_t>(p0);
      c0 = n0;
      c2 = n2;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
  }

  /// The next uniform number in the open interval (0, 1), with 53 random bits.
  PERGOLA_HD double uniform() {
    if (next_ == 2) {
      block(draw_++, words_);
      next_ = 0;
    }
    const std::uint64_t bits = (std::uint64_t{words_[2 * next_]} << 32) | words_[2 * next_ + 1];
    ++next_;
    return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
  }

 private:
  std::uint32_t key0_, key1_, stream_;
  std::uint64_t index_;
  std::uint32_t draw_ = 0;
  int next_ = 2;
  std::uint32_t words_[4] = {};
};

}  // namespace pergola
