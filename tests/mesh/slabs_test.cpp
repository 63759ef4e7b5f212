#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/thread_ranks.hpp"
#include "mesh/mesh_fixture.hpp"
#include "mesh/poisson.hpp"
#include "mesh/slab_planes.hpp"

namespace pergola {
namespace {

std::shared_ptr<Communicator> shared(Communicator& communicator) {
  return {&communicator, [](Communicator*) {}};
}

/// The planes around a slab as a rank sees them: each holds its own number.
void expect_planes_around(int ranks, int planes, int below, int above, BeyondPlanes beyond = BeyondPlanes::wrap) {
  constexpr std::int64_t nowhere = -100;
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    const SlabPlanes slab(communicator, planes);
    PlanesAround around(communicator, slab, below, above, beyond);
    std::vector<std::int64_t> values(static_cast<std::size_t>(below + slab.count() + above), nowhere);
    std::int64_t* const first = values.data() + below;
    for (int k = 0; k < slab.count(); ++k) first[k] = slab.first() + k;
    const auto expected = [&](int plane) -> std::int64_t {
      if (beyond == BeyondPlanes::wrap) return (plane + planes) % planes;
      const int next = beyond == BeyondPlanes::one ? 1 : 0;
      return plane < -next || plane >= planes + next ? nowhere : plane;
    };
    if (beyond == BeyondPlanes::one && slab.count() > 0) {
      if (slab.first() == 0) first[-1] = -1;
      if (slab.first() + slab.count() == planes) first[slab.count()] = planes;
    }
    around.fetch(communicator, Device::open("cpu", 1), reinterpret_cast<std::byte*>(first), sizeof *first);
    if (slab.count() == 0) return;
    for (int k = -below; k < slab.count() + above; ++k)
      EXPECT_EQ(first[k], expected(slab.first() + k)) << ranks << " ranks, plane " << k;
  });
}

TEST(Slabs, PlanesAroundComeFromWhoeverHasThem) {
  expect_planes_around(1, 8, 2, 5);
  expect_planes_around(2, 8, 2, 5);
  expect_planes_around(3, 10, 1, 2);
  expect_planes_around(7, 8, 2, 4);
  expect_planes_around(64, 8, 2, 4);
  for (const auto beyond : {BeyondPlanes::none, BeyondPlanes::one}) {
    expect_planes_around(1, 8, 2, 5, beyond);
    expect_planes_around(3, 10, 2, 3, beyond);
    expect_planes_around(20, 8, 2, 4, beyond);
  }
}

TEST(Slabs, PlanesBeyondGoToWhoeverHasThem) {
  for (const int ranks : {1, 2, 3, 8, 20}) {
    constexpr int planes = 8, above = 3;
    std::vector<std::int64_t> sums(planes, 0), expected(planes, 0);
    std::mutex mutex;
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      const SlabPlanes slab(communicator, planes);
      PlanesAround around(communicator, slab, 0, above);
      std::vector<std::int64_t> beyond;
      {
        const std::lock_guard lock(mutex);
        for (int k = 0; k < above && slab.count() > 0; ++k) {
          beyond.push_back(1000 * communicator.rank() + k + 1);
          expected[static_cast<std::size_t>((slab.first() + slab.count() + k) % planes)] += beyond.back();
        }
      }
      const auto* const arrived = reinterpret_cast<const std::int64_t*>(
          around.give(communicator, reinterpret_cast<const std::byte*>(beyond.data()), sizeof(std::int64_t)));
      const std::lock_guard lock(mutex);
      for (std::size_t k = 0; k < around.arriving().size(); ++k)
        sums[static_cast<std::size_t>(slab.first() + around.arriving()[k])] += arrived[k];
    });
    EXPECT_EQ(sums, expected) << ranks;
  }
}

/// Any density of the cell (i, j, k).
double some_density(int i, int j, int k) { return 1 + std::sin(1.7 * i + 0.3 * j * j) * std::cos(2.1 * k + 0.9 * i); }

