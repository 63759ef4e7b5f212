// Replays a trace: see replay.hpp. A damaged or invented trace must not crash the program or take all memory.
//
// Therefore lengths of lists and addresses are checked against the block and the size of the file before they are used.
// Clusters are opened when an id is first used, as a client may do.
#include "g6/replay.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "g6/cluster.hpp"
#include "g6/trace.hpp"

namespace pergola::g6 {

namespace {

Vec3<double> vector_at(const double* from, double factor = 1) {
  return {factor * from[0], factor * from[1], factor * from[2]};
}

/// |a − b| / |b|; 0 or 1 if b = 0.
double relative(const Vec3<double>& a, const Vec3<double>& b) {
  const Vec3<double> d = a - b;
  const double size = std::sqrt(dot(b, b)), difference = std::sqrt(dot(d, d));
  return difference == 0 ? 0 : size > 0 ? difference / size : 1;
}

/// Sorts the values. The 99th percentile is the smallest value that at least 99 % do not exceed.
ReplayDifferences summary(std::vector<double>& values) {
  ReplayDifferences result;
  result.count = static_cast<std::int64_t>(values.size());
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  result.median = values[values.size() / 2];
  result.p99 = values[(99 * values.size() + 99) / 100 - 1];
  result.max = values.back();
  return result;
}

/// Throws if a list's length differs from the block's. An empty list: the client did not give it.
void require_length(const char* list, std::size_t found, std::size_t expected, bool may_be_missing) {
  if (found == expected || (found == 0 && may_be_missing)) return;
  throw Error(ErrorKind::input, fmt::format("{}: expected {} values, found {}", list, expected, found));
}

/// The most addresses for a trace of this size: a damaged trace with few particles and a far address would take
/// gigabytes. Clients leave few holes in their memory.
std::int64_t largest_memory(std::uintmax_t trace_bytes) {
  constexpr std::int64_t always = std::int64_t{1} << 20, holes = 4, record_bytes = 150;
  const auto size = static_cast<std::int64_t>(std::min<std::uintmax_t>(trace_bytes, std::uintmax_t{1} << 60));
  return std::max(always, holes * (size / record_bytes));
}

/// The clusters of the replay and what was measured so far.
class Replay {
 public:
  Replay(const Device& device, Precision precision, bool self_neighbour, std::int64_t addresses)
      : device_(device), addresses_(addresses) {
    options_.precision = precision;
    options_.self_neighbour = self_neighbour;
  }

  /// Throws Error(input) if the call contradicts itself or calls before it.
  void run(const TraceCall& call);
  ReplayReport report();

 private:
  Cluster& cluster(int id) {
    auto& found = clusters_[id];
    if (!found) found.emplace(device_, options_);
    return *found;
  }
  /// Adds the time of body() to the time in the library.
  template <class Body>
  void timed(const Body& body) {
    const auto begin = Clock::now();
    body();
    report_.seconds += seconds_since(begin);
  }
  void set_j_particle(const TraceCall& call);
  void first_half(const TraceCall& call);
  void last_half(const TraceCall& call);
  void get_list(const TraceCall& call);

