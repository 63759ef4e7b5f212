#include <cmath>
#include <cstring>
#include <vector>

#include "comm/communicator.hpp"
#include "device/buffer.hpp"
#include "domain/device_messages.hpp"
#include "marks.hpp"
#include "mesh/poisson.hpp"
#include "mesh/slab_planes.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class PoissonSlabs : public DeviceTest {};

Grid grid_of(int nx, int ny, int nz, Boundary boundary = Boundary::periodic) {
  return {3, {nx, ny, nz}, {{0, 0, 0}, {1, 2, 1.5}, boundary}};
}

/// Any density of the cell (i, j, k).
double some_density(int i, int j, int k) { return 1 + std::sin(1.7 * i + 0.3 * j * j) * std::cos(2.1 * k + 0.9 * i); }

/// The potential in the cells of a rank's planes, into those of all; of a spectral gradient forces too, by way of the
/// modes.
template <class Real>
void solve(const Device& device, const Grid& grid, const PoissonFftOptions& options, std::vector<Real>& all) {
  const auto& ranks = options.ranks;
  const int first = ranks ? SlabPlanes(*ranks, grid.cells[2]).first() : 0;
  const auto solver = make_poisson_fft<Real>(device, grid, options);
  Field<Real> field = solver->layout();
  std::vector<Real> values(static_cast<std::size_t>(field.size()), Real(0));
  std::int64_t what = 0;
  const auto each = [&](const auto& body) {
    for (int k = 0; k < (ranks ? field.nz : grid.cells[2]); ++k)
      for (int j = 0; j < grid.cells[1]; ++j)
        for (int i = 0; i < grid.cells[0]; ++i) {
          const std::int64_t cell = ((what * grid.cells[2] + first + k) * grid.cells[1] + j) * grid.cells[0] + i;
          body(values[static_cast<std::size_t>(field.index(i, j, k))], all[static_cast<std::size_t>(cell)], i, j,
               first + k);
        }
  };
  each([](Real& value, Real&, int i, int j, int k) { value = static_cast<Real>(some_density(i, j, k)); });
  const auto take = [&](const Field<Real>& from) {
    if (!values.empty()) device.memory().to_host(values.data(), from.data, values.size() * sizeof(Real));
    each([](Real& value, Real& out, int, int, int) { out = value; });
  };
  if (!options.spectral_force) {
    Buffer<Real> memory(device, values);
    Buffer<std::byte> scratch(device, solver->scratch_bytes());
    field.data = memory.data();
    solver->solve(field, 3.0, scratch.data());
    return take(field);
  }
  Buffer<std::byte> work(device, solver->mode_work_bytes());
  Buffer<Real> memory[3];
  for (auto& one : memory) one = Buffer<Real>(device, solver->mode_values());
  Field<Real> modes = field, to = field, spare = field;
  modes.data = memory[0].data(), to.data = memory[1].data(), spare.data = memory[2].data();
  if (!values.empty()) device.memory().from_host(modes.data, values.data(), values.size() * sizeof(Real));
  solver->find_modes(modes, spare, 3.0, work.data());
  for (const int axis : {2, 0, 1, 3}) {
    solver->from_modes(axis, modes, to, spare, work.data());
    what = axis;
    take(to);
  }
}

/// `most_bytes`: of an exchange between GPUs; 0: what is usual.
template <class Real>
void expect_bits_of_one_rank(const DeviceTest& test, const Device& device, const Grid& grid,
                             const std::vector<int>& numbers, PoissonFftOptions options = {},
                             std::int64_t most_bytes = 0) {
  std::vector<Real> one(static_cast<std::size_t>(4 * grid.cell_count()), Real(0));
  solve<Real>(device, grid, options, one);
  for (const int ranks : numbers) {
    std::vector<Real> several(one.size(), Real(0));
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      const Device own = Device::open(test.GetParam(), 1);
      PoissonFftOptions with_ranks = options;
      with_ranks.ranks = {&communicator, [](Communicator*) {}};
      if constexpr (cuda_built)
        if (most_bytes > 0)
          with_ranks.messages =
              std::make_shared<DeviceMessages>(own, with_ranks.ranks, DeviceMessages::Rooms::two, most_bytes);
      solve<Real>(own, grid, with_ranks, several);
      communicator.barrier();  // all have taken what is in the rooms of messages
    });
    EXPECT_EQ(std::memcmp(several.data(), one.data(), one.size() * sizeof(Real)), 0)
        << ranks << " ranks, " << grid.cells[0] << " cells along x";
  }
}

// Reference: one rank, whose field is whole. Ranks have from all planes to none.
TEST_P(PoissonSlabs, HaveTheBitsOfOneRankWhateverTheirThickness) {
  for (const auto& grid : {grid_of(24, 20, 30), grid_of(16, 50, 64)}) {
    expect_bits_of_one_rank<float>(*this, device(1), grid, {1, 2, 3, 4, 7, 40});
    expect_bits_of_one_rank<double>(*this, device(1), grid, {1, 2, 3, 4, 7, 40});
  }
}

// Lines of 64 cells, half of them padding, are transformed in one pass on a GPU.
TEST_P(PoissonSlabs, HaveTheBitsOfOneRankInAnIsolatedBox) {
  const Grid grid = grid_of(12, 20, 32, Boundary::isolated);
  expect_bits_of_one_rank<float>(*this, device(1), grid, {1, 2, 7, 40});
  expect_bits_of_one_rank<double>(*this, device(1), grid, {3, 4});
  if (GetParam() == "cuda") {
    expect_bits_of_one_rank<float>(*this, device(1), grid_of(128, 128, 128, Boundary::isolated), {3});
    expect_bits_of_one_rank<float>(*this, device(1), grid_of(192, 192, 48, Boundary::isolated), {4});
    expect_bits_of_one_rank<double>(*this, device(1), grid_of(128, 128, 64, Boundary::isolated), {3});
  }
}

// Of planes of such sizes cuFFT transforms few with other kernels than many.
TEST_P(PoissonSlabs, HaveTheBitsOfOneRankWherePlansDependOnTheNumberOfPlanes) {
  expect_bits_of_one_rank<float>(*this, device(1), grid_of(128, 128, 128), {3, 4});
  if (GetParam() == "cuda") {
    expect_bits_of_one_rank<float>(*this, device(1), grid_of(256, 256, 256), {4, 7});
    expect_bits_of_one_rank<float>(*this, device(1), grid_of(512, 512, 64), {7});
    expect_bits_of_one_rank<double>(*this, device(1), grid_of(256, 256, 64), {3});
  }
}

// Rooms hold one plane of each rank, or some: those of the two fields that come back together end within a piece.
TEST_P(PoissonSlabs, HaveTheBitsOfOneRankWhereFieldsTravelInPieces) {
  if (GetParam() != "cuda") GTEST_SKIP() << "on GPUs";
  PoissonFftOptions spectral;
  spectral.spectral_force = true, spectral.laplacian = Laplacian::spectral;
  for (const std::int64_t bytes : {1000, 40000, 1 << 20}) {
    expect_bits_of_one_rank<float>(*this, device(1), grid_of(16, 50, 64), {2, 7, 40}, {}, bytes);
    expect_bits_of_one_rank<float>(*this, device(1), grid_of(16, 50, 64), {2, 7, 40}, spectral, bytes);
    expect_bits_of_one_rank<double>(*this, device(1), grid_of(24, 20, 30), {3, 4}, spectral, bytes);
    expect_bits_of_one_rank<float>(*this, device(1), grid_of(12, 20, 32, Boundary::isolated), {3}, {}, bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, PoissonSlabs, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola
