#include "particles/shown_particles.hpp"

#include <algorithm>

#include "device/parallel.hpp"
#include "particles/shown_state.hpp"

namespace pergola {

namespace {

/// Particles that a GPU writes to page-locked memory at once: enough for the bus, few enough that the memory costs
/// nothing to take.
constexpr std::int64_t piece_size = std::int64_t{1} << 18;
constexpr std::int64_t copy_chunk = 8192;

void resize(Particles& particles, std::int64_t count) {
  const auto n = static_cast<std::size_t>(count);
  particles.id.resize(n), particles.species.resize(n), particles.mass.resize(n);
  particles.x.resize(n), particles.y.resize(n), particles.z.resize(n);
  particles.vx.resize(n), particles.vy.resize(n), particles.vz.resize(n);
  particles.potential.clear();
}

ShownArrays<double> arrays_of(Particles& p) {
  return {p.x.data(),  p.y.data(),    p.z.data(),       p.vx.data(), p.vy.data(),
          p.vz.data(), p.mass.data(), p.species.data(), p.id.data()};
}

/// Particles of the host, copied to a device to be shown there.
class BroughtParticles final : public ShownParticles {
 public:
  BroughtParticles(const Device& device, const Particles& p)
      : x_(device, p.x),
        y_(device, p.y),
        z_(device, p.z),
        vx_(device, p.vx),
        vy_(device, p.vy),
        vz_(device, p.vz),
        mass_(device, p.mass),
        species_(device, p.species),
        id_(device, p.id),
        state_(device, p.size(),
               {x_.data(), y_.data(), z_.data(), vx_.data(), vy_.data(), vz_.data(), mass_.data(), species_.data(),
                id_.data(), nullptr},
               ShowAsIs{}) {}
  const Device& device() const override { return state_.device(); }
  std::int64_t count() const override { return state_.count(); }
  void show(std::int64_t first, std::int64_t n, const ShownArrays<float>& to) const override {
    state_.show(first, n, to);
  }
  void show(std::int64_t first, std::int64_t n, const ShownArrays<double>& to) const override {
    state_.show(first, n, to);
  }
  void show_at(const std::uint32_t* places, std::int64_t n, const ShownArrays<double>& to) const override {
    state_.show_at(places, n, to);
  }

 private:
  Buffer<double> x_, y_, z_, vx_, vy_, vz_, mass_;
  Buffer<std::uint8_t> species_;
  Buffer<std::uint64_t> id_;
  ShownState<double, ShowAsIs> state_;
};

}  // namespace

template <class Real>
ShownPlaces<Real>::ShownPlaces(const ShownParticles& shown)
    : x(shown.device(), shown.count()),
      y(shown.device(), shown.count()),
      z(shown.device(), shown.count()),
      mass(shown.device(), shown.count()),
      species(shown.device(), shown.count()),
      id(shown.device(), shown.count()) {
  ShownArrays<Real> to;
  to.x = x.data(), to.y = y.data(), to.z = z.data();
  to.mass = mass.data();
  to.species = species.data();
  to.id = id.data();
  shown.show(0, shown.count(), to);
}
template struct ShownPlaces<float>;
template struct ShownPlaces<double>;

ShownPiece::ShownPiece(const Device& device, std::int64_t size) : species(device, size), id(device, size) {
  for (auto& one : number) one = SharedBuffer<double>(device, size);
}

ShownArrays<double> ShownPiece::arrays() {
  return {number[0].data(), number[1].data(), number[2].data(), number[3].data(), number[4].data(),
          number[5].data(), number[6].data(), species.data(),   id.data()};
}

void FetchedParticles::read(std::int64_t first, std::int64_t n, Particles& to) {
  resize(to, n);
  const Device& device = shown_.device();
  if (!device.is_cuda()) return shown_.show(first, n, arrays_of(to));
  while (pieces_.size() < 2) pieces_.emplace_back(device, std::min(piece_size, count()));
  read_through(first, n, to);
}

/// One piece is written by the device while the one before is copied out of page-locked memory.
void FetchedParticles::read_through(std::int64_t first, std::int64_t n, Particles& to) {
  const Device& device = shown_.device();
  const ShownArrays<double> all = arrays_of(to);
  const auto length = [&](std::int64_t begin) { return std::min(piece_size, n - begin); };
  if (n > 0) shown_.show(first, length(0), pieces_[0].arrays());
  for (std::int64_t begin = 0, turn = 0; begin < n; begin += piece_size, turn = 1 - turn) {
    device.synchronize();
    const std::int64_t next = begin + piece_size, size = length(begin);
    if (next < n) shown_.show(first + next, length(next), pieces_[static_cast<std::size_t>(1 - turn)].arrays());
    const ShownArrays<double> here = pieces_[static_cast<std::size_t>(turn)].arrays();
    parallel_chunks(device.threads(), size, copy_chunk, [&](std::int64_t from, std::int64_t end) {
      const auto copy = [&](auto* target, const auto* source) {
        std::copy(source + from, source + end, target + begin + from);
      };
      copy(all.x, here.x), copy(all.y, here.y), copy(all.z, here.z);
      copy(all.vx, here.vx), copy(all.vy, here.vy), copy(all.vz, here.vz);
      copy(all.mass, here.mass), copy(all.species, here.species), copy(all.id, here.id);
    });
  }
}

ParticleCensus census_of(const ShownParticles& shown) {
  const std::int64_t size = std::min(piece_size, shown.count());
  SharedBuffer<std::uint8_t> species(shown.device(), size);
  SharedBuffer<std::uint64_t> id(shown.device(), size);
  ShownArrays<double> to;
  to.species = species.data(), to.id = id.data();
  ParticleCensus census;
  for (std::int64_t first = 0; first < shown.count(); first += piece_size) {
    const std::int64_t n = std::min(piece_size, shown.count() - first);
    shown.show(first, n, to);
    shown.device().synchronize();
    for (std::int64_t k = 0; k < n; ++k) {
      ++census.counts[to.species[k]];
      census.largest_id = std::max(census.largest_id, to.id[k]);
    }
  }
  return census;
}

Particles fetch(const ShownParticles& shown) {
  Particles particles;
  FetchedParticles(shown).read(0, shown.count(), particles);
  return particles;
}

std::unique_ptr<ShownParticles> show_particles(const Device& device, const Particles& particles) {
  return std::make_unique<BroughtParticles>(device, particles);
}

}  // namespace pergola
