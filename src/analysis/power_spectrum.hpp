#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "base/host_device.hpp"
#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "particles/box.hpp"
#include "particles/particles.hpp"
#include "particles/shown_particles.hpp"

// The power spectrum of mass in a periodic cube, and the analysis `power`.
// Method: TSC assignment to two interlaced meshes, transform, division by the window of the assignment, mean over
// shells. A mesh is used up to half its Nyquist wave number. For larger wave numbers the box is folded onto half its
// side and measured again with the same cells: k reaches 2^folds cells/4 times the box's own. Jenkins et al. 1998, ApJ
// 499, 20, section 4.
// What always holds: mass is added in fixed-point units. On each device the bits are the same every time, for any
// number of threads and ranks.
namespace pergola {

/// A shell of wave numbers.
struct PowerBin {
  double k = 0;            // mean over the modes
  std::int64_t modes = 0;  // k and −k are two
  double power = 0;        // as measured: nothing is taken off for the number of particles
  double error = 0;        // of a Gaussian field
  int fold = 0;            // how often the box was halved
};

struct PowerSpectrum {
  double shot_noise = 0;       // of random points; a lattice or glass has less
  std::vector<PowerBin> bins;  // rising
};

/// Cells per side for about two per particle and axis: a power of two from 32 to 256.
PERGOLA_API int usual_power_cells(std::int64_t particles);

/// `cells`: per side, a multiple of 8. `folds`: the number of times that the box is folded. Several ranks, always on
/// CPUs: each has its own particles and a slab of the mesh. Collective.
PERGOLA_API PowerSpectrum power_spectrum(const Particles& particles, const Box& box, int cells, int folds,
                                         const Device& device,
                                         const std::shared_ptr<Communicator>& ranks = serial_communicator());
/// The same for an output view of particles, on their device.
PERGOLA_API PowerSpectrum power_spectrum(const ShownParticles& particles, const Box& box, int cells, int folds,
                                         const std::shared_ptr<Communicator>& ranks = serial_communicator());

}  // namespace pergola
