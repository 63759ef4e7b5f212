#pragma once
// CUDA only: how cells lie in device memory, and what the lanes of a warp do together.
//
// A cell has a record (48 bytes, for the opening test), a row (centre, scale and multipoles, for sums) and a link (to
// its particles and children). Loads are of sixteen bytes. Sums over lanes have a fixed order.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tree/octree.hpp"

namespace pergola::tree {

/// What the opening test needs to know of a cell: three loads of sixteen bytes. Centres are doubles, for two cells may
/// be closer than a float of the unit cube resolves; what is compared with their distance are floats.
struct alignas(16) CellRecord {
  double x, y, z;  // centre of mass
  float r, rho, mass;
  float epsilon2;  // the largest ε² of its particles
  std::uint32_t child;
  std::uint32_t bits;  // children, and what follows

  static constexpr std::uint32_t children_mask = 15, mixed = 16,
                                 crowd = 32;  // crowd: at least point_capacity particles
  PERGOLA_HD std::uint32_t children() const { return bits & children_mask; }
};
static_assert(sizeof(CellRecord) == 48);

/// Four numbers of a particle, loaded at once. The walk also uses it for a force (x, y, z) and a potential (mass).
template <class T>
struct alignas(4 * sizeof(T) < 16 ? 16 : 4 * sizeof(T)) PlacedMass {
  T x, y, z, mass;
};

/// A cell's row holds all that it takes to act: its centre (three doubles), its scale and its multipoles without the
/// dipole, which is zero. Rows are whole groups of sixteen bytes.
template <class T>
struct Row {
  static constexpr int head = 24 / sizeof(T);  // numbers of T before the scale
  static constexpr int numbers(int order) { return head + 1 + physics::expansion_terms(order) - 3; }
  static constexpr int chunks(int order) { return (numbers(order) * static_cast<int>(sizeof(T)) + 15) / 16; }
  static constexpr int stride(int order) { return chunks(order) * 16 / static_cast<int>(sizeof(T)); }
  /// Where a term of the expansion stands; terms 1 to 3 stand nowhere.
  static constexpr int place(int term) { return head + 1 + (term == 0 ? 0 : term - 3); }
};

/// The finished tree on the device.
template <class T>
struct CudaTree {
  std::int64_t count = 0;
  const CellRecord* record = nullptr;
  const CellLink* link = nullptr;
  const std::uint32_t* parent = nullptr;
  const T* row = nullptr;                   // Row<T>::stride(order) per cell
  const float* acceleration = nullptr;      // of cells from groups upward; OctreeCuda::estimate_accelerations
  const PlacedMass<T>* particle = nullptr;  // from the centre of their leaf
  SofteningKernel kernel = SofteningKernel::plummer;
  bool by_particle = false;       // else one length for all
  double same_epsilon2 = 0;       // that one
  const T* softening = nullptr;   // else physics::softening_number of the particles
  double support = 0;             // of the kernel's law (physics/pair_laws.inl)
  double expansion_epsilon2 = 0;  // for cells: same_epsilon2, or none where the law has a support

  /// Whether cells act with softening lengths of their own: a law with a support is Newton's where they act.
  __device__ bool softens_by_cell() const { return by_particle && support == 0; }
};

/// Calls use(integral_constant<int, order>).
template <class Use>
void with_order(int order, const Use& use) {
  static_assert(lowest_order == 2 && highest_order == 5);
  switch (order) {
    case 2:
      return use(std::integral_constant<int, 2>());
    case 3:
      return use(std::integral_constant<int, 3>());
    case 4:
      return use(std::integral_constant<int, 4>());
    default:
      return use(std::integral_constant<int, 5>());
  }
}

inline constexpr unsigned all_lanes = 0xffffffffu;

/// Sixteen bytes, loaded at once.
template <class T>
struct alignas(16) Chunk {
  static constexpr int size = 16 / sizeof(T);
  T value[size];
};

/// `terms` numbers from a place that is a multiple of 16 bytes.
template <int terms, class T>
__device__ __forceinline__ void load_chunks(const T* from, T (&to)[terms]) {
  constexpr int size = Chunk<T>::size;
#pragma unroll
  for (int k = 0; k < (terms + size - 1) / size; ++k) {
    const Chunk<T> chunk = reinterpret_cast<const Chunk<T>*>(from)[k];
#pragma unroll
    for (int i = 0; i < size; ++i)
      if (k * size + i < terms) to[k * size + i] = chunk.value[i];
  }
}

/// A row taken apart; the dipole is zero.
template <int order, class T>
struct OpenRow {
  Vec3<double> centre;
  T scale;
  T multipole[physics::expansion_terms(order)];

