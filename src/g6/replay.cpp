#include "g6/replay.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "g6/cluster.hpp"
#include "g6/trace.hpp"

namespace pergola::g6 {

namespace {

using Clock = std::chrono::steady_clock;

Vec3<double> vector_at(const double* from, double factor = 1) {
  return {factor * from[0], factor * from[1], factor * from[2]};
}

/// |a − b| / |b|; where b = 0, 0 or 1.
double relative(const Vec3<double>& a, const Vec3<double>& b) {
  const Vec3<double> d = a - b;
  const double size = std::sqrt(dot(b, b)), difference = std::sqrt(dot(d, d));
  return difference == 0 ? 0 : size > 0 ? difference / size : 1;
}

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

class Replay {
 public:
  Replay(const Device& device, Precision precision, bool self_neighbour) : device_(device) {
    options_.precision = precision;
    options_.self_neighbour = self_neighbour;
  }

  void run(const TraceCall& call);
  ReplayReport report();

 private:
  Cluster& cluster(int id) {
    auto& found = clusters_[id];
    if (!found) found.emplace(device_, options_);
    return *found;
  }
  template <class Body>
  void timed(const Body& body) {
    const auto begin = Clock::now();
    body();
    report_.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  }
  void set_j_particle(const TraceCall& call);
  void first_half(const TraceCall& call);
  void last_half(const TraceCall& call);
  void get_list(const TraceCall& call);

  Device device_;
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
  ++report_.blocks;
  report_.i_particles += ni;
  report_.interactions += ni * call.nj;
  timed([&] {
    cluster(call.id).start(call.nj, {ni, call.indices.data(), triples(call.x), triples(call.v), call.epsilon2,
                                     call.h2.empty() ? nullptr : call.h2.data()});
  });
}

void Replay::last_half(const TraceCall& call) {
  Cluster& asked = cluster(call.id);
  if (call.result != 0 || !asked.started()) return;
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

void Replay::get_list(const TraceCall& call) {
  Cluster& asked = cluster(call.id);
  if (call.result != 0 || !asked.started()) return;
  bool complete = true;
  timed([&] {
    if (!asked.has_neighbour_lists()) complete = asked.read_neighbour_lists();
  });
  if (!complete || call.address < 0 || call.address >= asked.count()) return;
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
  Replay replay(device, precision, self_neighbour);
  TraceCall call;
  auto last = Clock::now();
  while (reader.next(call)) {
    replay.run(call);
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
