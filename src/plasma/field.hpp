#pragma once
/// The electrostatic field of a plasma's charge density, on one device or in slabs of ranks.
///
/// Use: write the charge density to density(), call solve(), read electric(). The solution is by FFT: on the CPU by the
/// Poisson solver of mesh/, on GPUs by plasma/field_cuda.cu. With ranks each has the layers of its slab
/// (plasma/tiles.hpp); a small field on GPUs is solved whole by every rank (plasma::has_whole_field).
/// Always: the same bits from run to run and for any number of threads and ranks.
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
  /// The memory for the charge density.
  virtual Field<Real> density() = 0;
  /// Solves for the present density(), which may be overwritten. Does not wait.
  virtual void solve() = 0;
  /// The electric field of the last solve().
  virtual ElectricField<Real> electric() const = 0;
  /// Whether electric() and potential() are those of the box, not of this rank's layers.
  virtual bool is_whole() const = 0;
  /// Energy of the field of the last solve(), ½ Σ_k V |ρ_k|² S(k)²/k²: it loses what the particles gain. In m_e n₀
  /// cell⁵ ω_p² (3D), the unit of PlasmaSums. Waits.
  virtual double energy() const = 0;
  /// The smoothed potential of the last solve() at the grid points, on the host, x fastest, without padding. Waits.
  virtual std::vector<double> potential() const = 0;
  virtual std::int64_t device_bytes() const = 0;
};

/// `ranks`: each has the layers of its slab in every field, in electric() also the layers around. solve(), energy() and
/// potential() are then collective. Null: the field is whole.
template <class Real>
std::unique_ptr<PlasmaField<Real>> make_plasma_field(const Device& device, const PlasmaOptions& options,
                                                     std::shared_ptr<Communicator> ranks = nullptr);
/// The same on a GPU (plasma/field_cuda.cu); present if cuda_built.
template <class Real>
std::unique_ptr<PlasmaField<Real>> make_plasma_field_cuda(const Device& device, const PlasmaOptions& options,
                                                          std::shared_ptr<Communicator> ranks);

}  // namespace pergola
