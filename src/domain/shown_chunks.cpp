#include "domain/shown_chunks.hpp"

#include <algorithm>

#include "domain/shown_rows.hpp"
#include "particles/particles.hpp"

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

/// Of the last chunk's particles those that other ranks keep, received to the device.
std::unique_ptr<ShownParticles> fetch_rest(Communicator& ranks, const ChunkShares& chunks, std::int64_t missing,
                                           const ShownParticles& own) {
  const std::int64_t row_bytes = 7 * sizeof(double) + sizeof(std::uint8_t) + sizeof(std::uint64_t);
  Particles rest;
  rest.resize(missing);
  const ShownArrays<double> to{rest.x.data(),  rest.y.data(),    rest.z.data(),       rest.vx.data(), rest.vy.data(),
                               rest.vz.data(), rest.mass.data(), rest.species.data(), rest.id.data()};
  chunks.fetch_missing(
      ranks, row_bytes,
      [&](std::int64_t first, std::int64_t count, std::byte* rows) {
        ShownRows<double> shown(own.device(), all_arrays, count);
        own.show(first, count, shown.to);
        own.device().synchronize();
        shown.pack(count, rows);
      },
      [&](std::int64_t at, std::int64_t count, const std::byte* rows) { put_rows(rows, at, count, to); });
  return show_particles(own.device(), rest);
}

}  // namespace

ShownChunks::ShownChunks(Communicator& ranks, const ChunkShares& chunks, const ShownParticles& own)
    : own_(own),
      from_(chunks.kept_from(ranks.rank())),
      kept_(chunks.kept(ranks.rank())),
      missing_(chunks.count(ranks.rank()) - kept_),
      rest_(fetch_rest(ranks, chunks, missing_, own)) {}

template <class Real>
void ShownChunks::show_range(std::int64_t first, std::int64_t n, const ShownArrays<Real>& to) const {
  const std::int64_t here = std::clamp<std::int64_t>(kept_ - first, 0, n);
  if (here > 0) own_.show(from_ + first, here, to);
  if (here < n) rest_->show(first + here - kept_, n - here, from(to, here));
}

void ShownChunks::show(std::int64_t first, std::int64_t n, const ShownArrays<float>& to) const {
  show_range(first, n, to);
}
void ShownChunks::show(std::int64_t first, std::int64_t n, const ShownArrays<double>& to) const {
  show_range(first, n, to);
}

void ShownChunks::show_at(const std::uint32_t* places, std::int64_t n, const ShownArrays<double>& to) const {
  const std::int64_t here = std::lower_bound(places, places + n, kept_) - places;
  SharedBuffer<std::uint32_t> moved(device(), n);
  for (std::int64_t k = 0; k < n; ++k)
    moved.data()[k] = places[k] + static_cast<std::uint32_t>(k < here ? from_ : -kept_);
  if (here > 0) own_.show_at(moved.data(), here, to);
  if (here < n) rest_->show_at(moved.data() + here, n - here, from(to, here));
  device().synchronize();
}

}  // namespace pergola
