// What travels of the branches of other domains.
#include <algorithm>
#include <cstring>

#include "physics/multi_index.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/spread_octree.hpp"

namespace pergola::tree {

namespace {

/// Room for `size` values, of which the first `used` are kept.
template <class V>
void extend(const Device& device, Buffer<V>& buffer, std::int64_t used, std::int64_t size) {
  if (buffer.size() >= size) return;
  Buffer<V> larger(device, size + size / 4);
  std::copy_n(buffer.data(), used, larger.data());
  buffer = std::move(larger);
}

template <class V>
void put(std::vector<std::byte>& to, const V* values, std::size_t count) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(values);
  to.insert(to.end(), bytes, bytes + count * sizeof(V));
}
template <class V>
const std::byte* get(const std::byte* from, V* values, std::size_t count) {
  std::memcpy(values, from, count * sizeof(V));
  return from + count * sizeof(V);
}

/// What travels of a cell, beside its numbers of particles and children: centre, radii and mass; where softening
/// lengths differ those of the shape. Of a small leaf its particles, of which multipoles are made again; of any other
/// cell the multipoles but for the dipole, which no walk looks at, and how long the answer is that has what it holds.
constexpr std::size_t shape_numbers = 6, softening_numbers = 2;
constexpr std::size_t dipole = 1, quadrupole = 4;
static_assert(sizeof(CellShape) == (shape_numbers + softening_numbers) * sizeof(double));
std::size_t moments_of(int order) { return static_cast<std::size_t>(physics::expansion_terms(order)) - quadrupole; }

}  // namespace

/// A leaf whose particles are no more than its multipoles.
template <class T>
bool DistributedOctree<T>::brings_particles(const CellLink& link) const {
  return link.children == 0 && particle_bytes() * link.count <= (1 + moments_of(expansion_order_)) * sizeof(T);
}

/// What the rank of a cell answers: the particles of a leaf, or the children.
template <class T>
std::size_t DistributedOctree<T>::reply_bytes(const CellLink& link) const {
  if (link.children == 0) return particle_bytes() * link.count;
  const std::size_t of_shape = shape_numbers + (by_particle_ ? softening_numbers : 0);
  std::size_t bytes = sizeof(std::uint32_t);
  for (std::uint32_t c = link.child; c < link.child + link.children; ++c) {
    const CellLink& child = cells_.link[c];
    bytes += of_shape * sizeof(double) + sizeof(T) + sizeof(std::uint32_t) + sizeof(std::uint8_t);
    bytes += brings_particles(child) ? particle_bytes() * child.count
                                     : (1 + moments_of(expansion_order_)) * sizeof(T) + sizeof(std::uint32_t);
  }
  return bytes;
}

template <class T>
void DistributedOctree<T>::append_particles(const CellLink& link, std::vector<std::byte>& reply) const {
  for (const auto* field : {&this->rx_, &this->ry_, &this->rz_}) put(reply, field->data() + link.first, link.count);
  if (masses_differ_) put(reply, this->rmass_.data() + link.first, link.count);
  if (by_particle_) put(reply, this->rsoftening_.data() + link.first, link.count);
}

/// They stand after all others. Whoever asks has particles of his own, and knows the mass that all have.
template <class T>
const std::byte* DistributedOctree<T>::take_particles(std::uint32_t count, const std::byte* from) {
  const std::int64_t end = here_ + count;
  for (auto* field : {&this->rx_, &this->ry_, &this->rz_, &this->rmass_}) extend(device_, *field, here_, end);
  if (by_particle_) extend(device_, this->rsoftening_, here_, end);
  for (auto* field : {&this->rx_, &this->ry_, &this->rz_}) from = get(from, field->data() + here_, count);
  if (masses_differ_)
    from = get(from, this->rmass_.data() + here_, count);
  else
    std::fill_n(this->rmass_.data() + here_, count, this->rmass_.data()[0]);
  if (by_particle_) from = get(from, this->rsoftening_.data() + here_, count);
  here_ = end;
  return from;
}

