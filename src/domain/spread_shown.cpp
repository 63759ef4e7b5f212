#include "domain/spread_shown.hpp"

#include <cstring>
#include <vector>

namespace pergola {

namespace {

/// Calls use(array) for all arrays, always in this order: a request names those that are wanted by bits.
template <class Real, class Use>
void each_array(ShownArrays<Real>& to, const Use& use) {
  use(to.x), use(to.y), use(to.z);
  use(to.vx), use(to.vy), use(to.vz);
  use(to.mass), use(to.species), use(to.id);
}

/// The lowest bit of a request: the numbers are doubles.
template <class Real>
constexpr std::int64_t numbers_bit = sizeof(Real) == sizeof(double) ? 1 : 0;

template <class Real>
void read_shown(RankRows& rows, RankRows::Request request, ShownArrays<Real> to) {
  std::int64_t wanted = numbers_bit<Real>, row_bytes = 0, bit = 2;
  each_array(to, [&](auto* array) {
    if (array) wanted |= bit, row_bytes += static_cast<std::int64_t>(sizeof *array);
    bit *= 2;
  });
  request.what += wanted;
  request.row_bytes = row_bytes;
  rows.read(request, [&](std::int64_t at, std::int64_t count, const std::byte* from) {
    each_array(to, [&](auto* array) {
      if (!array) return;
      const std::size_t bytes = static_cast<std::size_t>(count) * sizeof *array;
      std::memcpy(array + at, from, bytes);
      from += bytes;
    });
  });
}

/// Arrays of one rank's answer, aligned for their types.
template <class Real>
struct Answered {
  std::vector<Real> number[7];
  std::vector<std::uint8_t> species;
  std::vector<std::uint64_t> id;
  ShownArrays<Real> to;

  Answered(std::int64_t wanted, std::int64_t count) {
    std::int64_t bit = 2;
    std::size_t numbers = 0;
    const auto n = static_cast<std::size_t>(count);
    const auto take = [&](auto& values, auto*& array) {
      if (wanted & bit) {
        values.resize(n);
        array = values.data();
      }
      bit *= 2;
    };
    for (Real** array : {&to.x, &to.y, &to.z, &to.vx, &to.vy, &to.vz, &to.mass}) take(number[numbers++], *array);
    take(species, to.species);
    take(id, to.id);
  }
};

template <class Real>
void answer(const ShownParticles& own, const RankRows::Request& request, std::byte* out) {
  Answered<Real> answered(request.what, request.count);
  if constexpr (sizeof(Real) == sizeof(double))
    if (request.chosen) own.show_at(request.chosen, request.count, answered.to);
  if (!request.chosen) own.show(request.first, request.count, answered.to);
  own.device().synchronize();
  each_array(answered.to, [&](const auto* array) {
    if (!array) return;
    const std::size_t bytes = static_cast<std::size_t>(request.count) * sizeof *array;
    std::memcpy(out, array, bytes);
    out += bytes;
  });
}

}  // namespace

void SpreadShown::show(std::int64_t first, std::int64_t n, const ShownArrays<float>& to) const {
  read_shown(rows_, {what_, first, n}, to);
}
void SpreadShown::show(std::int64_t first, std::int64_t n, const ShownArrays<double>& to) const {
  read_shown(rows_, {what_, first, n}, to);
}
void SpreadShown::show_at(const std::uint32_t* places, std::int64_t n, const ShownArrays<double>& to) const {
  read_shown(rows_, {what_, 0, n, 0, places}, to);
}

void answer_shown(const ShownParticles& own, const RankRows::Request& request, std::byte* to) {
  if (request.what & 1)
    answer<double>(own, request, to);
  else
    answer<float>(own, request, to);
}

}  // namespace pergola
