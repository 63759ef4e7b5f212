#pragma once
#include <memory>
#include <utility>

#include "mesh/coupling/exchange.hpp"

namespace pergola {

/// What an exchange for slabs, on either device, leaves to the exchange of the rank's own planes.
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
