#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "mesh/poisson.hpp"
#include "mesh/slab_planes.hpp"

namespace pergola {

/// For ranks that each have their planes of a field whose rows are not padded: the density of all comes to every rank,
/// and each solves for the whole potential, with the bits of one rank. Planes travel through the host's memory.
template <class Real>
class GatheredPoisson final : public PoissonSolver<Real> {
 public:
  GatheredPoisson(const Device& device, std::unique_ptr<PoissonSolver<Real>> whole, std::shared_ptr<Communicator> ranks)
      : device_(device),
        whole_(std::move(whole)),
        ranks_(std::move(ranks)),
        slab_(*ranks_, whole_->layout().nz),
        plane_(whole_->layout().pitch * whole_->layout().ny) {}

  Field<Real> layout() const override {
    Field<Real> field = whole_->layout();
    field.nz = slab_.count();
    return field;
  }
  std::int64_t scratch_bytes() const override { return field_bytes() + whole_->scratch_bytes(); }
  std::int64_t own_bytes() const override { return whole_->own_bytes(); }
  std::string remark() const override { return whole_->remark(); }

  void solve(const Field<Real>& field, double factor, void* scratch) override {
    std::vector<Real> planes(static_cast<std::size_t>(plane_ * slab_.planes()));
    std::vector<std::size_t> bytes;
    for (int rank = 0; rank < ranks_->size(); ++rank) bytes.push_back(bytes_of(slab_.count(rank)));
    const std::size_t own = bytes_of(slab_.count());
    const std::int64_t first = plane_ * slab_.first();
    if (own > 0) device_.memory().to_host(planes.data() + first, field.data, own);
    ranks_->all_gather_in_place(planes.data(), bytes);
    Field<Real> all = whole_->layout();
    all.data = static_cast<Real*>(scratch);
    device_.memory().from_host(all.data, planes.data(), planes.size() * sizeof(Real));
    whole_->solve(all, factor, static_cast<std::byte*>(scratch) + field_bytes());
    if (own > 0) device_.memory().copy(field.data, all.data + first, own);
  }
  void spectral_force(int axis, const Field<Real>& force, void* scratch) override {
    whole_->spectral_force(axis, force, scratch);
  }

 private:
  std::size_t bytes_of(int planes) const { return static_cast<std::size_t>(plane_ * planes) * sizeof(Real); }
  std::int64_t field_bytes() const {
    return (whole_->layout().size() * static_cast<std::int64_t>(sizeof(Real)) + 255) / 256 * 256;
  }

  Device device_;
  std::unique_ptr<PoissonSolver<Real>> whole_;
  std::shared_ptr<Communicator> ranks_;
  SlabPlanes slab_;
  std::int64_t plane_;
};

}  // namespace pergola
