#pragma once
/// One pass of Yee's scheme over the layers of a rank, on the CPU or a GPU: formulas in physics/yee.hpp.
///
/// A layer is a row y in two dimensions and a plane z in three. Memory has some layers of the box; their neighbours are
/// the next ones, and the ends are neighbours if memory has the whole box. Rows wrap around along x, and along y in
/// three dimensions. Passes launch and do not wait; each value is computed alone, so the bits depend neither on
/// threads nor on ranks.
#include <cstdint>
#include <vector>

#include "base/host_device.hpp"
#include "device/device.hpp"
#include "physics/yee.hpp"

namespace pergola::plasma {

template <class Real>
struct YeeTask {
  int dimensions = 2;
  int nx = 1, rows = 1, layers = 1;  // rows in a layer, layers in memory
  bool whole = true;                 // memory has the whole box
  std::int64_t pitch = 1;
  Real *electric[3] = {}, *magnetic[3] = {};
  const Real* moved[3] = {};  // ∫J dt, from layer `first` on
  int first = 0, count = 1;   // the layers of this pass
  Real factor = 0;            // c² dt for E, dt for B

  PERGOLA_HD std::int64_t row(int layer, int y) const { return (std::int64_t{layer} * rows + y) * pitch; }
  /// The first point of a row, counted from the first of this pass; neighbours along x are left out.
  PERGOLA_HD physics::YeePoint below(std::int64_t of_pass) const {
    const int layer = first + static_cast<int>(of_pass / rows), y = static_cast<int>(of_pass % rows);
    const int under = whole && layer == 0 ? layers - 1 : layer - 1;
    if (dimensions == 2) return {row(layer, 0), 0, row(under, 0), 0};
    return {row(layer, y), 0, row(layer, y == 0 ? rows - 1 : y - 1), row(under, y)};
  }
  PERGOLA_HD physics::YeePoint above(std::int64_t of_pass) const {
    const int layer = first + static_cast<int>(of_pass / rows), y = static_cast<int>(of_pass % rows);
    const int over = whole && layer == layers - 1 ? 0 : layer + 1;
    if (dimensions == 2) return {row(layer, 0), 0, row(over, 0), 0};
    return {row(layer, y), 0, row(layer, y == rows - 1 ? 0 : y + 1), row(over, y)};
  }
  /// Point x of a row, and its neighbour `next` along x.
  PERGOLA_HD static physics::YeePoint along(const physics::YeePoint& row, int x, int next) {
    return {row.at + x, row.at + next, row.y + x, row.z + x};
  }
  /// E² + c² (B − uniform)² of a point.
  PERGOLA_HD double energy(std::int64_t at, double light_speed, const Vec3<double>& uniform) const {
    const Vec3<double> e{double(electric[0][at]), double(electric[1][at]), double(electric[2][at])};
    const Vec3<double> b{double(magnetic[0][at]), double(magnetic[1][at]), double(magnetic[2][at])};
    return dot(e, e) + light_speed * light_speed * dot(b - uniform, b - uniform);
  }
};

/// E + c² dt ∇×B − ∫J dt at one point; `from_first`: its place in `moved`.
template <int dimensions, class Real>
PERGOLA_HD_INLINE void advance_electric(const YeeTask<Real>& task, const physics::YeePoint& p,
                                        std::int64_t from_first) {
  const Real* const* const b = task.magnetic;
  const Vec3<Real> curl = physics::yee_curl<dimensions>(b[0], b[1], b[2], p);
  Real* const* const e = task.electric;
  e[0][p.at] = physics::mul_add(task.factor, curl.x, e[0][p.at]) - task.moved[0][from_first];
  e[1][p.at] = physics::mul_add(task.factor, curl.y, e[1][p.at]) - task.moved[1][from_first];
  e[2][p.at] = physics::mul_add(task.factor, curl.z, e[2][p.at]) - task.moved[2][from_first];
}

/// B − dt ∇×E at one point.
template <int dimensions, class Real>
PERGOLA_HD_INLINE void advance_magnetic(const YeeTask<Real>& task, const physics::YeePoint& p) {
  const Real* const* const e = task.electric;
  const Vec3<Real> minus_curl = physics::yee_curl<dimensions>(e[0], e[1], e[2], p);
  Real* const* const b = task.magnetic;
  b[0][p.at] = physics::mul_add(task.factor, minus_curl.x, b[0][p.at]);
  b[1][p.at] = physics::mul_add(task.factor, minus_curl.y, b[1][p.at]);
  b[2][p.at] = physics::mul_add(task.factor, minus_curl.z, b[2][p.at]);
}

/// What a pass does: advance_electric() or advance_magnetic() at all its points.
enum class YeePass { electric, magnetic };
template <class Real>
void yee_pass(const Device& device, YeePass pass, const YeeTask<Real>& task);
/// Σ (E² + c² (B − uniform)²) of each row, in double precision and an order that depends on the kind of device only.
/// Waits.
template <class Real>
std::vector<double> yee_row_energies(const Device& device, const YeeTask<Real>& task, double light_speed,
                                     const Vec3<double>& uniform);

// On GPUs (plasma/yee_loops_cuda.cu); present if cuda_built.
template <class Real>
void yee_pass_cuda(const Device& device, YeePass pass, const YeeTask<Real>& task);
template <class Real>
std::vector<double> yee_row_energies_cuda(const Device& device, const YeeTask<Real>& task, double light_speed,
                                          const Vec3<double>& uniform);

}  // namespace pergola::plasma
