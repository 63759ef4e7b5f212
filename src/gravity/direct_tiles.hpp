#pragma once
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <optional>

#include "gravity/direct_kernels.hpp"

// What the direct sums on the CPU share, of all particles (gravity/direct_cpu.cpp) and of particles that are spread
// over ranks (gravity/direct_spread.cpp): tiles are filled and answers are taken from their sums.
namespace pergola::direct {

/// Below this many pairs, or sources to pack, starting threads takes longer than the work.
inline constexpr std::int64_t pairs_worth_threads = 1 << 17, sources_worth_threads = 1 << 13;

/// Sources whose sums are added up on their own.
inline constexpr std::int64_t span_size = std::int64_t{block_size} * blocks_per_span;

/// What is summed for these wishes; nothing where none is a sum.
inline std::optional<Kind> kind_of(unsigned want) {
  if (want & want_jerk) return Kind::acceleration_jerk_potential;
  if (want & want_acceleration) return want & want_potential ? Kind::acceleration_potential : Kind::acceleration;
  if (want & want_potential) return Kind::potential;
  return std::nullopt;
}

/// Calls use(first, last) for the fields of a target that its sums need.
template <Precision precision, class Use>
void each_target_field(Kind kind, const SofteningTable& softening_lengths, const Use& use) {
  use(x, z);
  if constexpr (Numbers<precision>::low_parts) use(x_low, z_low);
  if (softening_lengths.by_particle) use(softening, softening);
  if (kind == Kind::acceleration_jerk_potential) use(vx, vz);
}

/// The source nearest to a point and the square of its distance; −1 when there is none.
struct Nearest {
  double square = std::numeric_limits<double>::infinity();
  std::int64_t place = -1;
};

/// Looks for a nearer source than the one found so far in a block, the lower place on a tie. The particle `own` is
/// none.
template <Precision precision>
void search_block(const Blocks<precision>& sources, std::int64_t block, const Vec3<double>& point, std::int64_t own,
                  Nearest& found) {
  double squares[block_size];
  if (!(block_distances(sources, block, point, squares) < found.square)) return;
  for (int k = 0; k < sources.filled(block); ++k)
    if (squares[k] < found.square && block * block_size + k != own) found = {squares[k], block * block_size + k};
}

template <Precision precision>
Nearest nearest(const Blocks<precision>& sources, const Vec3<double>& point, std::int64_t own) {
  Nearest found;
  for (std::int64_t block = 0; block < sources.blocks(); ++block) search_block(sources, block, point, own, found);
  return found;
}

/// Says why the force on the particle in a place is not a number. `other`: the source nearest to it; `unsoftened`: with
/// a softening of zero between the two.
template <Precision precision>
[[noreturn]] void fail(std::int64_t place, const Nearest& other, bool unsoftened) {
  using Pair = typename Numbers<precision>::Pair;
  const Pair r4 = static_cast<Pair>(other.square) * static_cast<Pair>(other.square);
  if (other.place >= 0 && !(r4 >= std::numeric_limits<Pair>::min()) && unsoftened)
    throw CoincidentParticles(
        place, other.place,
        other.square == 0
            ? fmt::format("direct: two particles in one place (places {} and {}); expected a distance or a "
                          "softening above 0",
                          place, other.place)
            : fmt::format("direct: two particles too close for precision \"{}\" (places {} and {}, distance "
                          "{}); expected a larger distance or a softening above 0",
                          precision_name(precision), place, other.place, std::sqrt(other.square)));
  throw Error(ErrorKind::numerics,
              fmt::format("direct: the force on the particle in place {} is beyond the range of precision \"{}\"",
                          place, precision_name(precision)));
}

}  // namespace pergola::direct
