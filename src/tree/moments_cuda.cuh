#pragma once
// CUDA only: the upward pass (centres, radii and multipoles, from the leaves up), and the estimated accelerations for
// the opening test. Formulas as on the CPU (tree/shape.hpp, physics/expansion.inl); sums go over lanes in a fixed
// order.
#include "device/device.hpp"
#include "tree/cells_cuda.cuh"
#include "tree/octree_cpu.hpp"
#include "tree/roots_cuda.cuh"
#include "tree/walk.hpp"

namespace pergola::tree {

/// Box of the particles of a cell from its centre, and the mean of |d|² over its mass.
struct BoxAbout {
  float low[3], high[3];
  float second;
};

/// The data of the upward pass.
template <class T>
struct UpwardPassCuda {
  Frame frame;
  Vec3<double> period{0, 0, 0};          // above 0: particles are taken at their images near where their leaf was built
  const std::uint64_t* upper = nullptr;  // for that: keys when it was built, in the tree's order
  int digit_level = SofteningDigit::no_digit;
  const std::uint32_t* place = nullptr;  // among the points, in the tree's order
  double species_epsilon2[6] = {};       // in the tree's units
  double same_epsilon2 = 0;
  SofteningKernel kernel = SofteningKernel::plummer;
  const CellLink* link = nullptr;
  CellRecord* record = nullptr;
  BoxAbout* box = nullptr;
  T* row = nullptr;
  PlacedMass<T>* particle = nullptr;
  T* softening = nullptr;  // physics::softening_number; null: same_epsilon2 for all
};

/// The upward pass of the leaves among the cells 0 … cells − 1.
template <class T, class Real>
void leaves_cuda(const UpwardPassCuda<T>& pass, const Points<Real>& points, int order, std::uint32_t cells,
                 Stream stream);
/// The upward pass of the parents among the cells begin … end − 1, after that of their children.
template <class T>
void parents_cuda(const UpwardPassCuda<T>& pass, int order, std::uint32_t begin, std::uint32_t end, Stream stream);

/// Accelerations of groups and of all cells above them, the smallest of those below; tree/estimate.hpp. Where ranks
/// have parts of the tree: `not_own` says of the first `top` cells that they hold no particles of this rank, and what
/// is not here is missing.
struct PartOfTree {
  const std::uint8_t* not_own = nullptr;
  std::uint32_t top = 0;
  MissingCells missing;
};
void estimate_cuda(const CellRecord* record, const CellLink* link, const std::uint32_t* parent, std::uint32_t cells,
                   float* acceleration, Stream stream, const PartOfTree& part = {});

/// The same from estimates that particles bring along, by place; `cells` has those of the top.
void take_estimates_cuda(const CellLink* link, const std::uint32_t* parent, std::uint32_t cells,
                         const std::uint32_t* place, const double* of_particle, float* acceleration, Stream stream,
                         const PartOfTree& part = {});

/// The acceleration without the short range, for the estimate: the mean over the particles of each
/// group, in the tree's units. Per cell.
struct RestOfAcceleration {
  const float* axis[3] = {};
};
/// One axis of it, from accelerations per source times `unit`; place: the sources in the tree's order.
template <class Real>
void mean_rest_cuda(const CellLink* link, const std::uint32_t* parent, std::uint32_t cells, const std::uint32_t* place,
                    const Real* acceleration, double unit, float* mean, Stream stream);
/// The same in a periodic box, from the short range and the rest.
void estimate_cuda(const CellRecord* record, const CellLink* link, const std::uint32_t* parent, const RootsView& roots,
                   std::uint32_t cells, const ShortRangeBox<float>& box, const RestOfAcceleration& rest,
                   float* acceleration, Stream stream);

}  // namespace pergola::tree
