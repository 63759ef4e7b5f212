#pragma once
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace pergola {

/// Lines across planes in memory that has them plane by plane: value z of line l at [z * plane + l].
template <class Real>
struct Columns {
  std::complex<Real>* data;
  std::int64_t plane;

  std::complex<Real>* at(std::int64_t z) const { return data + z * plane; }
};

/// Takes some of these lines out together and puts them back. A block has value z of line l at [l / batch][z][l %
/// batch].
template <class Real, int batch>
class LineBlocks {
  using Complex = std::complex<Real>;

 public:
  /// Of lines of some length the first `cells` values are read, the others are 0. Written are these and, with `beyond`,
  /// those next to them: the last one of the line behind them all, or, with `before`, as number −1.
  LineBlocks() = default;
  LineBlocks(int cells, int length, bool beyond, bool before)
      : cells_(cells), length_(length), beyond_(beyond), before_(before) {}

  void read(const Columns<Real>& field, std::int64_t begin, std::int64_t end, Complex* block) const {
    for (int z = 0; z < cells_; ++z)
      each_batch(begin, end, z, [&](std::int64_t line, std::int64_t in_block, auto count) {
        std::memcpy(block + in_block, field.at(z) + line, count * sizeof(Complex));
      });
    for (std::int64_t first = begin; first < end && cells_ < length_; first += batch)
      std::fill_n(block + (first - begin) * length_ + cells_ * batch, (length_ - cells_) * batch, Complex(0));
  }
  void write(const Columns<Real>& field, std::int64_t begin, std::int64_t end, const Complex* block) const {
    for (int z = 0; z < length_; ++z) {
      const bool of_grid = z < cells_, next = z == cells_ || z == length_ - 1;
      if (!of_grid && !(next && beyond_)) continue;
      const int at = before_ && z > cells_ ? -1 : z;
      each_batch(begin, end, z, [&](std::int64_t line, std::int64_t in_block, auto count) {
        std::memcpy(field.at(at) + line, block + in_block, count * sizeof(Complex));
      });
    }
  }

 private:
  /// Copies between a plane of the field and the block for one z, copy(line, in block, count) per batch of lines.
  template <class Copy>
  void each_batch(std::int64_t begin, std::int64_t end, int z, const Copy& copy) const {
    for (std::int64_t first = begin; first < end; first += batch) {
      const std::int64_t in_block = (first - begin) * length_ + z * batch;
      if (first + batch <= end)
        copy(first, in_block, std::integral_constant<int, batch>());
      else
        copy(first, in_block, static_cast<int>(end - first));
    }
  }

  int cells_ = 0, length_ = 0;
  bool beyond_ = false, before_ = false;
};

}  // namespace pergola
