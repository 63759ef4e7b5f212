// Multigrid on the CPU. Rows of cells are the unit of work: the loops over a row are vectorised (multigrid_rows.cpp),
// threads take planes. Arrays of a level have x fastest, then y, then z, without padding.
// A level that ranks share has one ghost plane below and one above; the coarsest level is solved by every rank alone.
// Each sum is made plane by plane and added in the order of planes: the same bits for any number of threads and ranks.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "mesh/multigrid/multigrid_loops.hpp"
#include "mesh/multigrid/multigrid_rows.hpp"

namespace pergola::multigrid {

namespace {

/// Planes that a thread relaxes at a time; those inside have both colours done in one pass.
constexpr int slab = 8;
constexpr int powers = physics::multipole_order + 1;

/// The loops on the CPU. Where ranks share levels out, planes are counted as on the whole grid, a rank works on its
/// own, and those next to them are fetched before they are read. A cell gets the same bits from every rank that works
/// on it.
template <class Real>
class LoopsCpu final : public Loops<Real> {
 public:
  LoopsCpu(const Device& device, const std::vector<Level<Real>>& levels, std::shared_ptr<Communicator> ranks)
      : device_(device),
        threads_(device.threads()),
        levels_(levels),
        slabs_(levels, std::move(ranks)),
        rows_(row_loops<Real>()),
        modes_(axis_modes(levels.back())) {
    const int coarsest = static_cast<int>(levels.size()) - 1;
    std::int64_t coarse = 0;
    for (int l = 1; l <= coarsest; ++l) coarse += 2 * (slabs_.count(l) + slabs_.copies(l)) * plane(l);
    const std::int64_t whole = levels.back().cells();
    memory_ = Buffer<Real>(device, coarse + (slabs_.shared(coarsest) ? 3 : 1) * whole);
    potential_.resize(levels.size());
    source_.resize(levels.size());
    Real* next = memory_.data();
    for (int l = 1; l <= coarsest; ++l) {
      const auto k = static_cast<std::size_t>(l);
      potential_[k] = next + slabs_.copies(l) * plane(l);
      source_[k] = potential_[k] + (slabs_.count(l) + slabs_.copies(l)) * plane(l);
      next = source_[k] + slabs_.count(l) * plane(l);
    }
    work_ = next;
    if (slabs_.shared(coarsest)) whole_source_ = work_ + whole, whole_potential_ = whole_source_ + whole;
    zeros_.assign(static_cast<std::size_t>(levels.front().nx), Real(0));
  }

  std::int64_t scratch_bytes() const override {
    return slabs_.count(0) * plane(0) * static_cast<std::int64_t>(sizeof(Real));
  }
  std::int64_t own_bytes() const override { return static_cast<std::int64_t>(memory_.bytes()); }
  int planes_around() const override { return slabs_.copies(0); }

  /// Source = factor (density - mean) where the box is periodic, as only then a solution exists; else factor × density,
  /// with the multipole expansion of the potential for the walls.
  void begin(const Field<Real>& field, double factor, void* scratch) override {
    const Level<Real>& g = levels_.front();
    potential_.front() = field.data;
    source_.front() = static_cast<Real*>(scratch);
    slabs_.set_fresh(0, false);
    double mean = 0;
    if (g.periodic)
      mean = total(field.data) / static_cast<double>(g.cells());
    else
      expand(field.data, factor);
    each_row(0, [&](std::int64_t row) {
      rows_.scale(g.nx, factor, mean, field.data + row * g.nx, source_.front() + row * g.nx);
    });
  }

  void average_source(int level) override {
    average(level, [&](int y, int z, Real*) -> const Real* { return source(level) + place(level, y, z); });
  }

  /// Isolated boundaries: the known potential on the faces moves to the source of the cells next to them.
  void add_walls(int level) override {
    const Level<Real>& g = at(level);
    if (g.periodic) return;
    const auto add = [&](int x, int y, int z, int axis, double side) {
      const double weight = axis == 0 ? g.stencil.wx : axis == 1 ? g.stencil.wy : g.stencil.wz;
      const double face = far_(axis == 0 ? side : g.place(x, g.nx, g.hx), axis == 1 ? side : g.place(y, g.ny, g.hy),
                               axis == 2 ? side : g.place(z, g.nz, g.hz));
      Real& cell = source(level)[place(level, y, z) + x];
      cell += static_cast<Real>(physics::PoissonStencil<double>::wall_source(weight, face));
    };
    const double sx = 0.5 * g.nx * g.hx, sy = 0.5 * g.ny * g.hy, sz = 0.5 * g.nz * g.hz;
    each_plane(level, [&](int z) {
      for (int y = 0; y < g.ny; ++y) add(0, y, z, 0, -sx), add(g.nx - 1, y, z, 0, sx);
      for (int x = 0; x < g.nx; ++x) add(x, 0, z, 1, -sy), add(x, g.ny - 1, z, 1, sy);
      if (z > 0 && z < g.nz - 1) return;
      for (int y = 0; y < g.ny; ++y)
        for (int x = 0; x < g.nx; ++x) {
          if (z == 0) add(x, y, z, 2, -sz);
          if (z == g.nz - 1) add(x, y, z, 2, sz);
        }
    });
  }

