#pragma once
/// The options of a plasma and the units of its computation.
///
/// All of src/plasma computes in these units: lengths in cells, times in 1/ω_p, charge and mass in e and m_e, densities
/// in n₀. plasma/units.hpp converts to the units of files. PlasmaOptions are checked by make_particle_in_cell().
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/vec.hpp"

namespace pergola {

/// The particle's cloud: the number of grid points that it touches along an axis.
enum class PlasmaShape { linear = 2, quadratic = 3 };
inline constexpr std::array<std::string_view, 2> plasma_shape_names{"linear", "quadratic"};

/// The rotation of a relativistic push: physics/plasma_push.inl.
enum class PlasmaPusher { boris, higuera_cary };
inline constexpr std::array<std::string_view, 2> plasma_pusher_names{"boris", "higuera-cary"};

/// A kind of particle. Charge and mass are in units of e and m_e; a macro-particle stands for `weight` particles, in
/// units of the reference density times the volume of a cell.
struct PlasmaSpecies {
  std::string name;
  double charge = -1;
  double mass = 1;
  double weight = 1;
};

/// What is at both ends of an axis, for light: the other end; a conductor at the first grid point, which is also the
/// one beyond the last; or the same with a layer in front of it that absorbs waves. Particles know periodic ends only.
enum class PlasmaEdge { periodic, conducting, absorbing };
inline constexpr std::array<std::string_view, 3> plasma_edge_names{"periodic", "conducting", "absorbing"};

/// A laser pulse that an antenna sends out, in units of computation; physics/laser.hpp has the meaning of the numbers.
/// The antenna is the plane of grid points nearest to x, which sends the same pulse backwards too; the beam crosses it
/// at (y, z).
struct PlasmaLaser {
  double amplitude = 1;  // a₀ = e E₀/(m_e c ω) in the focus
  double wavelength = 16;
  double waist = 0;  // 0: a plane wave
  double focus = 0, duration = 1, delay = 0, angle = 0;
  double polarisation = 0;  // the angle of E from the x-y plane to z
  double x = 0, y = 0, z = 0;
};

/// A plasma in a periodic box, in units of computation: the length is a cell (cells are cubes), the time 1/ω_p with
/// ω_p² = n₀ e²/(ε₀ m_e) for the reference density n₀. Then dv/dt = (q/m) (E + v × B) and ∇·E = ρ with ρ in e n₀, E in
/// m_e ω_p² cell/e, B in m_e ω_p/e. Grid point i of an axis is at position i. With light, velocities of particles are
/// u = γ v, and ∂E/∂t = c² ∇×B − J, ∂B/∂t = −∇×E.
struct PlasmaOptions {
  std::string field = "electrostatic";  // the field solver (plasma/field.hpp)
  int dimensions = 2;
  std::array<int, 3> cells{1, 1, 1};  // 2D: one along z
  int velocities = 2;                 // components that are kept: 2 or 3 in 2D, 3 in 3D
  PlasmaShape shape = PlasmaShape::linear;
  double smoothing = 0;                  // a of the finite-size particles S(k) = exp(−(k a)²/2), in cells; 0: none
  Vec3<double> magnetic_field{0, 0, 0};  // two velocities: along z only
  double light_speed = 0;                // c in cells ω_p; 0: the field solver knows no light
  PlasmaPusher pusher = PlasmaPusher::boris;  // with light
  std::array<PlasmaEdge, 3> edges{};          // of the axes, for light
  int absorbing_cells = 10;                   // thickness of the absorbing layers
  std::vector<PlasmaLaser> lasers;
  bool background = true;  // a uniform charge that makes the box neutral
  std::vector<PlasmaSpecies> species;

  /// The volume of the box, as a cell has volume 1.
  std::int64_t cell_count() const { return std::int64_t{cells[0]} * cells[1] * cells[2]; }
  bool magnetised() const { return magnetic_field.x != 0 || magnetic_field.y != 0 || magnetic_field.z != 0; }
};

}  // namespace pergola