template <class T>
void DistributedOctree<T>::append_reply(std::uint32_t cell, std::vector<std::byte>& reply) const {
  const CellLink& link = cells_.link[cell];
  if (link.children == 0) return append_particles(link, reply);
  const auto terms = static_cast<std::size_t>(multipole_stride(expansion_order_));
  put(reply, &link.child, 1);
  for (std::uint32_t c = link.child; c < link.child + link.children; ++c) {
    const CellLink& child = cells_.link[c];
    const CellShape& shape = shape_.data()[c];
    const auto children = static_cast<std::uint8_t>(child.children);
    put(reply, &shape.x, shape_numbers);
    if (by_particle_) put(reply, &shape.epsilon2, softening_numbers);
    put(reply, scale_.data() + c, 1), put(reply, &child.count, 1), put(reply, &children, 1);
    if (brings_particles(child)) {
      append_particles(child, reply);
      continue;
    }
    const T* const moments = multipole_.data() + c * terms;
    const auto bytes = static_cast<std::uint32_t>(reply_bytes(child));
    put(reply, moments, dipole), put(reply, moments + quadrupole, moments_of(expansion_order_));
    put(reply, &bytes, 1);
  }
}

template <class T>
const std::byte* DistributedOctree<T>::take_reply(std::uint32_t cell, const std::byte* from) {
  const CellLink link = cells_.link[cell];
  if (link.children == 0) {
    cells_.link[cell].first = static_cast<std::uint32_t>(here_);
    return take_particles(link.count, from);
  }
  const auto terms = static_cast<std::size_t>(multipole_stride(expansion_order_));
  const std::uint32_t begin = cells_.size();
  const std::int64_t end = std::int64_t{begin} + link.children, stride = multipole_stride(expansion_order_);
  extend(device_, shape_, begin, end), extend(device_, scale_, begin, end);
  extend(device_, multipole_, begin * stride, end * stride);
  std::uint32_t there = 0;
  from = get(from, &there, 1);
  std::fill_n(multipole_.data() + begin * terms, link.children * terms, T(0));
  const int rank = origin(cell).rank;
  for (std::uint32_t c = 0; c < link.children; ++c) {
    CellShape& shape = shape_.data()[begin + c];
    T* const moments = multipole_.data() + (begin + c) * terms;
    T& scale = scale_.data()[begin + c];
    CellLink child{elsewhere, 0, elsewhere, 0};
    std::uint8_t children = 0;
    std::uint32_t bytes = 0;
    from = get(from, &shape.x, shape_numbers);
    shape.epsilon2 = this->same_epsilon2_, shape.mixed = 0;
    if (by_particle_) from = get(from, &shape.epsilon2, softening_numbers);
    from = get(from, &scale, 1), from = get(from, &child.count, 1), from = get(from, &children, 1);
    child.children = children;
    if (brings_particles(child)) {
      child.first = static_cast<std::uint32_t>(here_);
      from = take_particles(child.count, from);
      const auto at = [&](const Buffer<T>& field) { return field.data() + child.first; };
      leaf_multipoles<T>(expansion_order_, {at(this->rx_), at(this->ry_), at(this->rz_), at(this->rmass_), child.count},
                         scale, moments);
    } else {
      from = get(from, moments, dipole), from = get(from, moments + quadrupole, moments_of(expansion_order_));
      from = get(from, &bytes, 1);
    }
    cells_.link.push_back(child);
    origin_.push_back({rank, there + c, bytes});
  }
  cells_.link[cell].child = begin;
  foreign_.resize(cells_.link.size(), 1);
  return from;
}

template std::size_t DistributedOctree<float>::reply_bytes(const CellLink&) const;
template std::size_t DistributedOctree<double>::reply_bytes(const CellLink&) const;
template void DistributedOctree<float>::append_reply(std::uint32_t, std::vector<std::byte>&) const;
template const std::byte* DistributedOctree<float>::take_reply(std::uint32_t, const std::byte*);
template void DistributedOctree<double>::append_reply(std::uint32_t, std::vector<std::byte>&) const;
template const std::byte* DistributedOctree<double>::take_reply(std::uint32_t, const std::byte*);

}  // namespace pergola::tree
