#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "marks.hpp"
#include "mesh/mesh_fixture.hpp"
#include "mesh/poisson.hpp"
#include "mesh/slab_planes.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

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

/// Planes that ranks work on, some of them several ranks, some nobody, and some of them in each rank's slab or in none.
std::vector<PlaneRange> planes_worked_on(int ranks, int planes) {
  std::vector<PlaneRange> found;
  for (int rank = 0; rank < ranks; ++rank) {
    const int first = (3 * rank) % planes;
    found.push_back(rank % 4 == 3 ? PlaneRange{} : PlaneRange{first, std::min(1 + rank % 3, planes - first)});
  }
  return found;
}

// Rounds of several planes, and of one each (a plane of 8 MiB).
TEST(Slabs, PlanesWorkedOnComeFromWhoeverHasThemAndSumsGoBack) {
  constexpr int planes = 10, below = 1, above = 3;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{8} << 20})
    for (const auto beyond : {BeyondPlanes::wrap, BeyondPlanes::none, BeyondPlanes::one})
      for (const int ranks : {1, 2, 5, 13}) {
        const auto worked_on = planes_worked_on(ranks, planes);
        const int next = beyond == BeyondPlanes::one ? 1 : 0;
        const auto is_anywhere = [&](int plane) {
          return beyond == BeyondPlanes::wrap || (plane >= -next && plane < planes + next);
        };
        std::vector<std::int64_t> sums(planes + 2, 0), expected(planes + 2, 0);  // with those around
        std::mutex mutex;
        run_on_thread_ranks(ranks, [&](Communicator& communicator) {
          const SlabPlanes slab(communicator, planes);
          const PlaneRange own = worked_on[static_cast<std::size_t>(communicator.rank())];
          PlanesWorkedOn around(communicator, slab, worked_on, below, above, beyond, bytes, 8 << 20);
          std::vector<std::int64_t> kept(static_cast<std::size_t>(slab.count() + 2)), got;
          for (int k = 0; k < slab.count() + 2; ++k) kept[static_cast<std::size_t>(k)] = slab.first() + k - 1;
          got.assign(static_cast<std::size_t>(below + own.count + above), -100);
          std::int64_t* const first = got.data() + below;
          constexpr std::size_t value = sizeof(std::int64_t);
          for (auto& round : around.rounds())
            round.planes.fetch(communicator, Device::open("cpu", 1), reinterpret_cast<const std::byte*>(&kept[1]),
                               reinterpret_cast<std::byte*>(first), value);
          for (int k = -below; k < own.count + above && own.count > 0; ++k) {
            const int plane = own.first + k;
            EXPECT_EQ(first[k], !is_anywhere(plane)            ? -100
                                : beyond == BeyondPlanes::wrap ? (plane + planes) % planes
                                                               : plane);
          }
          for (auto& round : around.rounds()) {
            std::vector<std::int64_t> given;
            for (int k = round.begin; k < round.end; ++k) given.push_back(1000 * communicator.rank() + k + 17);
            const auto* const arrived = reinterpret_cast<const std::int64_t*>(
                round.planes.give(communicator, reinterpret_cast<const std::byte*>(given.data()), value));
            const std::lock_guard lock(mutex);
            for (std::size_t k = 0; k < round.planes.arriving().size(); ++k)
              sums[static_cast<std::size_t>(slab.first() + round.planes.arriving()[k] + 1)] += arrived[k];
          }
          const std::lock_guard lock(mutex);
          for (int k = -below; k < own.count + above && own.count > 0; ++k)
            if (is_anywhere(own.first + k)) {
              const int plane = beyond == BeyondPlanes::wrap ? (own.first + k + planes) % planes : own.first + k;
              expected[static_cast<std::size_t>(plane + 1)] += 1000 * communicator.rank() + k + 17;
            }
        });
        EXPECT_EQ(sums, expected) << ranks << " ranks";
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