  void descend(int level, Start start, int sweeps) override {
    if (start == Start::zero) clear(level);
    if (start == Start::interpolated) interpolate(level, &far_, false);
    for (int k = 0; k < sweeps; ++k) sweep(level);
    fetch_around(level);
    average(level, [&](int y, int z, Real* out) -> const Real* {
      residual(level, y, z, out);
      return out;
    });
  }

  void ascend(int level, int sweeps, bool) override {
    interpolate(level, nullptr, true);
    for (int k = 0; k < sweeps; ++k) sweep(level);
  }

  /// To the eigenvectors along x, y and z, divided by the sum of eigenvalues, and back.
  void solve_coarsest() override {
    const int level = static_cast<int>(levels_.size()) - 1;
    const Level<Real>& g = levels_.back();
    const bool shared = slabs_.shared(level);
    const Real* const from = shared ? whole_source(level) : source(level);
    Real* const to = shared ? whole_potential_ : potential(level);
    transform(0, false, from, work_);
    transform(1, false, work_, to);
    transform(2, false, to, work_);
    const auto& eigenvalue = modes_.eigenvalue;
    each_whole_row([&](std::int64_t row) {
      Real* const values = work_ + row * g.nx;
      const Real y = eigenvalue[1][static_cast<std::size_t>(row % g.ny)];
      const Real z = eigenvalue[2][static_cast<std::size_t>(row / g.ny)];
      for (int x = 0; x < g.nx; ++x) values[x] *= inverse_eigenvalue(eigenvalue[0][static_cast<std::size_t>(x)], y, z);
    });
    transform(2, true, work_, to);
    transform(1, true, to, work_);
    transform(0, true, work_, to);
    if (!shared) return;
    std::copy_n(to + slabs_.first(level) * plane(level), slabs_.count(level) * plane(level), potential(level));
    slabs_.set_fresh(level, false);
  }

  /// Sums of squares over all cells, lane by lane within a plane, then plane by plane.
  Norms norms() override {
    const Level<Real>& g = levels_.front();
    fetch_around(0);
    std::vector<std::array<double, 3 * lanes>> sums(static_cast<std::size_t>(g.nz));
    each_plane(0, [&](int z) {
      auto& mine = sums[static_cast<std::size_t>(z)];
      mine.fill(0);
      std::vector<Real> out(static_cast<std::size_t>(g.nx));
      for (int y = 0; y < g.ny; ++y) {
        residual(0, y, z, out.data());
        rows_.add_squares(g.nx, out.data(), mine.data());
        rows_.add_squares(g.nx, source(0) + place(0, y, z), mine.data() + lanes);
        rows_.add_squares(g.nx, potential(0) + place(0, y, z), mine.data() + 2 * lanes);
      }
    });
    slabs_.gather(0, sums.data(), 1);
    Norms result;
    for (const auto& plane : sums)
      for (std::size_t k = 0; k < lanes; ++k) {
        result.residual += plane[k];
        result.source += plane[lanes + k];
        result.potential += plane[2 * lanes + k];
      }
    return result;
  }

  /// A periodic potential is known but for a constant: its mean is set to zero.
  void finish() override {
    const Level<Real>& g = levels_.front();
    if (!g.periodic) return;
    const double mean = total(potential(0)) / static_cast<double>(g.cells());
    each_row(0, [&](std::int64_t row) {
      rows_.scale(g.nx, 1.0, mean, potential(0) + row * g.nx, potential(0) + row * g.nx);
    });
  }

 private:
  const Level<Real>& at(int level) const { return levels_[static_cast<std::size_t>(level)]; }
  Real* potential(int level) const { return potential_[static_cast<std::size_t>(level)]; }
  Real* source(int level) const { return source_[static_cast<std::size_t>(level)]; }

  std::int64_t plane(int level) const { return std::int64_t{at(level).nx} * at(level).ny; }
  /// Where a row stands in the memory of its level.
  std::int64_t place(int level, int y, int z) const { return at(level).index(0, y, z - slabs_.first(level)); }
  void fetch_around(int level) { slabs_.fetch_around(device_, level, potential(level), plane(level)); }