  Device device_;
  std::int64_t addresses_;
  ClusterOptions options_;
  std::map<int, std::optional<Cluster>> clusters_;
  ReplayReport report_;
  std::vector<double> acceleration_, jerk_, potential_;
};

void Replay::run(const TraceCall& call) {
  using Kind = TraceCall::Kind;
  ++report_.calls;
  switch (call.kind) {
    case Kind::open:
      timed([&] { cluster(call.id); });
      break;
    case Kind::close:
      clusters_.erase(call.id);
      break;
    case Kind::set_time:
      cluster(call.id).set_time(call.time);
      break;
    case Kind::set_j_particle:
      set_j_particle(call);
      break;
    case Kind::first_half:
      first_half(call);
      break;
    case Kind::last_half:
      last_half(call);
      break;
    case Kind::read_lists:
      if (cluster(call.id).started()) timed([&] { cluster(call.id).read_neighbour_lists(); });
      break;
    case Kind::get_list:
      get_list(call);
      break;
    case Kind::count:
      break;
  }
}

/// The derivatives of the interface are a/2, jerk/6 and snap/18.
void Replay::set_j_particle(const TraceCall& call) {
  const double* v = call.vectors;
  if (call.result != 0) return;
  if (call.address < 0 || call.address >= addresses_)
    throw Error(ErrorKind::input, fmt::format("address: expected 0 to {} in a trace of this size, found {}",
                                              addresses_ - 1, call.address));
  ++report_.j_particles;
  timed([&] {
    cluster(call.id).set_j_particle(
        call.address, {call.index, call.time, call.mass, vector_at(v + 12), vector_at(v + 9), vector_at(v + 6, 2),
                       vector_at(v + 3, 6), vector_at(v, 18)});
  });
}

void Replay::first_half(const TraceCall& call) {
  if (call.result != 0) return;
  const auto triples = [](const std::vector<double>& values) {
    return values.empty() ? nullptr : reinterpret_cast<const double(*)[3]>(values.data());
  };
  const auto ni = static_cast<std::int64_t>(call.indices.size());
  require_length("positions", call.x.size(), 3 * call.indices.size(), false);
  require_length("velocities", call.v.size(), 3 * call.indices.size(), true);
  require_length("h2", call.h2.size(), call.indices.size(), true);
  ++report_.blocks;
  report_.i_particles += ni;
  report_.interactions += ni * call.nj;
  timed([&] {
    cluster(call.id).start(call.nj, {ni, call.indices.data(), triples(call.x), triples(call.v), call.epsilon2,
                                     call.h2.empty() ? nullptr : call.h2.data()});
  });
}

/// Checks that recorded results are those of the block or of its first particles.
void check_answers(const TraceCall& call, std::int64_t block) {
  const std::size_t most = std::max({call.acceleration.size() / 3, call.jerk.size() / 3, call.potential.size(),
                                     call.indices.size(), call.distance.size()});
  if (most > static_cast<std::size_t>(block))
    throw Error(ErrorKind::input,
                fmt::format("answers: expected those of the {} particles of the block, found {}", block, most));
  require_length("accelerations", call.acceleration.size(), 3 * most, true);
  require_length("jerks", call.jerk.size(), 3 * most, true);
  require_length("potentials", call.potential.size(), most, true);
  require_length("nearest neighbours", call.indices.size(), most, true);
  require_length("distances", call.distance.size(), most, true);
}

void Replay::last_half(const TraceCall& call) {
  Cluster& asked = cluster(call.id);
  if (call.result != 0 || !asked.started()) return;
  check_answers(call, asked.count());
  timed([&] { asked.finish(!call.indices.empty() || !call.distance.empty()); });
  const auto at = [](const std::vector<double>& values, std::int64_t k) { return vector_at(values.data() + 3 * k); };
  for (std::int64_t k = 0; 3 * k < static_cast<std::int64_t>(call.acceleration.size()); ++k)
    acceleration_.push_back(relative(asked.acceleration(k), at(call.acceleration, k)));
  for (std::int64_t k = 0; 3 * k < static_cast<std::int64_t>(call.jerk.size()); ++k)
    jerk_.push_back(relative(asked.jerk(k), at(call.jerk, k)));
  for (std::size_t k = 0; k < call.potential.size(); ++k)
    potential_.push_back(relative({asked.potential(static_cast<std::int64_t>(k)), 0, 0}, {call.potential[k], 0, 0}));
  for (std::size_t k = 0; k < call.indices.size(); ++k) {
    ++report_.nearest_compared;
    report_.nearest_different += asked.nearest(static_cast<std::int64_t>(k)) != call.indices[k];
  }
}

/// Lists are compared as sets: their order is not part of the interface.
void Replay::get_list(const TraceCall& call) {
  Cluster& asked = cluster(call.id);
  if (call.result != 0 || !asked.started()) return;
  bool complete = true;
  timed([&] {
    if (!asked.has_neighbour_lists()) complete = asked.read_neighbour_lists();
  });
  if (!complete) return;
  if (call.address < 0 || call.address >= asked.count())
    throw Error(ErrorKind::input, fmt::format("ipipe: expected a place in the block of {} particles, found {}",
                                              asked.count(), call.address));
  const auto found = asked.neighbours(call.address);
  std::vector<int> list(found.begin(), found.end()), recorded = call.indices;
  std::sort(list.begin(), list.end());
  std::sort(recorded.begin(), recorded.end());
  ++report_.lists_compared;
  report_.lists_different += list != recorded;
}

ReplayReport Replay::report() {
  report_.acceleration = summary(acceleration_);
  report_.jerk = summary(jerk_);
  report_.potential = summary(potential_);
  return report_;
}

}  // namespace

ReplayReport replay_trace(const std::filesystem::path& path, const Device& device, Precision precision,
                          bool self_neighbour, const std::function<void()>& look) {
  TraceReader reader(path);
  Replay replay(device, precision, self_neighbour, largest_memory(reader.bytes()));
  TraceCall call;
  auto last = Clock::now();
  for (std::int64_t number = 1; reader.next(call); ++number) {
    try {
      replay.run(call);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      throw Error(ErrorKind::input, fmt::format("{}: call {}: {}", path.string(), number, error.what()));
    }
    if (look && Clock::now() - last > std::chrono::milliseconds(100)) {
      look();
      last = Clock::now();
    }
  }
  ReplayReport report = replay.report();
  report.truncated = reader.truncated();
  return report;
}

}  // namespace pergola::g6
