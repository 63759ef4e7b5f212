#pragma once
// CUDA only. Forces at places that are no particles', as roughly as an estimate needs them.
#include "mesh/coupling/deposit_cuda.cuh"

namespace pergola::cuda {

/// One component at a place: of the plane in whose cells it is, linear along x and y. So it is found by the rank that
/// has this plane. Nothing off the mesh.
template <class Real>
struct ForceAtPlace {
  SlabFrame<Real> frame;
  MeshPlaces<Real> places;
  Field<const Real> field;
  int component;

  __device__ void operator()(std::int64_t k) const {
    const Real position[3] = {places.x[k], places.y[k], places.z[k]};
    Real place[3], sum = 0;
    if (find_place<3>(frame, position, place)) {
      const auto x = physics::axis_weights<2, Real>(place[0]), y = physics::axis_weights<2, Real>(place[1]);
      const int cell = physics::axis_weights<1, Real>(place[2]).first;
      const std::int64_t plane = frame.grid_layers == 0 ? frame.wrapped(2, cell) : frame.layer_of(cell);
      for (int j = 0; j < 2; ++j) {
        const Real* const row = field.data + (plane * field.ny + frame.wrapped(1, y.first + j)) * field.pitch;
        for (int i = 0; i < 2; ++i)
          sum = physics::mul_add(x.weight[i] * y.weight[j], row[frame.wrapped(0, x.first + i)], sum);
      }
    }
    places.into[component][k] = sum;
  }
};

}  // namespace pergola::cuda