  /// body(z) for the planes of this rank.
  template <class Body>
  void each_plane(int level, const Body& body) const {
    const int first = slabs_.first(level);
    parallel_for(threads_, slabs_.count(level), [&](std::int64_t k) { body(first + static_cast<int>(k)); });
  }
  /// body(row) for all rows of some planes, a plane at a time, as they stand in memory.
  template <class Body>
  void each_row_of(int planes, int rows, const Body& body) const {
    parallel_for(threads_, planes, [&](std::int64_t z) {
      for (std::int64_t row = z * rows; row < (z + 1) * rows; ++row) body(row);
    });
  }
  template <class Body>
  void each_row(int level, const Body& body) const {
    each_row_of(slabs_.count(level), at(level).ny, body);
  }
  /// Of the coarsest level.
  template <class Body>
  void each_whole_row(const Body& body) const {
    each_row_of(levels_.back().nz, levels_.back().ny, body);
  }

  /// A potential of zero, also next to the planes of this rank.
  void clear(int level) {
    each_row(level,
             [&](std::int64_t row) { std::fill_n(potential(level) + row * at(level).nx, at(level).nx, Real(0)); });
    if (slabs_.shared(level) && slabs_.count(level) > 0)
      for (const std::int64_t k : {std::int64_t{-1}, std::int64_t{slabs_.count(level)}})
        std::fill_n(potential(level) + k * plane(level), plane(level), Real(0));
    slabs_.set_fresh(level, true);
  }
  /// All planes of the coarsest source, on every rank.
  const Real* whole_source(int level) {
    std::copy_n(source(level), slabs_.count(level) * plane(level), whole_source_ + slabs_.first(level) * plane(level));
    slabs_.gather(level, whole_source_, plane(level));
    return whole_source_;
  }

  /// The row's stencil: at an isolated wall the diagonal differs.
  Row<Real> equations(const Level<Real>& g, int y, int z) const {
    return {g.nx, g.periodic, g.stencil, g.walls(y, g.ny), g.walls(z, g.nz)};
  }
  /// The four rows next to a row; beyond isolated walls they are zeros.
  RowsBeside<Real> beside(int level, int y, int z) const {
    const Level<Real>& g = at(level);
    const auto row = [&](int py, int pz) -> const Real* {
      if (!g.periodic && (py < 0 || py == g.ny || pz < 0 || pz == g.nz)) return zeros_.data();
      return potential(level) + place(level, (py + g.ny) % g.ny, slabs_.shared(level) ? pz : (pz + g.nz) % g.nz);
    };
    return {row(y - 1, z), row(y + 1, z), row(y, z - 1), row(y, z + 1)};
  }

  void residual(int level, int y, int z, Real* out) const {
    const std::int64_t begin = place(level, y, z);
    rows_.residual(equations(at(level), y, z), beside(level, y, z), source(level) + begin, potential(level) + begin,
                   out);
  }

  /// Cells of one colour, (x + y + z) odd or even, in a plane.
  void relax_plane(int level, int z, int colour, Real* work) const {
    const Level<Real>& g = at(level);
    for (int y = 0; y < g.ny; ++y) {
      const std::int64_t begin = place(level, y, z);
      rows_.relax(equations(g, y, z), beside(level, y, z), (colour + y + z) % 2, source(level) + begin,
                  potential(level) + begin, work);
    }
  }

  /// One red and one black half-sweep. Within a slab black follows one plane behind red. A row is read and written as a
  /// whole, cells of both colours, so no plane is relaxed while a thread of the next slab looks at it: the last planes
  /// of all slabs wait until the others are done, then come the black cells of the first ones, then of the last. Ranks
  /// get the planes next to theirs before red and before black.
  void sweep(int level) {
    constexpr int red = 0, black = 1;
    const int first_plane = slabs_.first(level);
    const auto slabs = [&](const auto& relax_planes) {
      parallel_chunks(threads_, slabs_.count(level), slab, [&](std::int64_t begin, std::int64_t end) {
        std::vector<Real> work(static_cast<std::size_t>(at(level).nx));
        const auto relax = [&](int z, int colour) { relax_plane(level, z, colour, work.data()); };
        relax_planes(first_plane + static_cast<int>(begin), first_plane + static_cast<int>(end - 1), relax);
      });
    };
    fetch_around(level);
    slabs([](int first, int last, const auto& relax) {
      for (int z = first; z < last; ++z) {
        relax(z, red);
        if (z - 1 > first) relax(z - 1, black);
      }
    });
    slabs([](int first, int last, const auto& relax) {
      relax(last, red);
      if (last - 1 > first) relax(last - 1, black);
    });
    slabs_.set_fresh(level, false);
    fetch_around(level);
    slabs([](int first, int last, const auto& relax) {
      if (first < last) relax(first, black);
    });
    slabs([](int, int last, const auto& relax) { relax(last, black); });
    slabs_.set_fresh(level, false);
  }

