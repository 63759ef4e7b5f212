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

/// The values of one component in a cloud that begins at a point; x fastest. `half`: StaggeredCloud; 0: at the points.
template <int dimensions, int points, unsigned half>
void values_at(const std::array<int, 3>& cells, const plasma::LayerWindow& window, const int* first,
               const std::vector<double>& field, double* value) {
  using Cloud = physics::StaggeredCloud<dimensions, points, half>;
  for (int k = 0; k < Cloud::z; ++k)
    for (int j = 0; j < Cloud::y; ++j)
      for (int i = 0; i < Cloud::x; ++i) {
        const int y = first[1] + j;
        const std::int64_t row =
            dimensions == 3 ? std::int64_t{window.at(first[2] + k)} * cells[1] + wrapped(y, cells[1]) : window.at(y);
        *value++ = field[row * cells[0] + wrapped(first[0] + i, cells[0])];
      }
}

/// All that a particle gathers, as its pusher takes it.
template <int dimensions, int points, class Pusher>
auto fields_at(const std::array<int, 3>& cells, const HostFields& fields, const std::int64_t* place) {
  const auto& [electric, magnetic, window] = fields;
  double weight[dimensions][points];
  int first[3] = {};
  for (int a = 0; a < dimensions; ++a) {
    const auto cloud = physics::axis_cloud<points, double>(place[a]);
    first[a] = cloud.first;
    for (int i = 0; i < points; ++i) weight[a][i] = cloud.weight[i];
  }
  const auto values = [&]<unsigned half>(const std::vector<double>& field, double* to) {
    values_at<dimensions, points, half>(cells, window, first, field, to);
  };
  if constexpr (Pusher::relativistic) {
    constexpr physics::StaggeredWords<dimensions, points> words;
    double value[words.begin[6]], lower[dimensions][points];
    for (int a = 0; a < dimensions; ++a)
      physics::lower_weights<points>(physics::inside_cell<points, double>(place[a]), 0.5, lower[a]);
    values.template operator()<1>(electric[0], value + words.begin[0]);
    values.template operator()<2>(electric[1], value + words.begin[1]);
    values.template operator()<4>(electric[2], value + words.begin[2]);
    values.template operator()<6>(magnetic[0], value + words.begin[3]);
    values.template operator()<5>(magnetic[1], value + words.begin[4]);
    values.template operator()<3>(magnetic[2], value + words.begin[5]);
    return physics::staggered_field<dimensions, points>(weight, lower, value);
  } else {
    double value[points * points * points] = {};
    Vec3<double> field{0, 0, 0};
    double* const to[] = {&field.x, &field.y, &field.z};
    for (std::size_t a = 0; a < dimensions; ++a) {
      values.template operator()<0>(electric[a], value);
      *to[a] = physics::interpolate<dimensions, points>(weight, value);
    }
    return field;
  }
}

/// The same clouds, weights and pusher as in a step; only the precision is always double.
template <int dimensions, int points, class Pusher>
void kick_particles(const PlasmaOptions& options, const HostFields& fields,
                    const physics::BorisFactors<double>& factors, std::int64_t begin, std::int64_t end,
                    PlasmaParticles& particles) {
  const std::vector<double>* const coordinate[] = {&particles.x, &particles.y, &particles.z};
  for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
    std::int64_t place[dimensions];
    for (int a = 0; a < dimensions; ++a)
      place[a] = static_cast<std::int64_t>((*coordinate[a])[i] * physics::place_grains<double>);
    const auto field = fields_at<dimensions, points, Pusher>(options.cells, fields, place);
    Vec3<double> v{particles.vx[i], particles.vy[i], options.velocities == 3 ? particles.vz[i] : 0.0};
    v = Pusher::template push<dimensions, 3>(v, field, factors);
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
  const auto factors =
      physics::boris_factors<double>(charge_per_mass, options.magnetic_field, kick, options.light_speed);
  const bool quadratic = options.shape == PlasmaShape::quadratic;
  const bool relativistic = options.light_speed > 0;  // else a magnetic field of zero takes no pusher of its own
  const auto kick_some = physics::with_pusher<3>(
      relativistic ? plasma::pusher_of(options) : physics::PusherKind::uniform_boris, [&]<class Pusher>(Pusher) {
        return options.dimensions == 3 ? (quadratic ? kick_particles<3, 3, Pusher> : kick_particles<3, 2, Pusher>)
                                       : (quadratic ? kick_particles<2, 3, Pusher> : kick_particles<2, 2, Pusher>);
      });
  parallel_chunks(threads, particles.size(), 4096, [&](std::int64_t begin, std::int64_t end) {
    kick_some(options, fields, factors, begin, end, particles);
  });
}

}  // namespace pergola
