// Places of groups of particles, where the mesh of TreePM is asked for forces.
//
// A group is a cell with few enough particles below a larger one (is_group). The mesh answers at the group's centre;
// the answer is the long-range part of the acceleration that the opening test compares with. Groups come in any order,
// as each answer goes back to its own cell.
#include "tree/group_places_cuda.cuh"

#include "device/launch.cuh"
#include "tree/estimate.hpp"

namespace pergola::tree {

template <class T, class Real>
void find_groups_cuda(const Device& device, const OctreeCuda<T>& tree, std::int64_t own, GroupPlaces<Real>& to) {
  to.count = 0;
  if (tree.count() == 0) return;
  const CudaTree<T> of = tree.view();
  device.memory().zero(to.counter, sizeof *to.counter);
  cuda::launch("groups of a tree", tree.cells(), device.stream(),
               [record = of.record, link = of.link, parent = of.parent, order = tree.order(), own,
                corner = tree.frame().corner, side = tree.frame().side, to] __device__(std::int64_t c) {
                 if (!is_group(link, parent, static_cast<std::uint32_t>(c)) || order[link[c].first] >= own) return;
                 const std::uint32_t k = atomicAdd(to.counter, 1u);
                 const CellRecord at = record[c];
                 to.cell[k] = static_cast<std::uint32_t>(c);
                 to.x[k] = static_cast<Real>(corner.x + side * at.x);
                 to.y[k] = static_cast<Real>(corner.y + side * at.y);
                 to.z[k] = static_cast<Real>(corner.z + side * at.z);
               });
  std::uint32_t found = 0;
  device.memory().to_host(&found, to.counter, sizeof found);
  to.count = found;
}

template <class Real>
void set_rest_cuda(const Device& device, const GroupPlaces<Real>& groups, int axis, double unit, float* rest) {
  cuda::launch("rest of groups", groups.count, device.stream(),
               [cell = groups.cell, from = groups.acceleration[axis], unit, rest] __device__(std::int64_t k) {
                 rest[cell[k]] = static_cast<float>(unit * static_cast<double>(from[k]));
               });
}

template void find_groups_cuda(const Device&, const OctreeCuda<float>&, std::int64_t, GroupPlaces<float>&);
template void find_groups_cuda(const Device&, const OctreeCuda<float>&, std::int64_t, GroupPlaces<double>&);
template void find_groups_cuda(const Device&, const OctreeCuda<double>&, std::int64_t, GroupPlaces<double>&);
template void set_rest_cuda(const Device&, const GroupPlaces<float>&, int, double, float*);
template void set_rest_cuda(const Device&, const GroupPlaces<double>&, int, double, float*);

}  // namespace pergola::tree
