#include "analysis/mode_powers.hpp"

#include <algorithm>
#include <complex>

#include "device/parallel.hpp"
#include "mesh/fft/complex_fft.hpp"

// On CPUs each rank transforms its slab of planes. The power of a mode needs the mode at −k too, which is on the
// opposite plane, perhaps on another rank: those planes are exchanged. Sums of planes are gathered in the order of wave
// numbers.
namespace pergola {

namespace {

using Complex = std::complex<double>;

/// Modes −reach … reach of planes of waves, plane by plane.
class NearModes {
 public:
  NearModes(int cells, int reach) : cells_(cells), reach_(reach), width_(2 * reach + 1) {}
  std::size_t size() const { return static_cast<std::size_t>(width_) * static_cast<std::size_t>(width_); }
  /// Whether a plane of the mesh is near, and its wave number.
  bool has(int plane) const { return plane <= reach_ || plane >= cells_ - reach_; }
  int wave(int plane) const { return plane <= reach_ ? plane : plane - cells_; }
  int opposite(int plane) const { return plane == 0 ? 0 : cells_ - plane; }

  /// Copies the near modes of a plane, wave numbers from -reach on.
  void take(const Complex* plane, Complex* to) const {
    for (int y = -reach_; y <= reach_; ++y) {
      const Complex* const row = plane + std::int64_t{y < 0 ? y + cells_ : y} * cells_;
      to = std::copy_n(row + cells_ - reach_, reach_, to);
      to = std::copy_n(row, reach_ + 1, to);
    }
  }

  /// Powers of all near modes of a plane; the mode at -k stands at the opposite end of the mirror plane.
  void powers(const ModePower& body, int z, const Complex* at, const Complex* mirror, double* to) const {
    const auto parts = [](const Complex* value) { return reinterpret_cast<const double*>(value); };
    const Complex* opposite = mirror + size();
    for (int y = -reach_; y <= reach_; ++y)
      for (int x = -reach_; x <= reach_; ++x) *to++ = body.of_mode(x, y, z, parts(at++), parts(--opposite));
  }

 private:
  int cells_, reach_, width_;
};

/// On CPUs: each rank transforms its slab and sums its planes.
class ShellMeterCpu final : public ShellMeter {
 public:
  ShellMeterCpu(const Device& device, int cells, const std::shared_ptr<Communicator>& ranks)
      : ShellMeter(cells),
        threads_(device.threads()),
        ranks_(ranks),
        transform_(cells, threads_, ranks),
        near_(cells, reach()),
        field_(static_cast<std::size_t>(slab().count()) * static_cast<std::size_t>(plane_size())) {
    for (int plane = slab().first(); plane < slab().first() + slab().count(); ++plane)
      if (near_.has(plane)) planes_.push_back(plane);
    own_.resize(planes_.size() * near_.size());
    mirror_.resize(own_.size());
  }

 private:
  const SlabPlanes& slab() const { return transform_.planes(); }
  std::int64_t plane_size() const { return std::int64_t{cells()} * cells(); }

  /// Two real meshes as one complex field: one transform serves both.
  std::vector<Shell> plane_sums(const double* first, const double* second, const std::vector<double>& unwindow,
                                double side) override {
    constexpr std::int64_t chunk = 65536;
    parallel_chunks(threads_, static_cast<std::int64_t>(field_.size()), chunk,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i)
                        field_[static_cast<std::size_t>(i)] = {first[i], second[i]};
                    });
    transform_.forward(field_.data());
    parallel_for(threads_, std::ssize(planes_), [&](std::int64_t k) {
      const auto p = static_cast<std::size_t>(k);
      near_.take(field_.data() + (planes_[p] - slab().first()) * plane_size(), own_.data() + p * near_.size());
    });
    exchange_opposite();
    const ModePower body{nullptr, unwindow.data(), nullptr, cells(), reach()};
    const std::int64_t shells = most() + 1;
    std::vector<Shell> sums(planes_.size() * static_cast<std::size_t>(shells));
    parallel_for(threads_, std::ssize(planes_), [&](std::int64_t k) {
      const auto p = static_cast<std::size_t>(k);
      std::vector<double> powers(near_.size());
      const int z = near_.wave(planes_[p]);
      near_.powers(body, z, own_.data() + p * near_.size(), mirror_.data() + p * near_.size(), powers.data());
      const PlaneShell of_plane{powers.data(), sums.data() + k * shells, side, reach(), most()};
      for (int s = 0; s < shells; ++s) of_plane.sums[s] = of_plane.sum(z, s, powers.data());
    });
    return of_all_ranks(sums);
  }

  /// For each plane of this rank, fetches the opposite plane from its rank.
  void exchange_opposite() {
    const auto at = [&](int plane) {
      return static_cast<std::size_t>(std::lower_bound(planes_.begin(), planes_.end(), plane) - planes_.begin()) *
             near_.size();
    };
    std::vector<Communicator::Outgoing> out;
    std::vector<Communicator::Incoming> in;
    const std::size_t bytes = near_.size() * sizeof(Complex);
    for (int plane = 0; plane < slab().planes(); ++plane) {
      if (!near_.has(plane)) continue;
      const int other = near_.opposite(plane), from = slab().owner(plane), to = slab().owner(other);
      if (from == ranks_->rank()) out.push_back({to, own_.data() + at(plane), bytes});
      if (to == ranks_->rank()) in.push_back({from, mirror_.data() + at(other), bytes});
    }
    ranks_->exchange(out, in);
  }

  /// The sums of all planes, from those of each rank; wave number −reach first.
  std::vector<Shell> of_all_ranks(const std::vector<Shell>& own) const {
    const auto shells = static_cast<std::size_t>(most()) + 1;
    std::vector<Shell> by_plane(static_cast<std::size_t>(sum_count())), sums(by_plane.size());
    std::vector<std::size_t> bytes(static_cast<std::size_t>(ranks_->size()));
    std::vector<int> waves;
    for (int plane = 0; plane < slab().planes(); ++plane) {
      if (!near_.has(plane)) continue;
      if (!planes_.empty() && plane == planes_[0])
        std::copy(own.begin(), own.end(), by_plane.data() + waves.size() * shells);
      waves.push_back(near_.wave(plane));
      bytes[static_cast<std::size_t>(slab().owner(plane))] += shells * sizeof(Shell);
    }
    ranks_->all_gather_in_place(by_plane.data(), bytes);
    for (std::size_t k = 0; k < waves.size(); ++k)
      std::copy_n(by_plane.data() + k * shells, shells,
                  sums.data() + static_cast<std::size_t>(waves[k] + reach()) * shells);
    return sums;
  }

  int threads_;
  std::shared_ptr<Communicator> ranks_;
  ComplexFft transform_;
  NearModes near_;
  std::vector<Complex> field_, own_, mirror_;
  std::vector<int> planes_;  // near planes of this rank
};

}  // namespace

// Adds the planes in the order of wave numbers: the same bits on any number of ranks.
std::vector<Shell> ShellMeter::measure(const double* first, const double* second, const std::vector<double>& unwindow,
                                       double side) {
  const std::vector<Shell> parts = plane_sums(first, second, unwindow, side);
  std::vector<Shell> all(static_cast<std::size_t>(most()) + 1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Shell& sum = all[i % all.size()];
    sum.modes += parts[i].modes, sum.k += parts[i].k, sum.power += parts[i].power;
  }
  return all;
}

std::unique_ptr<ShellMeter> make_shell_meter(const Device& device, int cells,
                                             const std::shared_ptr<Communicator>& ranks) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return make_shell_meter_cuda(device, cells);
  }
  return std::make_unique<ShellMeterCpu>(device, cells, ranks);
}

}  // namespace pergola
