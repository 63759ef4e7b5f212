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
  double shot_noise = 0;       // of points at random; particles that began on a lattice or a glass have less
  std::vector<PowerBin> bins;  // rising
};

/// Cells per side of a mesh of about two per particle and axis, 32 to 256.
PERGOLA_API int usual_power_cells(std::int64_t particles);

/// The power spectrum of mass in a periodic cube: TSC assignment to two interlaced meshes of `cells` per side (a
/// multiple of 8), divided by the assignment's window. A mesh is trusted up to half its Nyquist wave number; beyond,
/// the box is folded onto half its side, `folds` times at most, and measured anew with the same cells: k reaches
/// 2^folds cells/4 times the box's own. Jenkins et al. 1998, ApJ 499, 20, section 4. On either device; on each the same
/// bits every time. Several `ranks`, always on CPUs: each gives its own particles and has a slab of the mesh, and all
/// get the bits of one; all call it.
PERGOLA_API PowerSpectrum power_spectrum(const Particles& particles, const Box& box, int cells, int folds,
                                         const Device& device,
                                         const std::shared_ptr<Communicator>& ranks = serial_communicator());
/// The same of particles where they live.
PERGOLA_API PowerSpectrum power_spectrum(const ShownParticles& particles, const Box& box, int cells, int folds,
                                         const std::shared_ptr<Communicator>& ranks = serial_communicator());

}  // namespace pergola
