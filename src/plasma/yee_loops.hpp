#pragma once
/// One pass of Yee's scheme over the layers of a rank, on the CPU or a GPU: formulas in physics/yee.hpp.
///
/// A layer of memory is a row y in two dimensions and a plane z in three. Memory has some layers of the box; their
/// neighbours are the next ones, and the ends are neighbours if memory has the whole box. Rows wrap around along x, and
/// along y in three dimensions. Passes launch and do not wait; each value is computed alone, so the bits depend neither
/// on threads nor on ranks.
#include <cstdint>
#include <vector>

#include "base/host_device.hpp"
#include "device/device.hpp"
#include "physics/laser.hpp"
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
  // For passes over places of an axis, at most `ends` from its ends:
  int axis = 0, ends = 0;
  int first_of_box = 0, layers_of_box = 1;                  // of the first layer in memory, and of the box
  Real* psi[2] = {};                                        // of the two components across the axis, in their order
  const Real *psi_memory = nullptr, *psi_weight = nullptr;  // by the place; weight 0 outside the absorbing layers
  bool renews = true;                                       // ψ; else it is that of the pass before

  PERGOLA_HD std::int64_t row(int layer, int y) const { return (std::int64_t{layer} * rows + y) * pitch; }
  /// The first point of a row, counted from the first of this pass, with neighbours below or above along other axes.
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
  /// The place of point x of a row of this pass on `axis`.
  PERGOLA_HD int place(std::int64_t of_pass, int x) const {
    if (axis == 0) return x;
    if (axis == 1 && dimensions == 3) return static_cast<int>(of_pass % rows);
    const int layer = (first_of_box + first + static_cast<int>(of_pass / rows)) % layers_of_box;
    return layer < 0 ? layer + layers_of_box : layer;
  }
  PERGOLA_HD bool at_ends(int place) const {
    const int length = axis == 0 ? nx : axis == 1 && dimensions == 3 ? rows : layers_of_box;
    return place < ends || place >= length - ends;
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

/// What the absorbing layers of task.axis add to E or B at one point: the ψ of its differences of B or E along the
/// axis. The curl has −∂f_c in component b and ∂f_b in component c, with axis, b, c in cyclic order.
template <class Real>
PERGOLA_HD_INLINE void absorb(const YeeTask<Real>& task, Real* const* to, const Real* const* from,
                              const physics::YeePoint& p, int place) {
  const Real weight = task.psi_weight[place];
  if (weight == 0) return;
  const int b = (task.axis + 1) % 3, c = (task.axis + 2) % 3;
  const std::int64_t next = task.axis == 0 ? p.x : task.axis == 1 ? p.y : p.z;
  Real &of_b = task.psi[0][p.at], &of_c = task.psi[1][p.at];
  if (task.renews) {
    const Real memory = task.psi_memory[place];
    of_b = physics::mul_add(memory, of_b, weight * (from[c][p.at] - from[c][next]));
    of_c = physics::mul_add(memory, of_c, weight * (from[b][p.at] - from[b][next]));
  }
  to[b][p.at] = physics::mul_add(-task.factor, of_b, to[b][p.at]);
  to[c][p.at] = physics::mul_add(task.factor, of_c, to[c][p.at]);
}

/// A conductor at the first place of task.axis: no E along it.
template <class Real>
PERGOLA_HD_INLINE void conduct(const YeeTask<Real>& task, std::int64_t at, int place) {
  if (place != 0) return;
  task.electric[(task.axis + 1) % 3][at] = 0;
  task.electric[(task.axis + 2) % 3][at] = 0;
}

/// What a pass does at all its points: advance_electric() or advance_magnetic(), absorb() into E or B, conduct().
enum class YeePass { electric, magnetic, absorb_electric, absorb_magnetic, conduct };
/// One point: `row` of the pass, x.
template <int dimensions, YeePass pass, class Real>
PERGOLA_HD_INLINE void yee_point(const YeeTask<Real>& task, const physics::YeePoint& of_row, std::int64_t row, int x) {
  constexpr bool above = pass == YeePass::magnetic || pass == YeePass::absorb_magnetic;
  const int beside = above ? (x == task.nx - 1 ? 0 : x + 1) : (x == 0 ? task.nx - 1 : x - 1);
  const physics::YeePoint p = task.along(of_row, x, beside);
  if constexpr (pass == YeePass::electric) advance_electric<dimensions>(task, p, row * task.pitch + x);
  if constexpr (pass == YeePass::magnetic) advance_magnetic<dimensions>(task, p);
  if constexpr (pass == YeePass::absorb_electric)
    absorb<Real>(task, task.electric, task.magnetic, p, task.place(row, x));
  if constexpr (pass == YeePass::absorb_magnetic)
    absorb<Real>(task, task.magnetic, task.electric, p, task.place(row, x));
  if constexpr (pass == YeePass::conduct) conduct(task, p.at, task.place(row, x));
}
/// run<dimensions, pass>() for a pass of a task.
template <class Run>
void with_yee_pass(int dimensions, YeePass pass, const Run& run) {
  const auto of = [&]<YeePass which>() {
    if (dimensions == 3)
      run.template operator()<3, which>();
    else
      run.template operator()<2, which>();
  };
  switch (pass) {
    case YeePass::electric:
      return of.template operator()<YeePass::electric>();
    case YeePass::magnetic:
      return of.template operator()<YeePass::magnetic>();
    case YeePass::absorb_electric:
      return of.template operator()<YeePass::absorb_electric>();
    case YeePass::absorb_magnetic:
      return of.template operator()<YeePass::absorb_magnetic>();
    case YeePass::conduct:
      return of.template operator()<YeePass::conduct>();
  }
}

template <class Real>
void yee_pass(const Device& device, YeePass pass, const YeeTask<Real>& task);
/// The time is from + steps · step; memory of the device.
struct YeeClock {
  double from = 0;
  std::int64_t steps = 0;
};

/// A sheet of current in the plane x = `plane` that sends out a pulse. A sheet K of a wave with the wave number k along
/// x makes E = K / (2 c cos(k/2)) on both sides, in the scheme; that of E in the x-y plane and that along z differ by
/// the cosine of the angle.
struct YeeAntenna {
  physics::LaserPulse pulse;
  int plane = 0;
  double y = 0, z = 0, polarisation = 0;
  double emits = 1;  // 2 c cos(k/2) step
  double step = 1;

  /// Adds what it sends out in the step that begins at `time`, in a row of the pass.
  template <class Real>
  PERGOLA_HD void send(const YeeTask<Real>& task, std::int64_t row, const YeeClock& clock) const {
    const double time = clock.from + (static_cast<double>(clock.steps) + 0.5) * step;
    const std::int64_t at = task.row(task.first, 0) + row * task.pitch + plane;
    YeeTask<Real> along = task;
    along.axis = 1;
    const double down = along.place(row, plane) - y;
    along.axis = 2;
    const double deep = task.dimensions == 3 ? along.place(row, plane) - z : 0.0;
    const double half = task.dimensions == 3 ? 0.5 : 0.0;
    const double in_plane = emits * cos(polarisation) * physics::laser_field(pulse, {0, down + 0.5, deep}, time);
    const double upright =
        emits * cos(pulse.angle) * sin(polarisation) * physics::laser_field(pulse, {0, down, deep + half}, time);
    task.electric[1][at] += static_cast<Real>(in_plane), task.electric[2][at] += static_cast<Real>(upright);
  }
};
/// All antennas send; then the clock is a step later if `last`.
template <class Real>
void yee_send(const Device& device, const YeeTask<Real>& task, const YeeAntenna& antenna, YeeClock* clock, bool last);
template <class Real>
void yee_send_cuda(const Device& device, const YeeTask<Real>& task, const YeeAntenna& antenna, YeeClock* clock,
                   bool last);

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
