// Poisson's equation by FFT: what both devices share. Each axis has a table of eigenvalues of the Laplacian, windows
// and wave numbers; the product of a mode with its Green factor solves the equation. Periodic box: the factor is 1 /
// eigenvalue, divided by the window of the cloud if that is wanted. Isolated box: the mesh is doubled along each axis,
// and the factor is the transform of the Green function of open space (Hockney & Eastwood 1988), which is even: cosine
// transforms find it. Lengths in the tables are in units of axes.unit_length.
#include "mesh/fft/poisson_fft.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"
#include "comm/shares.hpp"
#include "device/parallel.hpp"
#include "mesh/fft/fftw_lines.hpp"
#include "physics/green.hpp"

namespace pergola {

namespace {

/// The tables of one axis; length: cells of the transform, doubled in an isolated box.
FftAxis make_axis(const Grid& grid, int axis, const PoissonFftOptions& options, double unit_length) {
  const double h = grid.spacing()[axis];
  FftAxis result;
  result.cells = grid.cells[axis];
  result.length = grid.periodic() ? result.cells : 2 * result.cells;
  result.spacing = h;
  for (int m = 0; m < result.length; ++m) {
    const double k = physics::mode_wave_number(m, result.length, result.length * h);
    result.wave_number.push_back(2 * m == result.length ? 0.0 : k);
    if (2 * m > result.length) continue;
    const double eigenvalue = options.laplacian == Laplacian::discrete ? physics::discrete_laplacian_eigenvalue(k, h)
                                                                       : physics::spectral_laplacian_eigenvalue(k);
    const double window = physics::assignment_window(k, h, options.deconvolve);
    result.eigenvalue.push_back(eigenvalue * unit_length * unit_length);
    const double filter = grid.periodic() ? physics::gaussian_window(k, options.smoothing) : 1.0;
    result.window.push_back(filter / (window * window));
  }
  return result;
}

/// DCT-I along one axis of an array of (n0 + 1, n1 + 1, n2 + 1) values: the transform of an even sequence of twice the
/// length.
void even_transform(std::vector<double>& values, const std::array<std::int64_t, 3>& points, int axis, int threads) {
  const std::int64_t stride = axis == 0 ? points[1] * points[2] : axis == 1 ? points[2] : 1;
  const int length = static_cast<int>(points[axis]);
  const fftw_r2r_kind kind = FFTW_REDFT00;
  fftw_plan plan;
  {
    const std::lock_guard lock(fftw_planner_mutex());
    std::vector<double> line(points[axis]);
    plan = fftw_plan_many_r2r(1, &length, 1, line.data(), nullptr, 1, 0, line.data(), nullptr, 1, 0, &kind,
                              FFTW_ESTIMATE | FFTW_UNALIGNED);
  }
  const std::int64_t lines = static_cast<std::int64_t>(values.size()) / length;
  parallel_chunks(threads, lines, 256, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> line(points[axis]);
    for (std::int64_t l = begin; l < end; ++l) {
      double* first = values.data() + l / stride * stride * length + l % stride;
      for (int i = 0; i < length; ++i) line[i] = first[i * stride];
      fftw_execute_r2r(plan, line.data(), line.data());
      for (int i = 0; i < length; ++i) first[i * stride] = line[i];
    }
  });
  const std::lock_guard lock(fftw_planner_mutex());
  fftw_destroy_plan(plan);
}

/// An even sequence is stored up to its middle.
std::array<std::int64_t, 3> stored_modes(const FftAxes& axes) {
  return {axes.axis[0].length / 2 + 1, axes.axis[1].length / 2 + 1, axes.axis[2].length / 2 + 1};
}

/// Calls body(i, j, k, value) for every stored mode.
template <class Body>
void each_mode(std::vector<double>& values, const std::array<std::int64_t, 3>& points, int threads, const Body& body) {
  parallel_for(threads, points[0] * points[1], [&](std::int64_t column) {
    for (std::int64_t k = 0; k < points[2]; ++k)
      body(static_cast<int>(column / points[1]), static_cast<int>(column % points[1]), static_cast<int>(k),
           values[column * points[2] + k]);
  });
}

std::size_t bytes_of(std::int64_t numbers) { return static_cast<std::size_t>(numbers) * sizeof(double); }

/// What each rank says that it wants of an axis.
struct ModeRange {
  std::int64_t first = 0, count = 0;
};
std::vector<ModeRange> ranges_of_ranks(Communicator& ranks, std::int64_t first, std::int64_t count) {
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<ModeRange> all(size);
  all[static_cast<std::size_t>(ranks.rank())] = {first, count};
  ranks.all_gather_in_place(all.data(), std::vector<std::size_t>(size, sizeof(ModeRange)));
  return all;
}

/// From [kx][row][z] for all kx of a share of the rows to the same for all rows of some kx.
std::vector<double> rows_to_modes(Communicator& ranks, const std::vector<double>& values, const Shares& rows,
                                  const std::array<std::int64_t, 3>& points, std::int64_t first, std::int64_t count) {
  const auto wanted = ranges_of_ranks(ranks, first, count);
  std::vector<double> arrived(static_cast<std::size_t>(count * points[1] * points[2]));
  std::vector<Communicator::Outgoing> out;
  std::vector<Communicator::Incoming> in;
  const std::int64_t own_row = rows.count(ranks.rank()) * points[2];  // of one kx
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    if (wanted[r].count * own_row > 0)
      out.push_back({rank, values.data() + wanted[r].first * own_row, bytes_of(wanted[r].count * own_row)});
    if (count * rows.count(rank) > 0)
      in.push_back({rank, arrived.data() + count * rows.first(rank) * points[2],
                    bytes_of(count * rows.count(rank) * points[2])});
  }
  ranks.exchange(out, in);
  std::vector<double> found(arrived.size());
  const double* from = arrived.data();
  for (int rank = 0; rank < ranks.size(); ++rank)
    for (std::int64_t kx = 0; kx < count; ++kx) {
      const std::int64_t some = rows.count(rank) * points[2];
      std::copy_n(from, some, found.data() + (kx * points[1] + rows.first(rank)) * points[2]);
      from += some;
    }
  return found;
}

}  // namespace

