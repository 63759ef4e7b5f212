#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>

#include "analysis/analysis.hpp"

namespace pergola {

/// The halo of Navarro, Frenk & White 1997 in a periodic box, from its closed formulas: m(x) = ln(1 + x) − x/(1 + x) is
/// the mass within x scale radii. Radii are quantiles of the mass and directions go around by the golden ratio, so that
/// there is hardly any noise; a lattice makes up the rest of the mass.
struct SampledHalo {
  static constexpr double side = 10, matter_part = 0.3, total = 20000, mass = 4000, concentration = 8, edge = 2.5;
  static constexpr std::int64_t lattice = 24;

  static double m(double x) { return std::log1p(x) - x / (1 + x); }
  static double mean() { return total / (side * side * side); }
  static double sphere(double r) { return 4 * std::numbers::pi / 3 * r * r * r; }
  static double r200c() { return std::cbrt(mass / (200 * mean() / matter_part * sphere(1))); }
  static double scale() { return r200c() / concentration; }
  /// The halo's own mass within r, which ends at `edge` radii r200c.
  static double within(double r) { return mass * m(std::fmin(r, edge * r200c()) / scale()) / m(concentration); }
  static double halo_mass() { return within(edge * r200c()); }
  static double lattice_density() { return (total - halo_mass()) / (side * side * side); }
  /// The radius in which halo and lattice have this mean density.
  static double radius_of(double density) {
    double low = scale(), high = edge * r200c();
    for (int k = 0; k < 100; ++k) {
      const double r = (low + high) / 2;
      (within(r) + lattice_density() * sphere(r) > density * sphere(r) ? low : high) = r;
    }
    return low;
  }

  /// About `center`; it turns as a solid with `turn` about z and moves.
  static AnalysisSnapshot make(const Vec3<double>& center, double turn, const Vec3<double>& velocity) {
    const auto members = static_cast<std::size_t>(std::lround(halo_mass()));
    AnalysisSnapshot snapshot;
    snapshot.name = "halo";
    snapshot.box = {{0, 0, 0}, {side, side, side}, Boundary::periodic};
    snapshot.matter_part = matter_part;
    Particles& p = snapshot.particles;
    p.resize(static_cast<std::int64_t>(members) + lattice * lattice * lattice);
    for (std::size_t i = 0; i < p.id.size(); ++i) {
      if (i < members)
        place_member(p, i, halo_mass() / static_cast<double>(members), center, turn, velocity);
      else
        place_on_lattice(p, i, static_cast<std::int64_t>(i - members));
    }
    return snapshot;
  }

 private:
  static double wrapped(double x) { return x - side * std::floor(x / side); }

  static void place_member(Particles& p, std::size_t i, double one, const Vec3<double>& center, double turn,
                           const Vec3<double>& velocity) {
    const double wanted = one * (static_cast<double>(i) + 0.5);
    double low = 0, high = edge * r200c();
    for (int k = 0; k < 60; ++k) (within((low + high) / 2) < wanted ? low : high) = (low + high) / 2;
    const double part = static_cast<double>(i) * 0.6180339887498949, c = 1 - 2 * (part - std::floor(part));
    const double s = std::sqrt(1 - c * c), phi = 2.39996322972865 * static_cast<double>(i) * 1.3247179572;
    const double x = low * s * std::cos(phi), y = low * s * std::sin(phi);
    p.mass[i] = one;
    p.x[i] = wrapped(center.x + x), p.y[i] = wrapped(center.y + y), p.z[i] = wrapped(center.z + low * c);
    p.vx[i] = velocity.x - turn * y, p.vy[i] = velocity.y + turn * x, p.vz[i] = velocity.z;
  }

  static void place_on_lattice(Particles& p, std::size_t i, std::int64_t k) {
    const auto along = [](std::int64_t j) { return (static_cast<double>(j) + 0.5) * side / lattice; };
    p.mass[i] = lattice_density() * side * side * side / (lattice * lattice * lattice);
    p.x[i] = along(k % lattice), p.y[i] = along(k / lattice % lattice), p.z[i] = along(k / lattice / lattice);
  }
};

}  // namespace pergola
