#pragma once
/// The electrostatic field of a plasma in a periodic box, by FFT: on the CPU by the Poisson solver of mesh/, on GPUs by
/// plasma/electrostatic_cuda.cu.
///
/// φ_k = S(k)² ρ_k / k², E_k = −i k φ_k with S(k) = exp(−(k a)²/2) (Decyk 2007; Birdsall & Langdon 1985, section 4-8:
/// charge and force both smoothed). Its energy is ½ Σ_k V |ρ_k|² S(k)²/k². The fields follow from the charge: there is
/// no state. A small field on several GPUs is solved whole by every rank (plasma::has_whole_field).
#include <memory>

#include "plasma/field.hpp"

namespace pergola {

template <class Real>
std::unique_ptr<PlasmaField<Real>> make_electrostatic(const Device& device, const PlasmaOptions& options,
                                                      std::shared_ptr<Communicator> ranks);
/// The same on a GPU (plasma/electrostatic_cuda.cu); present if cuda_built.
template <class Real>
std::unique_ptr<PlasmaField<Real>> make_electrostatic_cuda(const Device& device, const PlasmaOptions& options,
                                                           std::shared_ptr<Communicator> ranks);

}  // namespace pergola
