#include "plasma/host_field.hpp"

#include "device/parallel.hpp"
#include "physics/plasma_push.hpp"

namespace pergola {

namespace {

int wrapped(int point, int cells) {
  point %= cells;
  return point < 0 ? point + cells : point;
}

/// One component of the field at a place; x fastest.
template <int dimensions, int points>
double field_at(const std::array<int, 3>& cells, const physics::AxisWeights<points, double> (&cloud)[dimensions],
                const std::vector<double>& field) {
  double weight[dimensions][points], value[points * points * points] = {};
  for (int a = 0; a < dimensions; ++a)
    for (int i = 0; i < points; ++i) weight[a][i] = cloud[a].weight[i];
  for (int k = 0; k < (dimensions == 3 ? points : 1); ++k)
    for (int j = 0; j < points; ++j)
      for (int i = 0; i < points; ++i) {
        const std::int64_t z = dimensions == 3 ? wrapped(cloud[dimensions - 1].first + k, cells[2]) : 0;
        const std::int64_t row = z * cells[1] + wrapped(cloud[1].first + j, cells[1]);
        value[(k * points + j) * points + i] = field[row * cells[0] + wrapped(cloud[0].first + i, cells[0])];
      }
  return physics::interpolate<dimensions, points>(weight, value);
}

template <int dimensions, int points>
void kick_particles(const PlasmaOptions& options, const std::array<std::vector<double>, 3>& electric,
                    const physics::BorisFactors<double>& factors, std::int64_t begin, std::int64_t end,
                    PlasmaParticles& particles) {
  const std::vector<double>* const place[] = {&particles.x, &particles.y, &particles.z};
  for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
    physics::AxisWeights<points, double> cloud[dimensions];
    for (int a = 0; a < dimensions; ++a)
      cloud[a] = physics::axis_cloud<points, double>(
          static_cast<std::int64_t>((*place[a])[i] * physics::place_grains<double>));
    Vec3<double> field{field_at<dimensions, points>(options.cells, cloud, electric[0]),
                       field_at<dimensions, points>(options.cells, cloud, electric[1]), 0};
    if (dimensions == 3) field.z = field_at<dimensions, points>(options.cells, cloud, electric[2]);
    Vec3<double> v{particles.vx[i], particles.vy[i], options.velocities == 3 ? particles.vz[i] : 0.0};
    v = physics::boris_push<dimensions, 3, true>(v, field, factors);
    particles.vx[i] = v.x, particles.vy[i] = v.y;
    if (options.velocities == 3) particles.vz[i] = v.z;
  }
}

}  // namespace

void kick_on_host(const PlasmaOptions& options, double charge_per_mass,
                  const std::array<std::vector<double>, 3>& electric, double kick, int threads,
                  PlasmaParticles& particles) {
  const auto factors = physics::boris_factors<double>(charge_per_mass, options.magnetic_field, kick);
  const bool quadratic = options.shape == PlasmaShape::quadratic;
  const auto kick_some = options.dimensions == 3 ? (quadratic ? kick_particles<3, 3> : kick_particles<3, 2>)
                                                 : (quadratic ? kick_particles<2, 3> : kick_particles<2, 2>);
  parallel_chunks(threads, particles.size(), 4096, [&](std::int64_t begin, std::int64_t end) {
    kick_some(options, electric, factors, begin, end, particles);
  });
}

}  // namespace pergola
