// Fields of a plasma on the host: see host_field.hpp. Places are in cells, fields in the units of PlasmaOptions.
#include "plasma/host_field.hpp"

#include <algorithm>

#include "device/parallel.hpp"
#include "physics/plasma_push.hpp"

namespace pergola {

namespace {

/// A grid point of a periodic axis.
int wrapped(int point, int cells) {
  point %= cells;
  return point < 0 ? point + cells : point;
}

/// One component of the field at a place; x fastest.
template <int dimensions, int points>
double field_at(const std::array<int, 3>& cells, const plasma::LayerWindow& window,
                const physics::AxisWeights<points, double> (&cloud)[dimensions], const std::vector<double>& field) {
  double weight[dimensions][points], value[points * points * points] = {};
  for (int a = 0; a < dimensions; ++a)
    for (int i = 0; i < points; ++i) weight[a][i] = cloud[a].weight[i];
  for (int k = 0; k < (dimensions == 3 ? points : 1); ++k)
    for (int j = 0; j < points; ++j)
      for (int i = 0; i < points; ++i) {
        const int y = cloud[1].first + j;
        const std::int64_t row =
            dimensions == 3 ? std::int64_t{window.at(cloud[dimensions - 1].first + k)} * cells[1] + wrapped(y, cells[1])
                            : window.at(y);
        value[(k * points + j) * points + i] = field[row * cells[0] + wrapped(cloud[0].first + i, cells[0])];
      }
  return physics::interpolate<dimensions, points>(weight, value);
}

/// The same clouds, weights and pusher as in a step; only the precision is always double.
template <int dimensions, int points>
void kick_particles(const PlasmaOptions& options, const HostFields& fields,
                    const physics::BorisFactors<double>& factors, std::int64_t begin, std::int64_t end,
                    PlasmaParticles& particles) {
  const auto& [electric, window] = fields;
  const std::vector<double>* const place[] = {&particles.x, &particles.y, &particles.z};
  for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
    physics::AxisWeights<points, double> cloud[dimensions];
    for (int a = 0; a < dimensions; ++a)
      cloud[a] = physics::axis_cloud<points, double>(
          static_cast<std::int64_t>((*place[a])[i] * physics::place_grains<double>));
    Vec3<double> field{field_at<dimensions, points>(options.cells, window, cloud, electric[0]),
                       field_at<dimensions, points>(options.cells, window, cloud, electric[1]), 0};
    if (dimensions == 3) field.z = field_at<dimensions, points>(options.cells, window, cloud, electric[2]);
    Vec3<double> v{particles.vx[i], particles.vy[i], options.velocities == 3 ? particles.vz[i] : 0.0};
    v = physics::UniformBoris::push<dimensions, 3>(v, field, factors);
    particles.vx[i] = v.x, particles.vy[i] = v.y;
    if (options.velocities == 3) particles.vz[i] = v.z;
  }
}

}  // namespace

Grid plasma_grid(const PlasmaOptions& options) {
  Grid grid{options.dimensions, options.cells, {}};
  grid.box.side = {double(options.cells[0]), double(options.cells[1]), double(options.cells[2])};
  grid.box.boundary = Boundary::periodic;
  return grid;
}

std::vector<double> gather_layers(Communicator& ranks, const plasma::TileSlab& slab, const std::vector<double>& own,
                                  std::int64_t layer) {
  const SlabPlanes planes = slab.planes(ranks);
  const auto size = [&](int layers) { return static_cast<std::size_t>(layer * layers); };
  std::vector<double> all(size(planes.planes()));
  std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(size(planes.first())));
  std::vector<std::size_t> bytes;
  for (int rank = 0; rank < ranks.size(); ++rank) bytes.push_back(sizeof(double) * size(planes.count(rank)));
  ranks.all_gather_in_place(all.data(), bytes);
  return all;
}

std::vector<double> gather_block(Communicator& ranks, const plasma::TileSlab& slab, const std::vector<double>& own,
                                 const FieldBlock& block) {
  const SlabPlanes planes = slab.planes(ranks);
  const std::int64_t rows = slab.rows_in_layer(), layer = rows * block.columns;
  // The part of a rank, in layers of the block.
  const auto begin = [&](int rank) { return std::clamp(planes.first(rank) - block.first_layer, 0, block.layers); };
  const auto size = [&](int rank) { return static_cast<std::size_t>(layer * (begin(rank + 1) - begin(rank))); };

  std::vector<double> cut;
  cut.reserve(size(ranks.rank()));
  const std::int64_t above = block.first_layer - slab.first;  // from the first layer here
  for (std::int64_t row = rows * (above + begin(ranks.rank())); row < rows * (above + begin(ranks.rank() + 1)); ++row) {
    const auto first = own.begin() + row * slab.cells[0] + block.first_column;
    cut.insert(cut.end(), first, first + block.columns);
  }
  std::vector<Communicator::Incoming> in;
  std::vector<Communicator::Outgoing> out;
  if (!ranks.is_root()) {
    if (!cut.empty()) out.push_back({0, cut.data(), cut.size() * sizeof(double)});
    ranks.exchange(out, in);
    return {};
  }
  cut.resize(static_cast<std::size_t>(layer * block.layers));  // rank 0 has the first layers
  for (int rank = 1; rank < ranks.size(); ++rank)
    if (size(rank) > 0) in.push_back({rank, cut.data() + layer * begin(rank), size(rank) * sizeof(double)});
  ranks.exchange(out, in);
  return cut;
}

void kick_on_host(const PlasmaOptions& options, double charge_per_mass, const HostFields& fields, double kick,
                  int threads, PlasmaParticles& particles) {
  const auto factors = physics::boris_factors<double>(charge_per_mass, options.magnetic_field, kick);
  const bool quadratic = options.shape == PlasmaShape::quadratic;
  const auto kick_some = options.dimensions == 3 ? (quadratic ? kick_particles<3, 3> : kick_particles<3, 2>)
                                                 : (quadratic ? kick_particles<2, 3> : kick_particles<2, 2>);
  parallel_chunks(threads, particles.size(), 4096, [&](std::int64_t begin, std::int64_t end) {
    kick_some(options, fields, factors, begin, end, particles);
  });
}

}  // namespace pergola
