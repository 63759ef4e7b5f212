#include "mesh/exchange_loops.hpp"

namespace pergola::exchange {

template <class Real>
Walk<Real>::Walk(const Grid& grid, Assignment assignment) : frame(grid), order(static_cast<int>(assignment)) {
  const bool flat = grid.dimensions == 2;
  nx = grid.cells[0];
  rows = flat ? 1 : grid.cells[1];
  layers = flat ? grid.cells[1] : grid.cells[2];
  ghosts = order - 1;
  ghost_rows = flat ? 0 : ghosts;
  row_cells = nx + ghosts;
  layer_cells = row_cells * (rows + ghost_rows);
}

namespace {

/// The cloud of one particle.
template <int dimensions, int order, class Real>
struct Cloud {
  physics::AxisWeights<order, Real> weights[3];
  bool on_mesh = true;

  Cloud(const CellFrame<Real>& frame, const MeshParticles<Real>& particles, std::int64_t i) {
    const Real position[3] = {particles.x[i], particles.y[i], dimensions == 3 ? particles.z[i] : Real(0)};
    Real place[3] = {};
    for (int axis = 0; axis < dimensions; ++axis) {
      place[axis] = frame.place(axis, position[axis]);
      on_mesh = on_mesh && frame.holds(axis, place[axis]);
    }
    if (!on_mesh) return;
    for (int axis = 0; axis < dimensions; ++axis) {
      weights[axis] = physics::axis_weights<order>(place[axis]);
      weights[axis].first = frame.wrapped(axis, weights[axis].first);
    }
  }
  int first_layer() const { return weights[dimensions - 1].first; }
  /// Its first cell in an array with ghosts, from the beginning of its first layer.
  std::int64_t first_in_layer(const Walk<Real>& walk) const {
    return (dimensions == 3 ? weights[1].first * walk.row_cells : 0) + weights[0].first;
  }
};

template <int dimensions, int order, class Real>
void find_layers_of(const Walk<Real>& walk, const MeshParticles<Real>& particles, std::int64_t begin, std::int64_t end,
                    int* layers) {
  for (std::int64_t i = begin; i < end; ++i) {
    const Cloud<dimensions, order, Real> cloud(walk.frame, particles, i);
    layers[i - begin] = cloud.on_mesh ? cloud.first_layer() : off_mesh;
  }
}

template <int dimensions, int order, class Real>
void deposit(const Walk<Real>& walk, const MeshParticles<Real>& particles, const std::uint32_t* index,
             std::int64_t count, double per_quantum, int first_layer, std::int64_t* sums) {
  const std::int64_t row_step = dimensions == 3 ? walk.row_cells : walk.layer_cells;
  for (std::int64_t k = 0; k < count; ++k) {
    const Cloud<dimensions, order, Real> cloud(walk.frame, particles, index[k]);
    std::int64_t* const corner =
        sums + (cloud.first_layer() - first_layer) * walk.layer_cells + cloud.first_in_layer(walk);
    share_out<dimensions>(cloud.weights[0], cloud.weights[1], cloud.weights[2],
                          physics::quanta(particles.mass[index[k]], per_quantum),
                          [&](int kx, int ky, int kz, std::int64_t share) {
                            corner[kz * walk.layer_cells + ky * row_step + kx] += share;
                          });
  }
}

template <int dimensions, int order, class Real>
bool gather(const Walk<Real>& walk, const MeshParticles<Real>& particles, const std::int64_t* index, std::int64_t begin,
            std::int64_t end, const CellForce<Real>* cells, const MeshForces<Real>& forces) {
  bool any_off = false;
  for (std::int64_t k = begin; k < end; ++k) {
    const Cloud<dimensions, order, Real> cloud(walk.frame, particles, index ? index[k] : k);
    Real sum[3] = {};
    any_off |= !cloud.on_mesh;
    if (cloud.on_mesh) {
      const CellForce<Real>* const corner = cells + cloud.first_layer() * walk.layer_cells + cloud.first_in_layer(walk);
      const auto& wy = cloud.weights[1];
      const auto& wz = cloud.weights[dimensions - 1];
      for (int kz = 0; kz < order; ++kz)
        for (int ky = 0; ky < (dimensions == 3 ? order : 1); ++ky) {
          const Real yz = dimensions == 3 ? wy.weight[ky] * wz.weight[kz] : wz.weight[kz];
          for (int kx = 0; kx < order; ++kx) {
            const Real w = cloud.weights[0].weight[kx] * yz;
            const CellForce<Real>& cell = corner[kz * walk.layer_cells + ky * walk.row_cells + kx];
            for (int a = 0; a < 3; ++a) sum[a] += w * cell.along[a];
          }
        }
    }
    if (forces.ax) forces.ax[k] = sum[0];
    if (forces.ay) forces.ay[k] = sum[dimensions - 1 == 2 ? 1 : 2];
    if (forces.az) forces.az[k] = dimensions == 3 ? sum[2] : Real(0);
  }
  return any_off;
}

template <int dimensions, int order, class Real>
bool gather_field(const Walk<Real>& walk, const MeshParticles<Real>& particles, const std::int64_t* index,
                  std::int64_t begin, std::int64_t end, const Field<const Real>& field, Real* result) {
  const CellFrame<Real>& frame = walk.frame;
  bool any_off = false;
  for (std::int64_t k = begin; k < end; ++k) {
    const Cloud<dimensions, order, Real> cloud(frame, particles, index ? index[k] : k);
    any_off |= !cloud.on_mesh;
    Real sum = 0;
    if (cloud.on_mesh)
      for (int kz = 0; kz < (dimensions == 3 ? order : 1); ++kz)
        for (int ky = 0; ky < order; ++ky)
          for (int kx = 0; kx < order; ++kx) {
            const auto& [x, y, z] = cloud.weights;
            const Real yz = dimensions == 3 ? y.weight[ky] * z.weight[kz] : y.weight[ky];
            const int iz = dimensions == 3 ? frame.wrapped(2, z.first + kz) : 0;
            sum += x.weight[kx] * yz *
                   field.data[field.index(frame.wrapped(0, x.first + kx), frame.wrapped(1, y.first + ky), iz)];
          }
    result[k] = sum;
  }
  return any_off;
}

/// Calls body<dimensions, order>.
template <class Real, class Body>
auto choose(const Walk<Real>& walk, const Body& body) {
  if (walk.frame.dimensions == 2) switch (walk.order) {
      case 1:
        return body.template operator()<2, 1>();
      case 2:
        return body.template operator()<2, 2>();
      default:
        return body.template operator()<2, 3>();
    }
  switch (walk.order) {
    case 1:
      return body.template operator()<3, 1>();
    case 2:
      return body.template operator()<3, 2>();
    default:
      return body.template operator()<3, 3>();
  }
}

}  // namespace

template <class Real>
void find_layers(const Walk<Real>& walk, const MeshParticles<Real>& particles, std::int64_t begin, std::int64_t end,
                 int* layers) {
  choose(walk,
         [&]<int dimensions, int order>() { find_layers_of<dimensions, order>(walk, particles, begin, end, layers); });
}

template <class Real>
void find_cells(const Walk<Real>& walk, const MeshParticles<Real>& particles, std::int64_t begin, std::int64_t end,
                std::uint32_t* cells) {
  const auto find = [&]<int dimensions>() {
    for (std::int64_t i = begin; i < end; ++i) {
      const Cloud<dimensions, 1, Real> cloud(walk.frame, particles, i);
      const std::int64_t cell =
          (std::int64_t{cloud.first_layer()} * walk.rows + (dimensions == 3 ? cloud.weights[1].first : 0)) * walk.nx +
          cloud.weights[0].first;
      const std::int64_t none = std::int64_t{walk.layers} * walk.rows * walk.nx;
      cells[i - begin] = static_cast<std::uint32_t>(cloud.on_mesh ? cell : none);
    }
  };
  if (walk.frame.dimensions == 3)
    find.template operator()<3>();
  else
    find.template operator()<2>();
}

template <class Real>
void deposit_particles(const Walk<Real>& walk, const MeshParticles<Real>& particles, const std::uint32_t* index,
                       std::int64_t count, double per_quantum, int first_layer, std::int64_t* sums) {
  choose(walk, [&]<int dimensions, int order>() {
    deposit<dimensions, order>(walk, particles, index, count, per_quantum, first_layer, sums);
  });
}

template <class Real>
bool gather_forces(const Walk<Real>& walk, const MeshParticles<Real>& particles, const std::int64_t* index,
                   std::int64_t begin, std::int64_t end, const CellForce<Real>* cells, const MeshForces<Real>& forces) {
  return choose(walk, [&]<int dimensions, int order>() {
    return gather<dimensions, order>(walk, particles, index, begin, end, cells, forces);
  });
}

template <class Real>
bool gather_potential(const Walk<Real>& walk, const MeshParticles<Real>& particles, const std::int64_t* index,
                      std::int64_t begin, std::int64_t end, const Field<const Real>& potential, Real* result) {
  return choose(walk, [&]<int dimensions, int order>() {
    return gather_field<dimensions, order>(walk, particles, index, begin, end, potential, result);
  });
}

template struct Walk<float>;
template struct Walk<double>;
template void find_layers(const Walk<float>&, const MeshParticles<float>&, std::int64_t, std::int64_t, int*);
template void find_layers(const Walk<double>&, const MeshParticles<double>&, std::int64_t, std::int64_t, int*);
template void find_cells(const Walk<float>&, const MeshParticles<float>&, std::int64_t, std::int64_t, std::uint32_t*);
template void find_cells(const Walk<double>&, const MeshParticles<double>&, std::int64_t, std::int64_t, std::uint32_t*);
template void deposit_particles(const Walk<float>&, const MeshParticles<float>&, const std::uint32_t*, std::int64_t,
                                double, int, std::int64_t*);
template void deposit_particles(const Walk<double>&, const MeshParticles<double>&, const std::uint32_t*, std::int64_t,
                                double, int, std::int64_t*);
template bool gather_forces(const Walk<float>&, const MeshParticles<float>&, const std::int64_t*, std::int64_t,
                            std::int64_t, const CellForce<float>*, const MeshForces<float>&);
template bool gather_forces(const Walk<double>&, const MeshParticles<double>&, const std::int64_t*, std::int64_t,
                            std::int64_t, const CellForce<double>*, const MeshForces<double>&);
template bool gather_potential(const Walk<float>&, const MeshParticles<float>&, const std::int64_t*, std::int64_t,
                               std::int64_t, const Field<const float>&, float*);
template bool gather_potential(const Walk<double>&, const MeshParticles<double>&, const std::int64_t*, std::int64_t,
                               std::int64_t, const Field<const double>&, double*);

}  // namespace pergola::exchange