  /// The mean of rows_of(y, z, work) over the cells of the next level, into its source. A rank makes the planes that
  /// its own are in.
  template <class RowsOf>
  void average(int level, const RowsOf& rows_of) {
    const Level<Real>&g = at(level), &c = at(level + 1);
    const Real share = Real(1) / static_cast<Real>(g.fx * g.fy * g.fz);
    const int first = slabs_.first(level) / g.fz;
    parallel_for(threads_, slabs_.count(level) / g.fz, [&](std::int64_t k) {
      const int z = first + static_cast<int>(k);
      std::vector<Real> work(static_cast<std::size_t>(g.nx));
      for (int cy = 0; cy < c.ny; ++cy) {
        Real* const out = source(level + 1) + place(level + 1, cy, z);
        std::fill_n(out, c.nx, Real(0));
        for (int row = 0; row < g.fy * g.fz; ++row)
          rows_.add_pairs(c.nx, g.fx == 2, share, rows_of(cy * g.fy + row % g.fy, z * g.fz + row / g.fy, work.data()),
                          out);
      }
    });
    if (!slabs_.shared(level + 1)) slabs_.gather(level, source(level + 1), plane(level + 1), g.fz);
  }

  /// The potential of the next level, interpolated linearly, onto or in place of that of this one.
  void interpolate(int level, const physics::Multipole* far, bool onto) {
    const Level<Real>&g = at(level), &c = at(level + 1);
    fetch_around(level + 1);
    const CoarseValues<Real> coarse{potential(level + 1), c, far, slabs_.first(level + 1), slabs_.shared(level + 1)};
    each_plane(level, [&](int z) {
      std::vector<Real> padded(static_cast<std::size_t>(c.nx + 2));
      const Between<Real> bz(z, g.fz);
      for (int y = 0; y < g.ny; ++y) {
        const Between<Real> by(y, g.fy);
        std::fill(padded.begin(), padded.end(), Real(0));
        add_coarse_row(coarse, by.near, bz.near, by.near_weight * bz.near_weight, padded.data());
        if (g.fy == 2) add_coarse_row(coarse, by.next, bz.near, by.next_weight * bz.near_weight, padded.data());
        if (g.fz == 2) add_coarse_row(coarse, by.near, bz.next, by.near_weight * bz.next_weight, padded.data());
        if (g.fy == 2 && g.fz == 2)
          add_coarse_row(coarse, by.next, bz.next, by.next_weight * bz.next_weight, padded.data());
        rows_.spread(c.nx, g.fx == 2, onto, padded.data() + 1, potential(level) + place(level, y, z));
      }
    });
    slabs_.set_fresh(level, false);
  }

  /// padded[i + 1] += weight × value of coarse cell i, i = −1 … nx.
  void add_coarse_row(const CoarseValues<Real>& coarse, int y, int z, Real weight, Real* padded) const {
    const Level<Real>& c = coarse.level;
    const bool inside = y >= 0 && y < c.ny && z >= 0 && z < c.nz;
    if (inside)
      rows_.add(c.nx, weight, coarse.data + coarse.index(0, y, z), padded + 1);
    else
      for (int x = 0; x < c.nx; ++x) padded[x + 1] += weight * coarse.beyond(x, y, z);
    padded[0] += weight * coarse.beyond(-1, y, z);
    padded[c.nx + 1] += weight * coarse.beyond(c.nx, y, z);
  }

  /// To or back from the eigenvectors along one axis of the coarsest level.
  void transform(std::size_t axis, bool back, const Real* in, Real* out) const {
    const Level<Real>& g = levels_.back();
    const std::array<int, 3> cells{g.nx, g.ny, g.nz};
    const int n = cells[axis];
    // value(k, j) at k n + j; its transpose for the way back.
    const Real* const forth = modes_.mode[axis].data();
    const Real* const matrix = back ? forth + std::int64_t{n} * n : forth;
    const Real* const transposed = back ? forth : forth + std::int64_t{n} * n;
    each_whole_row([&](std::int64_t row) {
      Real* const to = out + row * g.nx;
      std::fill_n(to, g.nx, Real(0));
      const int y = static_cast<int>(row % g.ny), z = static_cast<int>(row / g.ny);
      for (int j = 0; j < n; ++j) {
        if (axis == 0)
          rows_.add(n, in[row * g.nx + j], transposed + std::int64_t{j} * n, to);
        else if (axis == 1)
          rows_.add(g.nx, matrix[std::int64_t{y} * n + j], in + g.index(0, j, z), to);
        else
          rows_.add(g.nx, matrix[std::int64_t{z} * n + j], in + g.index(0, y, j), to);
      }
    });
  }

