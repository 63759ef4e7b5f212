#include <cmath>
#include <cstring>
#include <vector>

#include "comm/thread_ranks.hpp"
#include "device/buffer.hpp"
#include "mesh/poisson.hpp"
#include "mesh/slab_planes.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class PoissonSlabs : public DeviceTest {};

Grid grid_of(int nx, int ny, int nz, Boundary boundary = Boundary::periodic) {
  return {3, {nx, ny, nz}, {{0, 0, 0}, {1, 2, 1.5}, boundary}};
}

/// Any density of the cell (i, j, k).
double some_density(int i, int j, int k) { return 1 + std::sin(1.7 * i + 0.3 * j * j) * std::cos(2.1 * k + 0.9 * i); }

/// The potential in the cells of a rank's planes, into those of all.
template <class Real>
void solve(const Device& device, const Grid& grid, const std::shared_ptr<Communicator>& ranks, std::vector<Real>& all) {
  const int first = ranks ? SlabPlanes(*ranks, grid.cells[2]).first() : 0;
  PoissonFftOptions options;
  options.ranks = ranks;
  const auto solver = make_poisson_fft<Real>(device, grid, options);
  Field<Real> field = solver->layout();
  std::vector<Real> values(static_cast<std::size_t>(field.size()), Real(0));
  const auto each = [&](const auto& body) {
    for (int k = 0; k < (ranks ? field.nz : grid.cells[2]); ++k)
      for (int j = 0; j < grid.cells[1]; ++j)
        for (int i = 0; i < grid.cells[0]; ++i) {
          const std::int64_t cell = ((std::int64_t{first} + k) * grid.cells[1] + j) * grid.cells[0] + i;
          body(values[static_cast<std::size_t>(field.index(i, j, k))], all[static_cast<std::size_t>(cell)], i, j,
               first + k);
        }
  };
  each([](Real& value, Real&, int i, int j, int k) { value = static_cast<Real>(some_density(i, j, k)); });
  Buffer<Real> memory(device, values);
  Buffer<std::byte> scratch(device, solver->scratch_bytes());
  field.data = memory.data();
  solver->solve(field, 3.0, scratch.data());
  memory.to_host(values.data());
  each([](Real& value, Real& out, int, int, int) { out = value; });
}

template <class Real>
void expect_bits_of_one_rank(const DeviceTest& test, const Device& device, const Grid& grid,
                             const std::vector<int>& numbers) {
  std::vector<Real> one(static_cast<std::size_t>(grid.cell_count()), Real(0));
  solve<Real>(device, grid, nullptr, one);
  for (const int ranks : numbers) {
    std::vector<Real> several(one.size(), Real(0));
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      solve<Real>(Device::open(test.GetParam(), 1), grid, {&communicator, [](Communicator*) {}}, several);
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

INSTANTIATE_TEST_SUITE_P(Devices, PoissonSlabs, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola
