#pragma once
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device/buffer.hpp"
#include "mesh/coupling/exchange.hpp"
#include "physics/mesh_weights.hpp"

namespace pergola {

inline Grid cubic_grid(int cells, Boundary boundary, double side = 1.0, Vec3<double> corner = {0, 0, 0}) {
  return {3, {cells, cells, cells}, {corner, {side, side, side}, boundary}};
}

template <class Real>
struct HostParticles {
  std::vector<Real> x, y, z, mass;
  std::int64_t count() const { return static_cast<std::int64_t>(x.size()); }
  void add(double px, double py, double pz, double m = 1) {
    x.push_back(static_cast<Real>(px)), y.push_back(static_cast<Real>(py)), z.push_back(static_cast<Real>(pz));
    mass.push_back(static_cast<Real>(m));
  }
};

/// Anywhere in the box, or up to `beyond` of its side outside, with masses between 0.5 and 1.5.
template <class Real>
HostParticles<Real> scattered(const Grid& grid, int count, unsigned seed, double beyond = 0) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> anywhere(-beyond, 1 + beyond), mass(0.5, 1.5);
  HostParticles<Real> particles;
  const auto& [corner, side, boundary] = grid.box;
  for (int i = 0; i < count; ++i) {
    const double a = anywhere(random), b = anywhere(random), c = anywhere(random);
    particles.add(corner.x + a * side.x, corner.y + b * side.y, corner.z + c * side.z, mass(random));
  }
  return particles;
}

/// What a test reads back from a gather.
template <class Real>
struct HostForces {
  std::vector<Real> ax, ay, az, potential;
};

/// A mesh with its memory and particles on a device.
template <class Real>
class MeshFixture {
 public:
  /// padded: the field is twice as large in every direction, as the FFT of an isolated box has it.
  MeshFixture(const Device& device, const Grid& grid, const ExchangeOptions& options, bool padded = false)
      : device_(device), grid_(grid), exchange_(make_mesh_exchange<Real>(device, grid, options)) {
    const int factor = padded ? 2 : 1;
    layout_.nx = factor * grid.cells[0], layout_.ny = factor * grid.cells[1];
    layout_.nz = grid.dimensions == 3 ? factor * grid.cells[2] : 1;
    layout_.pitch = layout_.nx + 2;
    layout_.wraps = grid.periodic() || padded;
    field_ = Buffer<Real>(device, layout_.size());
    layout_.data = field_.data();
    scratch_ = Buffer<std::byte>(device, exchange_->scratch_bytes());
  }

  void set(const HostParticles<Real>& particles) {
    for (int k = 0; k < 4; ++k)
      arrays_[k] = Buffer<Real>(device_, k == 0   ? particles.x
                                         : k == 1 ? particles.y
                                         : k == 2 ? particles.z
                                                  : particles.mass);
  }
  MeshParticles<Real> particles() const {
    return {arrays_[0].size(), arrays_[0].data(), arrays_[1].data(), arrays_[2].data(), arrays_[3].data()};
  }
  std::vector<Real> deposit(const HostParticles<Real>& particles, double quantum) {
    set(particles);
    StageClock clock;
    field_.from_host(std::vector<Real>(static_cast<std::size_t>(layout_.size()), Real(-7)).data());
    exchange_->deposit(this->particles(), quantum, layout_, scratch_.data(), clock);
    return field_.to_host();
  }
  std::int64_t at(int ix, int iy, int iz) const { return layout_.index(ix, iy, iz); }
  Field<Real>& layout() { return layout_; }
  MeshExchange<Real>& exchange() { return *exchange_; }
  void* scratch() { return scratch_.data(); }

  /// Puts φ(ix, iy, iz) into the field.
  template <class Function>
  void set_field(const Function& function) {
    std::vector<Real> values(static_cast<std::size_t>(layout_.size()), Real(0));
    for (int iz = 0; iz < layout_.nz; ++iz)
      for (int iy = 0; iy < layout_.ny; ++iy)
        for (int ix = 0; ix < layout_.nx; ++ix)
          values[static_cast<std::size_t>(at(ix, iy, iz))] = static_cast<Real>(function(ix, iy, iz));
    field_.from_host(values.data());
  }
  void differentiate() { exchange_->set_potential(layout_.read_only(), scratch_.data()); }
  HostForces<Real> gather(const std::vector<std::int64_t>& index = {}, double gravitational_constant = 1) {
    const std::int64_t count = index.empty() ? arrays_[0].size() : static_cast<std::int64_t>(index.size());
    Buffer<Real> ax(device_, count), ay(device_, count), az(device_, count), potential(device_, count);
    const Buffer<std::int64_t> places(device_, index);
    exchange_->gather(particles(), index.empty() ? nullptr : places.data(), count, layout_.read_only(),
                      gravitational_constant, {ax.data(), ay.data(), az.data(), potential.data()}, scratch_.data());
    return {ax.to_host(), ay.to_host(), az.to_host(), potential.to_host()};
  }
  /// What the field holds, at the particles, as a component of the force or as the potential; on a GPU.
  std::vector<Real> gather_component(int component, const std::vector<std::uint32_t>& order = {}) {
    const Buffer<std::uint32_t> near(device_, order);
    Buffer<Real> values(device_, arrays_[0].size());
    MeshParticles<Real> all = particles();
    all.order = order.empty() ? nullptr : near.data();
    exchange_->gather_component(component, all, nullptr, all.count, layout_.read_only(), 1.0, values.data());
    return values.to_host();
  }

 private:
  Device device_;
  Grid grid_;
  std::unique_ptr<MeshExchange<Real>> exchange_;
  Field<Real> layout_;
  Buffer<Real> field_, arrays_[4];
  Buffer<std::byte> scratch_;
};

}  // namespace pergola
