#include "gravity/mesh_quantum.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "device/parallel.hpp"
#include "domain/common_value.hpp"
#include "gravity/mesh.hpp"
#include "physics/mesh_weights.hpp"

namespace pergola {

namespace {

/// Quanta of a particle where all have the same mass, in single precision: finer than its weights, whose places are
/// rounded to 2⁻²⁴ of the box, and a GPU adds up a thousand such particles in 32 bits.
constexpr double short_quanta = 0x1p20;

/// On the host: whether all are the same, bit by bit.
template <class Real>
bool are_same(int threads, const Real* values, std::int64_t count) {
  constexpr std::int64_t chunk = 1 << 16;
  std::atomic<bool> same = true;
  parallel_chunks(threads, std::max<std::int64_t>(count - 1, 0), chunk, [&](std::int64_t begin, std::int64_t end) {
    if (std::memcmp(values + begin, values + begin + 1, static_cast<std::size_t>(end - begin) * sizeof(Real)) != 0)
      same = false;
  });
  return same;
}

}  // namespace

template <class Real>
double KnownQuantum<Real>::of(const Device& device, const Real* mass, std::int64_t count, Communicator* ranks) {
  if (device.is_cuda()) return mass_quantum(device, mass, count, ranks);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double least[2] = {infinity, infinity};  // of the mass and of what it is below 0
  std::int64_t total = count;
  if (count > 0) {
    const bool same = are_same(device.threads(), mass, count);
    least[0] = same ? static_cast<double>(mass[0]) : -infinity;
    least[1] = same ? -static_cast<double>(mass[0]) : -infinity;
  }
  if (ranks) {
    ranks->all_reduce(least, 2, Reduction::minimum);
    ranks->all_reduce(&total, 1, Reduction::sum);
  }
  const bool same = least[0] == -least[1];
  if (same && least[0] == mass_ && total == count_) return quantum_;
  quantum_ = mass_quantum(device, mass, count, ranks);
  mass_ = least[0], count_ = same ? total : -1;
  return quantum_;
}
template class KnownQuantum<float>;
template class KnownQuantum<double>;

double mass_quantum(const MassRange& masses, bool single_precision) {
  const bool fits = static_cast<double>(masses.count) * short_quanta <= physics::most_in_all;
  const bool equal = masses.least == masses.largest && masses.largest > 0;
  if (single_precision && equal && fits) return masses.largest / short_quanta;
  return physics::mass_quantum(masses.total, masses.largest);
}

template <class Real>
double mass_quantum(const Device& device, const Real* mass, std::int64_t count, Communicator* ranks) {
  constexpr std::int64_t piece = std::int64_t{1} << 22;
  MassRange range;
  if constexpr (cuda_built && std::is_same_v<Real, float>) {
    if (device.is_cuda() && !ranks) {  // equal masses decide by themselves, and need not travel
      if (const auto one = CommonValue<Real>(device, serial_communicator()).of(mass, count); one && *one > 0)
        return mass_quantum({count, 0, *one, *one}, true);
    }
  }
  std::vector<Real> values;
  // One rank after the other goes on with the sum: its bits are those of one rank that has all.
  for (int rank = 0; rank < (ranks ? ranks->size() : 1); ++rank) {
    if (!ranks || rank == ranks->rank())
      for (std::int64_t first = 0; first < count; first += piece) {
        values.resize(static_cast<std::size_t>(std::min(piece, count - first)));
        device.memory().to_host(values.data(), mass + first, values.size() * sizeof(Real));
        for (const Real one : values) range.add(static_cast<double>(one));
      }
    if (ranks) ranks->broadcast(&range, sizeof range, rank);
  }
  return mass_quantum(range, std::is_same_v<Real, float>);
}
template double mass_quantum(const Device& device, const float* mass, std::int64_t count, Communicator* ranks);
template double mass_quantum(const Device& device, const double* mass, std::int64_t count, Communicator* ranks);

}  // namespace pergola
