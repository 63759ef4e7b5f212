#pragma once
// CUDA only: the upward pass.
#include "device/device.hpp"
#include "tree/octree_cpu.hpp"

namespace pergola::tree {

/// As UpwardPass, on the device.
template <class T>
struct UpwardPassCuda {
  const CellLink* link = nullptr;
  const double *x = nullptr, *y = nullptr, *z = nullptr, *mass = nullptr;
  const double* epsilon2 = nullptr;
  double same_epsilon2 = 0;
  CellShape* shape = nullptr;
  CellExtent* extent = nullptr;
  T* scale = nullptr;
  T* multipole = nullptr;
  T *rx = nullptr, *ry = nullptr, *rz = nullptr, *rmass = nullptr, *repsilon2 = nullptr;
};

/// Centres, radii and multipoles of the cells begin … end − 1; their children are done.
template <class T>
void upward_cuda(const UpwardPassCuda<T>& pass, int order, std::uint32_t begin, std::uint32_t end, Stream stream);

}  // namespace pergola::tree
