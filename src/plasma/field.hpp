#pragma once
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "plasma/tiled_particles.hpp"

namespace pergola {

/// The electrostatic field of a charge density in a periodic box, by FFT: φ_k = S(k)² ρ_k / k², E_k = −i k φ_k with
/// S(k) = exp(−(k a)²/2) (Decyk 2007; Birdsall & Langdon 1985, section 4-8: charge and force both smoothed).
template <class Real>
class PlasmaField {
 public:
  virtual ~PlasmaField() = default;
  /// Where the charge density is to be put.
  virtual Field<Real> density() = 0;
  /// From what density() holds now; that may be overwritten. Does not wait.
  virtual void solve() = 0;
  /// Of the last solve().
  virtual ElectricField<Real> electric() const = 0;
  /// Whether electric() and potential() are those of the box; else of this rank's layers.
  virtual bool is_whole() const = 0;
  /// Energy of the field, ½ Σ_k V |ρ_k|² S(k)²/k², of the last solve(): what the particles gain the field loses. In
  /// m_e n₀ cell⁵ ω_p² (3D), the unit of PlasmaSums. Waits. The same bits from run to run and for any number of threads
  /// and ranks.
  virtual double energy() const = 0;
  /// The smoothed potential at the grid points, of the last solve(), on the host, x fastest, without padding. Waits.
  virtual std::vector<double> potential() const = 0;
  virtual std::int64_t device_bytes() const = 0;
};

/// `ranks`: each has the layers of its slab (plasma/tile_slab.hpp) of the density, and of all other fields; before and
/// after those of electric() stand the layers around. On GPUs solve() brings the density of a small field
/// (plasma::has_whole_field) to all ranks, and each solves for the whole of it. solve(), energy() and potential() are
/// then calls of all ranks. Null: all is here.
template <class Real>
std::unique_ptr<PlasmaField<Real>> make_plasma_field(const Device& device, const PlasmaOptions& options,
                                                     std::shared_ptr<Communicator> ranks = nullptr);

}  // namespace pergola