// Refuses what the FFT cannot solve; in two dimensions the third axis has one mode.
FftAxes make_fft_axes(const Grid& grid, const PoissonFftOptions& options) {
  for (int axis = 0; axis < grid.dimensions; ++axis)
    if (grid.cells[axis] < 2 || grid.cells[axis] % 2 != 0)
      throw Error(ErrorKind::input, fmt::format("mesh: the FFT expects an even number of cells on every axis, found {}",
                                                grid.cells[axis]));
  if (!grid.periodic() && grid.dimensions != 3)
    throw Error(ErrorKind::input, "mesh: an isolated box is solved in three dimensions only, found two");
  if (!grid.periodic() && options.spectral_force && !(options.smoothing > 0))
    throw Error(
        ErrorKind::input,
        "mesh: the spectral gradient expects a periodic box or a Gaussian filter, found an isolated box and none");
  FftAxes axes;
  axes.unit_length = grid.spacing()[0];
  if (!grid.periodic())
    axes.smoothing = options.smoothing, axes.softening = options.softening;
  else if (const double split2 = 0.5 * options.smoothing * options.smoothing; split2 > 0)
    axes.softened = {split2 / (axes.unit_length * axes.unit_length),
                     0.25 * options.softening * options.softening / split2};
  for (int axis = 0; axis < grid.dimensions; ++axis) axes.axis[axis] = make_axis(grid, axis, options, axes.unit_length);
  for (int axis = grid.dimensions; axis < 3; ++axis) {
    axes.axis[axis].wave_number = axes.axis[axis].eigenvalue = {0.0};
    axes.axis[axis].window = {1.0};
  }
  return axes;
}

// Modes first … first + count - 1 along x, all along y and z. Ranks share the rows for the transform along x, exchange,
// and then share the modes.
std::vector<double> open_space_green_transform(const FftAxes& axes, int threads, Communicator* ranks, int first,
                                               int count) {
  const auto points = stored_modes(axes);
  const auto& [x, y, z] = axes.axis;
  const double scale = 1 / (axes.unit_length * axes.unit_length * axes.modes());
  const auto length = [](const FftAxis& axis, int d) {
    return axis.spacing * physics::rounded_distance(d, axis.cells);
  };
  const double volume = x.spacing * y.spacing * z.spacing;
  // Along x of a share of the rows, then along y and z of a share of the modes.
  const Shares rows{points[1], ranks ? ranks->size() : 1};
  const int rank = ranks ? ranks->rank() : 0, first_row = static_cast<int>(rows.first(rank));
  const std::array<std::int64_t, 3> of_rows{points[0], rows.count(rank), points[2]},
      of_modes{count, points[1], points[2]};
  std::vector<double> values(static_cast<std::size_t>(of_rows[0] * of_rows[1] * of_rows[2]));
  each_mode(values, of_rows, threads, [&](int i, int row, int k, double& value) {
    const int j = first_row + row;
    value = scale * (axes.smoothing > 0 ? physics::open_space_cloud_green(length(x, i), length(y, j), length(z, k),
                                                                          volume, axes.smoothing, axes.softening)
                                        : physics::open_space_green(i, j, k, x.spacing, y.spacing, z.spacing));
  });
  even_transform(values, of_rows, 0, threads);
  if (ranks) values = rows_to_modes(*ranks, values, rows, points, first, count);
  for (int axis = 1; axis < 3; ++axis) even_transform(values, of_modes, axis, threads);
  each_mode(values, of_modes, threads,
            [&](int i, int j, int k, double& value) { value *= x.window[first + i] * y.window[j] * z.window[k]; });
  return values;
}

// The same for rows of ky, for solvers that hold all kx of some rows. Collective.
std::vector<double> open_space_green_rows(const FftAxes& axes, int threads, Communicator& ranks, int first, int count) {
  const auto points = stored_modes(axes);
  const Shares modes{points[0], ranks.size()};
  const std::int64_t own_first = modes.first(ranks.rank()), own = modes.count(ranks.rank());
  const auto values =
      open_space_green_transform(axes, threads, &ranks, static_cast<int>(own_first), static_cast<int>(own));
  const auto wanted = ranges_of_ranks(ranks, first, count);
  std::vector<double> message, found(static_cast<std::size_t>(points[0] * count * points[2]));
  for (const ModeRange& rows : wanted)
    for (std::int64_t kx = 0; kx < own; ++kx) {
      const double* const from = values.data() + (kx * points[1] + rows.first) * points[2];
      message.insert(message.end(), from, from + rows.count * points[2]);
    }
  std::vector<std::size_t> out, in;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    out.push_back(bytes_of(own * wanted[static_cast<std::size_t>(rank)].count * points[2]));
    in.push_back(bytes_of(modes.count(rank) * count * points[2]));
  }
  ranks.all_to_all(message.data(), out, found.data(), in);
  return found;
}

// No transform is needed: the factor is a formula of the wave numbers.
std::vector<double> periodic_green_transform(const FftAxes& axes, int threads, int first, int count) {
  auto points = stored_modes(axes);
  points[0] = count;
  const auto& [x, y, z] = axes.axis;
  const double scale = 1 / axes.modes();
  std::vector<double> values(points[0] * points[1] * points[2]);
  each_mode(values, points, threads, [&](int i, int j, int k, double& value) {
    const double eigenvalue = x.eigenvalue[first + i] + y.eigenvalue[j] + z.eigenvalue[k];
    const double window = x.window[first + i] * y.window[j] * z.window[k];
    value = scale * physics::green_factor(eigenvalue, window * axes.softened.factor(-eigenvalue));
  });
  return values;
}

template <class Real>
std::unique_ptr<PoissonSolver<Real>> make_poisson_fft(const Device& device, const Grid& grid,
                                                      const PoissonFftOptions& options) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return make_poisson_fft_cuda<Real>(device, grid, options);
  }
  return make_poisson_fft_cpu<Real>(device, grid, options);
}

template std::unique_ptr<PoissonSolver<float>> make_poisson_fft(const Device&, const Grid&, const PoissonFftOptions&);
template std::unique_ptr<PoissonSolver<double>> make_poisson_fft(const Device&, const Grid&, const PoissonFftOptions&);

}  // namespace pergola