  /// Moments over each plane: Σ value x^a y^b at b powers + a of the plane's entry. Only the sum where `orders` is 1.
  std::vector<std::array<double, powers * powers>> plane_moments(const Real* values, int orders) {
    const Level<Real>& g = levels_.front();
    std::vector<double> x(static_cast<std::size_t>(g.nx));
    for (int i = 0; i < g.nx; ++i) x[static_cast<std::size_t>(i)] = g.place(i, g.nx, g.hx);
    std::vector<std::array<double, powers * powers>> planes(static_cast<std::size_t>(g.nz));
    each_plane(0, [&](int z) {
      auto& mine = planes[static_cast<std::size_t>(z)];
      mine.fill(0);
      for (int y = 0; y < g.ny; ++y) {
        std::array<double, powers> sums{};
        rows_.add_moments(g.nx, orders, values + place(0, y, z), x.data(), sums.data());
        double py = 1;
        for (std::size_t b = 0; b < static_cast<std::size_t>(orders); ++b, py *= g.place(y, g.ny, g.hy))
          for (std::size_t a = 0; a + b < static_cast<std::size_t>(orders); ++a) mine[b * powers + a] += sums[a] * py;
      }
    });
    slabs_.gather(0, planes.data(), 1);
    return planes;
  }

  /// The sum over all cells of all ranks.
  double total(const Real* values) {
    double sum = 0;
    for (const auto& plane : plane_moments(values, 1)) sum += plane[0];
    return sum;
  }

  /// The multipole expansion of the potential outside the density.
  void expand(const Real* density, double factor) {
    const Level<Real>& g = levels_.front();
    std::array<double, physics::moment_count> moments{}, central{};
    const auto planes = plane_moments(density, powers);
    for (int z = 0; z < g.nz; ++z) {
      double pz = 1;
      for (int c = 0; c < powers; ++c, pz *= g.place(z, g.nz, g.hz))
        for (int b = 0; b + c < powers; ++b)
          for (int a = 0; a + b + c < powers; ++a)
            moments[static_cast<std::size_t>(physics::moment_index(a, b, c))] +=
                planes[static_cast<std::size_t>(z)][static_cast<std::size_t>(b * powers + a)] * pz;
    }
    far_.centre = physics::Multipole::centre_of(moments.data());
    const double strength = -factor * g.hx * g.hy * g.hz / (4 * std::numbers::pi);
    for (int n = 0; n < powers; ++n)
      physics::each_exponent(n, [&](int a, int b, int c) {
        central[static_cast<std::size_t>(physics::moment_index(a, b, c))] =
            strength * physics::central_moment(moments.data(), far_.centre, a, b, c);
      });
    for (int n = 0; n < powers; ++n)
      physics::each_exponent(n, [&](int a, int b, int c) {
        far_.coefficient[physics::moment_index(a, b, c)] = physics::multipole_coefficient(central.data(), a, b, c);
      });
  }

  Device device_;
  int threads_;
  std::vector<Level<Real>> levels_;
  LevelSlabs<Real> slabs_;
  RowLoops<Real> rows_;
  AxisModes<Real> modes_;
  Buffer<Real> memory_;
  std::vector<Real*> potential_, source_;
  Real* work_ = nullptr;                                       // as large as the coarsest level
  Real *whole_source_ = nullptr, *whole_potential_ = nullptr;  // the same, where that is shared out
  std::vector<Real> zeros_;
  physics::Multipole far_;
};

}  // namespace

template <class Real>
std::unique_ptr<Loops<Real>> make_loops_cpu(const Device& device, const std::vector<Level<Real>>& levels,
                                            std::shared_ptr<Communicator> ranks) {
  return std::make_unique<LoopsCpu<Real>>(device, levels, std::move(ranks));
}
template std::unique_ptr<Loops<float>> make_loops_cpu(const Device&, const std::vector<Level<float>>&,
                                                      std::shared_ptr<Communicator>);
template std::unique_ptr<Loops<double>> make_loops_cpu(const Device&, const std::vector<Level<double>>&,
                                                       std::shared_ptr<Communicator>);

}  // namespace pergola::multigrid
