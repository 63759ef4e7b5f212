#pragma once
#include <algorithm>
#include <cstdint>

#include "device/buffer.hpp"
#include "gravity/direct.hpp"

namespace pergola::g6 {

/// A block of i-particles and its answers, in memory that the host and the device share: what a calculation needs goes
/// over, and what it gives comes back, without a copy of its own.
class Block {
 public:
  explicit Block(const Device& device) : device_(device) {}

  void resize(std::int64_t count) {
    count_ = count;
    if (count <= capacity_) return;
    // Columns a power of two apart would share the lines of a cache.
    capacity_ = (std::max(count, 2 * capacity_) + 127) / 128 * 128 + 72;
    reals_ = SharedBuffer<double>(device_, real_columns * capacity_);
    places_ = SharedBuffer<std::int64_t>(device_, 2 * capacity_);
  }
  std::int64_t count() const { return count_; }

  // What asks. own: the address that holds the i-particle itself, −1: none. radius2: of the neighbour list.
  double* x(int axis) { return column(axis); }
  double* v(int axis) { return column(3 + axis); }
  double* radius2() { return column(6); }
  std::int64_t* own() { return places_.data(); }

  // The answers. nearest: an address, −1: none.
  double* acceleration(int axis) { return column(7 + axis); }
  double* jerk(int axis) { return column(10 + axis); }
  double* potential() { return column(13); }
  double* nearest_distance() { return column(14); }
  std::int64_t* nearest() { return places_.data() + capacity_; }

  Points points(double epsilon2) { return {count_, x(0), x(1), x(2), v(0), v(1), v(2), own(), epsilon2}; }
  Forces<double> forces() {
    Forces<double> f;
    f.ax = acceleration(0), f.ay = acceleration(1), f.az = acceleration(2);
    f.jx = jerk(0), f.jy = jerk(1), f.jz = jerk(2);
    f.potential = potential();
    f.nearest = nearest(), f.nearest_distance = nearest_distance();
    return f;
  }

 private:
  static constexpr std::int64_t real_columns = 15;
  double* column(int c) { return reals_.data() + c * capacity_; }

  Device device_;
  std::int64_t count_ = 0, capacity_ = 0;
  SharedBuffer<double> reals_;
  SharedBuffer<std::int64_t> places_;
};

}  // namespace pergola::g6