  __device__ __forceinline__ explicit OpenRow(const T* from) {
    T numbers[Row<T>::numbers(order)];
    load_chunks(from, numbers);
    centre = {joined(numbers, 0), joined(numbers, 1), joined(numbers, 2)};
    scale = numbers[Row<T>::head];
#pragma unroll
    for (int t = 0; t < physics::expansion_terms(order); ++t)
      multipole[t] = t >= 1 && t <= 3 ? T(0) : numbers[Row<T>::place(t)];
  }

 private:
  template <int size>
  static __device__ __forceinline__ double joined(const T (&numbers)[size], int k) {
    if constexpr (sizeof(T) == 8)
      return numbers[k];
    else
      return __hiloint2double(__float_as_int(numbers[2 * k + 1]), __float_as_int(numbers[2 * k]));
  }
};

/// The sums over the lanes of `size` values each (a power of two, at least 32), by halves: lane l gets those of the
/// values l · size / 32 and following. The order of the additions is fixed.
template <int half, int offset = 16, int size, class T>
__device__ __forceinline__ void sum_over_lanes(T (&value)[size], int lane) {
  const bool upper = lane & offset;
#pragma unroll
  for (int k = 0; k < half; ++k) {
    const T sent = upper ? value[k] : value[k + half], kept = upper ? value[k + half] : value[k];
    value[k] = kept + __shfl_xor_sync(all_lanes, sent, offset);
  }
  if constexpr (offset > 1) sum_over_lanes<half / 2, offset / 2>(value, lane);
}

/// One value over groups of `width` lanes; every lane of a group gets the same.
template <int width, class T, class Combine>
__device__ __forceinline__ T over_lanes(T value, const Combine& combine) {
#pragma unroll
  for (int offset = width / 2; offset > 0; offset /= 2)
    value = combine(value, __shfl_xor_sync(all_lanes, value, offset));
  return value;
}
template <int width, class T>
__device__ __forceinline__ T lanes_sum(T value) {
  return over_lanes<width>(value, [](T a, T b) { return a + b; });
}
template <int width, class T>
__device__ __forceinline__ T lanes_most(T value) {
  return over_lanes<width>(value, [](T a, T b) { return a > b ? a : b; });
}
template <int width, class T>
__device__ __forceinline__ T lanes_least(T value) {
  return over_lanes<width>(value, [](T a, T b) { return a < b ? a : b; });
}

/// The sum over this lane and those before it.
__device__ __forceinline__ std::uint32_t lanes_scan(std::uint32_t value, int lane) {
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const std::uint32_t other = __shfl_up_sync(all_lanes, value, offset);
    if (lane >= offset) value += other;
  }
  return value;
}

/// What a loop over cells would have opened. CellRecord::child of a cell that is not all here, leaf or not, is
/// `elsewhere`.
struct MissingCells {
  std::uint32_t* mark = nullptr;   // by cell: 1 where it is in the list
  std::uint32_t* list = nullptr;   // room for all cells
  std::uint32_t* count = nullptr;  // of the list

  __device__ void note(std::uint32_t cell) const {
    if (mark[cell] == 0 && atomicExch(&mark[cell], 1u) == 0) list[atomicAdd(count, 1u)] = cell;
  }
};

}  // namespace pergola::tree
