#include "models/merge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "models/sampling.hpp"

namespace pergola {

namespace {

/// Turns v by an angle about the axis (cos φ, sin φ, 0). Rodrigues' formula.
Vec3<double> turned(const Vec3<double>& v, double phi, double angle) {
  const Vec3<double> axis{std::cos(phi), std::sin(phi), 0};
  const double c = std::cos(angle), s = std::sin(angle);
  return c * v + s * cross(axis, v) + ((1 - c) * dot(axis, v)) * axis;
}

// Whole chunks of the ordered sums, so that sums over pieces have the bits of sums over all.
constexpr std::int64_t particles_per_piece = std::int64_t{1} << 22;
static_assert(particles_per_piece % sum_chunk == 0);

/// Calls use(piece) for all particles of a source, a piece at a time.
template <class Use>
void for_pieces(ParticleSource& source, const Use& use) {
  if (const Particles* whole = source.whole()) return use(*whole);
  Particles piece;
  for (std::int64_t first = 0; first < source.count(); first += particles_per_piece) {
    source.read(first, std::min(particles_per_piece, source.count() - first), piece);
    use(piece);
  }
}

}  // namespace

double total_mass(const Particles& particles) {
  double sum = 0;
  for (const double m : particles.mass) sum += m;
  return sum;
}

/// The relative state on the way to the pericentre, for two points with the total mass.
physics::KeplerState<double> merge_orbit(double total, const MergeOptions& o) {
  const double apocentre = o.eccentricity < 1 ? o.pericentre * (1 + o.eccentricity) / (1 - o.eccentricity)
                                              : std::numeric_limits<double>::infinity();
  if (o.separation < o.pericentre || o.separation > apocentre * (1 + 1e-12))
    throw Error(ErrorKind::input, fmt::format("separation: expected a distance from the pericentre {} to the apocentre "
                                              "{} of the orbit, found {}",
                                              to_text(o.pericentre), to_text(apocentre), to_text(o.separation)));
  return physics::kepler_inbound_state(o.gravitational_constant * total, o.pericentre, o.eccentricity, o.separation);
}

/// Mass, centre of mass and largest id.
void MergedSource::measure(System& system) const {
  double total = 0;  // for the centre, in the order of its sums
  std::array<double, 6> sums{};
  for_pieces(*system.source, [&](const Particles& p) {
    for (const double m : p.mass) system.mass += m;
    const auto add = [&](double& sum, const auto& value) { sum = ordered_sum(p.size(), threads_, value, sum); };
    add(total, [&](std::size_t i) { return p.mass[i]; });
    const std::array values{&p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz};
    for (std::size_t k = 0; k < values.size(); ++k)
      add(sums[k], [&](std::size_t i) { return p.mass[i] * (*values[k])[i]; });
    for (const std::uint64_t id : p.id) system.largest_id = std::max(system.largest_id, id);
  });
  system.centre = {{sums[0] / total, sums[1] / total, sums[2] / total},
                   {sums[3] / total, sums[4] / total, sums[5] / total}};
}

MergedSource::MergedSource(std::unique_ptr<ParticleSource> first, std::unique_ptr<ParticleSource> second,
                           const MergeOptions& options, int threads)
    : threads_(threads) {
  systems_[0].source = std::move(first), systems_[1].source = std::move(second);
  for (System& system : systems_) measure(system);
  auto& [one, two] = systems_;
  const double total = one.mass + two.mass;
  if (!(one.mass > 0 && two.mass > 0))
    throw Error(ErrorKind::input, fmt::format("mass: expected two systems with masses > 0, found {} and {}",
                                              to_text(one.mass), to_text(two.mass)));
  const auto orbit = merge_orbit(total, options);
  one.orbit = {-two.mass / total * orbit.x, -two.mass / total * orbit.v};
  two.orbit = {one.mass / total * orbit.x, one.mass / total * orbit.v};
  // A system whose companion has its pericentre in the direction `pericentre` of the orbit's plane is tilted about the
  // line in which the companion rises through the disc, so that the orbit has the inclination over the disc.
  constexpr double degree = std::numbers::pi / 180;
  const auto tilt = [&](System& system, const DiscTilt& by, double pericentre) {
    system.node = pericentre - by.argument * degree, system.angle = -by.inclination * degree;
  };
  tilt(one, options.first, 0), tilt(two, options.second, std::numbers::pi);
  if (two.largest_id > std::numeric_limits<std::uint64_t>::max() - one.largest_id)
    throw Error(ErrorKind::input,
                fmt::format("ids: expected ids of both that together fit into 64 bits, found {} and {}", one.largest_id,
                            two.largest_id));
  two.id_offset = one.largest_id;
}

/// To the centre of mass, turned, then onto the orbit. Potentials are dropped: they hold for one system alone.
void MergedSource::place(const System& system, Particles& p) const {
  const auto &centre = system.centre, &orbit = system.orbit;
  p.potential.clear();
  for (auto& id : p.id) id += system.id_offset;
  parallel_chunks(threads_, p.size(), 4096, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const Vec3<double> at{p.x[i] - centre.x.x, p.y[i] - centre.x.y, p.z[i] - centre.x.z},
          moving{p.vx[i] - centre.v.x, p.vy[i] - centre.v.y, p.vz[i] - centre.v.z};
      const auto x = turned(at, system.node, system.angle) + orbit.x,
                 v = turned(moving, system.node, system.angle) + orbit.v;
      p.x[i] = x.x, p.y[i] = x.y, p.z[i] = x.z;
      p.vx[i] = v.x, p.vy[i] = v.y, p.vz[i] = v.z;
    }
  });
}

/// Particles of the first system come first, then those of the second.
void MergedSource::read(std::int64_t first, std::int64_t n, Particles& to) {
  if (n == 0) return to.resize(0);
  const std::int64_t border = systems_[0].source->count(), of_first = std::clamp<std::int64_t>(border - first, 0, n);
  if (of_first > 0) {
    systems_[0].source->read(first, of_first, to);
    place(systems_[0], to);
  }
  if (of_first == n) return;
  Particles rest;
  Particles& second = of_first > 0 ? rest : to;
  systems_[1].source->read(first + of_first - border, n - of_first, second);
  place(systems_[1], second);
  if (of_first > 0) to.append(rest);
}

Particles merge_on_orbit(Particles first, Particles second, const MergeOptions& options, int threads) {
  const MergedSource merged(std::make_unique<HostParticles>(first), std::make_unique<HostParticles>(second), options,
                            threads);
  merged.place(merged.systems_[0], first), merged.place(merged.systems_[1], second);
  first.append(second);
  return first;
}

}  // namespace pergola
