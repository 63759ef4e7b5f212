#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/buffer.hpp"
#include "particles/shown_particles.hpp"

namespace pergola {

/// Calls use(array) for all arrays, always in this order: messages name those that are wanted by bits.
template <class Real, class Use>
void each_array(ShownArrays<Real>& to, const Use& use) {
  use(to.x), use(to.y), use(to.z);
  use(to.vx), use(to.vy), use(to.vz);
  use(to.mass), use(to.species), use(to.id);
}

/// The lowest bit of what is wanted: the numbers are doubles.
template <class Real>
constexpr std::int64_t numbers_bit = sizeof(Real) == sizeof(double) ? 1 : 0;

/// Which arrays there are, and the bytes that a particle takes in them.
struct WantedRows {
  std::int64_t bits = 0, row_bytes = 0;
};
template <class Real>
WantedRows wanted_rows(ShownArrays<Real> to) {
  WantedRows wanted{numbers_bit<Real>, 0};
  std::int64_t bit = 2;
  each_array(to, [&](auto* array) {
    if (array) wanted.bits |= bit, wanted.row_bytes += static_cast<std::int64_t>(sizeof *array);
    bit *= 2;
  });
  return wanted;
}

/// Rows of a message, array after array, to their place in these.
template <class Real>
void put_rows(const std::byte* from, std::int64_t at, std::int64_t count, ShownArrays<Real> to) {
  each_array(to, [&](auto* array) {
    if (!array) return;
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof *array;
    std::memcpy(array + at, from, bytes);
    from += bytes;
  });
}

/// Room for the wanted arrays of so many particles, aligned for their types, which the device writes to and the host
/// reads.
template <class Real>
struct ShownRows {
  SharedBuffer<Real> number[7];
  SharedBuffer<std::uint8_t> species;
  SharedBuffer<std::uint64_t> id;
  ShownArrays<Real> to;

  ShownRows(const Device& device, std::int64_t wanted, std::int64_t count) {
    std::int64_t bit = 2;
    std::size_t numbers = 0;
    const auto take = [&]<class T>(SharedBuffer<T>& values, T*& array) {
      if (wanted & bit) {
        values = SharedBuffer<T>(device, count);
        array = values.data();
      }
      bit *= 2;
    };
    for (Real** array : {&to.x, &to.y, &to.z, &to.vx, &to.vy, &to.vz, &to.mass}) take(number[numbers++], *array);
    take(species, to.species);
    take(id, to.id);
  }

  /// All of them as rows of a message.
  void pack(std::int64_t count, std::byte* out) {
    each_array(to, [&](const auto* array) {
      if (!array) return;
      const std::size_t bytes = static_cast<std::size_t>(count) * sizeof *array;
      std::memcpy(out, array, bytes);
      out += bytes;
    });
  }
};

}  // namespace pergola