/// The potential and the force along each axis in the cells of the planes of a rank, in two dimensions of its rows,
/// into those of all; in three the forces that are found together and their potential too.
template <class Real>
void solve(const Grid& grid, std::shared_ptr<Communicator> ranks, int unit, std::vector<Real>& all) {
  const Device device = Device::open("cpu", 1);
  const bool flat = grid.dimensions == 2;
  const int first = ranks ? SlabPlanes(*ranks, grid.cells[flat ? 1 : 2], unit).first() : 0;
  const int first_row = flat ? first : 0, first_plane = flat ? 0 : first;
  PoissonFftOptions options;
  options.spectral_force = true, options.ranks = std::move(ranks), options.slab_unit = unit;
  const auto solver = make_poisson_fft<Real>(device, grid, options);
  Field<Real> field = solver->layout();
  Buffer<Real> memory(device, field.size());
  Buffer<std::byte> scratch(device, solver->scratch_bytes());
  field.data = memory.data();
  const auto each = [&](int what, const auto& body) {
    for (int k = 0; k < field.nz; ++k)
      for (int j = 0; j < field.ny; ++j)
        for (int i = 0; i < field.nx; ++i)
          body(field.data[field.index(i, j, k)],
               all[static_cast<std::size_t>(
                   ((std::int64_t{what} * grid.cells[2] + first_plane + k) * grid.cells[1] + first_row + j) * field.nx +
                   i)],
               Vec3<int>{i, first_row + j, first_plane + k});
  };
  each(0, [](Real& in_field, Real&, Vec3<int> cell) {
    in_field = static_cast<Real>(some_density(cell.x, cell.y, cell.z));
  });
  solver->solve(field, 3.0, scratch.data());
  const auto take = [](Real& in_field, Real& out, Vec3<int>) { out = in_field; };
  each(0, take);
  for (int axis = 0; axis < grid.dimensions; ++axis) {
    solver->spectral_force(axis, field, scratch.data());
    each(axis + 1, take);
  }
  if (flat) return;
  Buffer<Real> more(device, field.size());
  Field<Real> across = field;
  across.data = more.data();
  each(0, [](Real& in_field, Real&, Vec3<int> cell) {
    in_field = static_cast<Real>(some_density(cell.x, cell.y, cell.z));
  });
  solver->solve_for_forces(field, across, 3.0, scratch.data());
  EXPECT_THROW(solver->spectral_force(2, across, scratch.data()), Error);
  solver->give_forces(field, across, scratch.data(), [&](const ForceRows<Real>& rows) {
    for (int axis = 0; axis < 3; ++axis)
      for (int k = 0; k < rows.count; ++k) {
        const std::int64_t row =
            (std::int64_t{4 + axis} * grid.cells[2] + first_plane + rows.plane) * grid.cells[1] + rows.first + k;
        std::copy_n(rows.along[axis] + k * rows.pitch, field.nx, all.begin() + row * field.nx);
      }
  });
  solver->spectral_force(3, field, scratch.data());
  each(7, take);
}

// Ranks have from all planes to none, and columns that end within the last batch.
template <class Real>
void expect_transforms_of_one_rank(const Grid& grid, int unit) {
  const std::int64_t cells = grid.cell_count();
  std::vector<Real> one(static_cast<std::size_t>(8 * cells), Real(0));
  solve<Real>(grid, nullptr, unit, one);
  const auto value = [&](std::int64_t what, std::int64_t cell) {
    return one[static_cast<std::size_t>(what * cells + cell)];
  };
  for (std::int64_t cell = 0; cell < cells && grid.dimensions == 3; ++cell) {
    for (int axis = 0; axis < 3; ++axis)
      ASSERT_NEAR(value(4 + axis, cell), value(1 + axis, cell), 64 * std::numeric_limits<Real>::epsilon());
    ASSERT_EQ(value(7, cell), value(0, cell));
  }
  for (const int ranks : {1, 2, 3, 7, 16, 40}) {
    std::vector<Real> several(one.size(), Real(0));
    run_on_thread_ranks(ranks,
                        [&](Communicator& communicator) { solve<Real>(grid, shared(communicator), unit, several); });
    EXPECT_EQ(std::memcmp(several.data(), one.data(), one.size() * sizeof(Real)), 0) << ranks;
  }
}

TEST(Slabs, TransformsHaveTheBitsOfOneRankWhateverTheirThickness) {
  const Grid grid{3, {24, 20, 30}, {{0, 0, 0}, {1, 2, 1.5}, Boundary::periodic}};
  expect_transforms_of_one_rank<float>(grid, 1);
  expect_transforms_of_one_rank<double>(grid, 1);
  expect_transforms_of_one_rank<float>(grid, 8);  // the last unit has six
}

TEST(Slabs, TransformsOfRowsHaveTheBitsOfOneRank) {
  const Grid grid{2, {42, 104, 1}, {{0, 0, 0}, {1, 2, 1}, Boundary::periodic}};
  expect_transforms_of_one_rank<float>(grid, 16);  // the last unit has eight
  expect_transforms_of_one_rank<double>(grid, 32);
}

TEST(Slabs, RowsAreSharedOutInWholeBatches) {
  const Grid grid{2, {8, 8, 1}, {{0, 0, 0}, {1, 1, 1}, Boundary::periodic}};
  PoissonFftOptions options;
  options.ranks = serial_communicator(), options.slab_unit = 8;
  EXPECT_THROW(make_poisson_fft<float>(Device::open("cpu", 1), grid, options), Error);
}

}  // namespace
}  // namespace pergola
