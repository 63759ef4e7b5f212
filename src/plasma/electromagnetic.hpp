#pragma once
/// The electromagnetic field of a plasma in a box, by finite differences in time and space (Yee's scheme).
///
/// A step: (1) B half a step, (2) E a step with ∇×B and the moved charge, (3) B the other half. So E and B are both at
/// whole steps when particles gather them. The state is E and B; the start solves Gauss's law of the scheme, ∇·E = ρ
/// less its mean, by an FFT with the discrete Laplacian, and gives B the uniform field of the options. As currents
/// satisfy continuity, Gauss's law then holds to the rounding of E, and ∇·B stays as it was.
/// Antennas, planes of current, send out the lasers of the options; a clock on the device times them in recorded steps.
/// An end that is not periodic is a conductor at the first grid point of its axis, which is both ends, with absorbing
/// layers (convolutional, perfectly matched) in front of it or without. There the field starts as in the periodic box;
/// what does not fit leaves as a wave in the first steps.
/// With ranks, E travels once a step, in so many layers that each rank computes B around its slab by itself.
#include <memory>

#include "plasma/field.hpp"

namespace pergola {

/// On any device. Throws Error(input) for options without light, with two velocities or with smoothing.
template <class Real>
std::unique_ptr<PlasmaField<Real>> make_electromagnetic(const Device& device, const PlasmaOptions& options,
                                                        std::shared_ptr<Communicator> ranks);

}  // namespace pergola
