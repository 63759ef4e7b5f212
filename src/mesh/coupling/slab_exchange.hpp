#pragma once
// Parts that the exchanges with a mesh in slabs share on CPU and GPU: which ghost planes are needed, memory for planes
// that are not the rank's slab, and calls that are forwarded to the exchange of the rank's own planes.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "device/buffer.hpp"
#include "mesh/coupling/exchange.hpp"
#include "mesh/coupling/row_domains.hpp"
#include "mesh/slab_planes.hpp"

namespace pergola {

/// What an exchange with a mesh in slabs reads and writes around the planes that it works on, on either device.
struct SlabReach {
  explicit SlabReach(const ExchangeOptions& options, const Grid& grid)
      : ranks(options.ranks.get()),
        domains(options.domains.get()),
        ghosts(static_cast<int>(options.assignment) - 1),
        stencil(options.gradient == Gradient::spectral    ? 0
                : options.gradient == Gradient::two_point ? 1
                                                          : 2),
        beyond_sums(grid.periodic() ? BeyondPlanes::wrap : BeyondPlanes::none),
        beyond_field(grid.periodic() ? BeyondPlanes::wrap : BeyondPlanes::one) {
    if (ranks) slab = SlabPlanes(*ranks, grid.cells[2], options.slab_unit);
  }
  /// The planes that this rank works on.
  PlaneRange own() const {
    return domains ? domains->planes()[static_cast<std::size_t>(ranks->rank())]
                   : PlaneRange{slab.first(), slab.count()};
  }
  /// Of a field, below those and above them.
  int below() const { return ranks ? stencil : 0; }
  int above() const { return ranks ? ghosts + stencil : 0; }
  /// Of slabs: where sums go, and what forces are made of.
  PlanesAround sums_above() const { return {*ranks, slab, 0, ghosts, beyond_sums}; }
  PlanesAround around() const { return {*ranks, slab, below(), above(), beyond_field}; }

  Communicator* ranks;  // null: no slabs
  const RowDomains* domains;
  int ghosts, stencil;  // planes beyond that a cloud begins in that it reaches; next to a cell that make its force
  BeyondPlanes beyond_sums, beyond_field;
  SlabPlanes slab;
};

/// What a rank works on if that is not its slab (row_domains.hpp), on either device: memory for sums and then forces,
/// and the potential, or a component of the force, with its ghost planes.
template <class Real>
class ExchangeDomain {
 public:
  /// `most_bytes`: of a message, about.
  ExchangeDomain(const Device& device, const SlabReach& reach, std::int64_t bytes, std::size_t sums_plane_bytes,
                 std::int64_t most_bytes = std::int64_t{8} << 20)
      : device_(device),
        most_bytes_(most_bytes),
        memory_(device, bytes),
        sums_(*reach.ranks, reach.slab, reach.domains->planes(), 0, reach.ghosts, reach.beyond_sums, sums_plane_bytes,
              most_bytes) {}

  /// For sums, and then for forces.
  std::byte* memory() const { return const_cast<std::byte*>(memory_.data()); }
  PlanesWorkedOn& sums() { return sums_; }
  const PlanesWorkedOn& sums() const { return sums_; }
  const Field<const Real>& field() const { return field_; }

  /// Room for the planes of such a field, which are to come round by round: the first one that is worked on.
  Real* make_room(const SlabReach& reach, const Field<Real>& slab_field) {
    const std::int64_t plane = slab_field.pitch * slab_field.ny;
    const int layers = reach.own().count;
    if (plane_bytes_ != plane * sizeof(Real)) {
      plane_bytes_ = static_cast<std::size_t>(plane) * sizeof(Real);
      planes_ = PlanesWorkedOn(*reach.ranks, reach.slab, reach.domains->planes(), reach.below(), reach.above(),
                               reach.beyond_field, plane_bytes_, most_bytes_);
      values_ = Buffer<Real>(device_, layers > 0 ? (reach.below() + layers + reach.above()) * plane : 0);
      values_.zero();  // planes that are nowhere
    }
    Real* const first = values_.data() + reach.below() * plane;
    field_ = slab_field.read_only();
    field_.data = first, field_.nz = layers;
    return first;
  }
  PlanesWorkedOn& planes() { return planes_; }

  std::int64_t bytes() const { return static_cast<std::int64_t>(memory_.bytes() + values_.bytes()); }
  std::int64_t message_bytes(std::size_t sums_plane_bytes) const {
    return std::max(sums_.message_bytes(sums_plane_bytes), planes_.message_bytes(plane_bytes_));
  }

 private:
  Device device_;
  std::int64_t most_bytes_;
  Buffer<std::byte> memory_;
  Buffer<Real> values_;
  Field<const Real> field_;
  PlanesWorkedOn sums_, planes_;
  std::size_t plane_bytes_ = 0;  // for which the planes' rounds were made
};

/// The calls that an exchange for slabs, on either device, forwards to the exchange of the rank's own planes.
template <class Real>
class SlabExchange : public MeshExchange<Real> {
 public:
  explicit SlabExchange(std::unique_ptr<MeshExchange<Real>> own) : own_(std::move(own)) {}

  std::int64_t scratch_bytes() const override { return own_->scratch_bytes(); }
  std::int64_t deposited_quanta() override { return own_->deposited_quanta(); }
  std::int64_t outside() override { return own_->outside(); }
  int planes_below() const override { return own_->planes_below(); }
  int planes_above() const override { return own_->planes_above(); }
  void fetch_planes_around(const Field<Real>& field) override { own_->fetch_planes_around(field); }
  void set_potential(const Field<const Real>& potential, void* scratch) override {
    own_->set_potential(potential, scratch);
  }
  void set_forces(const ForceRows<Real>& rows, void* scratch) override { own_->set_forces(rows, scratch); }
  void fetch_forces_around(void* scratch) override { own_->fetch_forces_around(scratch); }
  std::int64_t order_bytes(std::int64_t count) const override { return own_->order_bytes(count); }
  void find_order(const MeshParticles<Real>& particles, std::uint32_t* order, void* work) override {
    own_->find_order(particles, order, work);
  }

 protected:
  std::unique_ptr<MeshExchange<Real>> own_;  // of this rank's planes
};

}  // namespace pergola
