#include "domain/shown_chunks.hpp"

#include <algorithm>

namespace pergola {

namespace {

constexpr std::int64_t all_arrays = ~std::int64_t{0};

/// The same arrays from particle `at` on.
template <class Real>
ShownArrays<Real> from(const ShownArrays<Real>& arrays, std::int64_t at) {
  ShownArrays<Real> moved = arrays;
  each_array(moved, [at](auto*& array) {
    if (array) array += at;
  });
  return moved;
}

/// n of the kept rows, from `first` on, to those that are wanted.
template <class Real>
void copy_rows(ShownArrays<Real> kept, std::int64_t first, std::int64_t n, ShownArrays<Real> to) {
  const auto copy = [&](const auto* values, auto* array) {
    if (array) std::copy_n(values + first, n, array);
  };
  copy(kept.x, to.x), copy(kept.y, to.y), copy(kept.z, to.z);
  copy(kept.vx, to.vx), copy(kept.vy, to.vy), copy(kept.vz, to.vz);
  copy(kept.mass, to.mass), copy(kept.species, to.species), copy(kept.id, to.id);
}

}  // namespace

ShownChunks::ShownChunks(Communicator& ranks, const ChunkShares& chunks, const ShownParticles& own)
    : own_(own),
      from_(chunks.kept_from(ranks.rank())),
      kept_(chunks.kept(ranks.rank())),
      missing_(chunks.count(ranks.rank()) - kept_),
      singles_(all_arrays, missing_),
      doubles_(all_arrays, missing_) {
  fetch(ranks, chunks, singles_);
  fetch(ranks, chunks, doubles_);
}

template <class Real>
void ShownChunks::fetch(Communicator& ranks, const ChunkShares& chunks, ShownRows<Real>& to) {
  const std::int64_t row_bytes = 7 * sizeof(Real) + sizeof(std::uint8_t) + sizeof(std::uint64_t);
  chunks.fetch_missing(
      ranks, row_bytes,
      [&](std::int64_t first, std::int64_t count, std::byte* rows) {
        ShownRows<Real> shown(all_arrays, count);
        own_.show(first, count, shown.to);
        own_.device().synchronize();
        shown.pack(count, rows);
      },
      [&](std::int64_t at, std::int64_t count, const std::byte* rows) { put_rows(rows, at, count, to.to); });
}

template <class Real>
void ShownChunks::show_range(std::int64_t first, std::int64_t n, const ShownArrays<Real>& to,
                             const ShownRows<Real>& rest) const {
  const std::int64_t here = std::clamp<std::int64_t>(kept_ - first, 0, n);
  if (here > 0) own_.show(from_ + first, here, to);
  if (here < n) copy_rows(rest.to, first + here - kept_, n - here, from(to, here));
}

void ShownChunks::show(std::int64_t first, std::int64_t n, const ShownArrays<float>& to) const {
  show_range(first, n, to, singles_);
}
void ShownChunks::show(std::int64_t first, std::int64_t n, const ShownArrays<double>& to) const {
  show_range(first, n, to, doubles_);
}

void ShownChunks::show_at(const std::uint32_t* places, std::int64_t n, const ShownArrays<double>& to) const {
  const std::int64_t here = std::lower_bound(places, places + n, kept_) - places;
  std::vector<std::uint32_t> own(places, places + here);
  for (std::uint32_t& place : own) place += static_cast<std::uint32_t>(from_);
  if (here > 0) own_.show_at(own.data(), here, to);
  for (std::int64_t k = here; k < n; ++k) copy_rows(doubles_.to, places[k] - kept_, 1, from(to, k));
}

}  // namespace pergola
