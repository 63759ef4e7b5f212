// The functions of g6.h: each checks its arguments, calls the cluster, and records the call.
//
// guarded() turns every exception into a line on stderr and a return value; with_cluster() also finds and locks the
// cluster of the id. note() writes the trace after the call, with its result, so that a replay can compare. Positions
// and velocities are in the client's units, with G = 1.
#include "g6/interface.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/parallel.hpp"
#include "g6/registry.hpp"
#include "g6/trace.hpp"
#include "physics/hermite.hpp"

namespace pergola::g6 {

namespace {

constexpr int failure = -1;

std::atomic<int> sort_mode = 0;

/// Prints an error for the client's user. The same message is printed once: clients that ignore results call again with
/// every step.
void report(const char* function, const std::string& message) noexcept {
  constexpr std::size_t most_messages = 100;
  static std::mutex mutex;
  static std::set<std::string>& said = *new std::set<std::string>;  // a client may call from its exit handlers
  try {
    const std::lock_guard lock(mutex);
    if (said.size() > most_messages || !said.insert(message).second) return;
    if (said.size() > most_messages)
      std::fprintf(stderr, "pergola: %s: further errors are not printed\n", function);
    else
      std::fprintf(stderr, "pergola: %s: %s\n", function, message.c_str());
  } catch (...) {
    std::fprintf(stderr, "pergola: %s: out of memory\n", function);
  }
}

/// Ends the program if a cluster cannot be opened, unless the environment asks for NaN.
void end_unless_nan(const char* function, const Error& error) noexcept {
  if (on_failure() == OnFailure::nan) return report(function, error.what());
  std::fprintf(stderr, "pergola: %s: %s\n", function, error.what());
  std::exit(static_cast<int>(error.kind()));
}

/// Returns body(); if it throws, reports the error and returns `failure`.
template <class Body>
int guarded(const char* function, const Body& body) noexcept {
  try {
    return body();
  } catch (const CannotOpen& error) {
    end_unless_nan(function, error);
  } catch (const std::exception& error) {
    report(function, error.what());
  } catch (...) {
    report(function, "unknown error");
  }
  return failure;
}

/// The same with the cluster of an id, locked for other threads.
template <class Body>
int with_cluster(const char* function, int id, const Body& body) noexcept {
  return guarded(function, [&] {
    const auto open = Registry::instance().use(id);
    const std::lock_guard turn(open->turn);
    return body(*open);
  });
}

/// Leaves the floating-point flags of the client's thread as they were: arithmetic in fp32 raises IEEE_DENORMAL, of
/// which Fortran programs warn when they stop.
class KeptFlags {
 public:
  KeptFlags() { std::fegetenv(&flags_); }
  ~KeptFlags() { std::fesetenv(&flags_); }
  KeptFlags(const KeptFlags&) = delete;
  KeptFlags& operator=(const KeptFlags&) = delete;

 private:
  std::fenv_t flags_;
};

/// Throws Error(input) for NULL where the interface needs an array.
void require_arrays(std::initializer_list<std::pair<const char*, const void*>> arrays) {
  for (const auto& [name, array] : arrays)
    if (!array) throw Error(ErrorKind::input, fmt::format("{}: expected an array, found NULL", name));
}

void require_finite(const char* name, int index, std::initializer_list<double> values) {
  for (const double value : values)
    if (!std::isfinite(value))
      throw Error(ErrorKind::input,
                  fmt::format("{} of the particle with index {}: expected a number, found {}", name, index, value));
}

void require_finite(const char* name, int index, const double value[3]) {
  if (value) require_finite(name, index, {value[0], value[1], value[2]});
}

/// A vector of the client times a factor; NULL counts as zero.
Vec3<double> scaled(double factor, const double value[3]) {
  return value ? Vec3<double>{factor * value[0], factor * value[1], factor * value[2]} : Vec3<double>{0, 0, 0};
}

/// Copies a result, unless the client gave NULL for it.
void put(const Vec3<double>& value, double* to) {
  if (to) to[0] = value.x, to[1] = value.y, to[2] = value.z;
}

/// Records a call in the trace, if there is one: fill(call) sets the members of its kind. If the trace cannot be
/// written, that is said once and the client goes on.
template <class Fill>
void note(TraceCall::Kind kind, int id, int result, const Fill& fill) noexcept {
  static std::atomic<bool> broken = false;
  if (broken) return;
  try {
    TraceWriter* const writer = trace();
    if (!writer) return;
    TraceCall call;
    call.kind = kind;
    call.id = id;
    call.result = result;
    fill(call);
    writer->write(call);
  } catch (const std::exception& error) {
    if (!broken.exchange(true)) report("PERGOLA_G6_TRACE", error.what());
  }
}

void note(TraceCall::Kind kind, int id, int result) noexcept {
  note(kind, id, result, [](TraceCall&) {});
}

/// Copies of the client's arrays for the trace; NULL becomes an empty list.
std::vector<double> numbers(const double (*from)[3], int count) {
  return from && count > 0 ? std::vector<double>(from[0], from[0] + 3 * static_cast<std::ptrdiff_t>(count))
                           : std::vector<double>();
}
template <class T>
std::vector<T> numbers(const T* from, int count) {
  return from && count > 0 ? std::vector<T>(from, from + count) : std::vector<T>();
}

/// Copies the results of some particles. Returns whether all are finite.
bool copy_results(Cluster& cluster, const LastHalf& to, std::int64_t begin, std::int64_t end) {
  bool finite = true;
  for (std::int64_t k = begin; k < end; ++k) {
    if (to.acc) put(cluster.acceleration(k), to.acc[k]);
    if (to.jerk) put(cluster.jerk(k), to.jerk[k]);
    if (to.pot) to.pot[k] = cluster.potential(k);
    finite = finite && cluster.finite(k);
  }
  for (std::int64_t k = begin; to.nnb && k < end; ++k) to.nnb[k] = cluster.nearest(k);
  for (std::int64_t k = begin; to.rnnb && k < end; ++k) to.rnnb[k] = static_cast<float>(cluster.nearest_distance(k));
  return finite;
}

/// Results after an error, for clients that ignore the return value.
void answer_nan(const LastHalf& to) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (int k = 0; k < to.ni; ++k) {
    if (to.acc) put({nan, nan, nan}, to.acc[k]);
    if (to.jerk) put({nan, nan, nan}, to.jerk[k]);
    if (to.pot) to.pot[k] = nan;
    if (to.nnb) to.nnb[k] = -1;
    if (to.rnnb) to.rnnb[k] = static_cast<float>(nan);
  }
}

}  // namespace

int open(int id) noexcept {
  const int result = guarded("g6_open", [id] {
    Registry::instance().open(id);
    return 0;
  });
  note(TraceCall::Kind::open, id, result);
  return result;
}

int open_special(int count, const int* devices) noexcept {
  const int result = guarded("g6_open_special", [&] {
    Registry::instance().choose_devices(count > 0 && devices ? std::vector<int>(devices, devices + count)
                                                             : std::vector<int>());
    Registry::instance().open(0);
    return 0;
  });
  note(TraceCall::Kind::open, 0, result);
  return result;
}

int close(int id) noexcept {
  const int result = guarded("g6_close", [id] {
    Registry::instance().close(id);
    return 0;
  });
  note(TraceCall::Kind::close, id, result);
  return result;
}

int npipes() noexcept {
  const int pipes = guarded("g6_npipes", [] { return settings_from_environment().pipes; });
  return pipes == failure ? grape6_pipes : pipes;  // 0 would mean a machine without GRAPE
}

int set_ti(int id, double ti) noexcept {
  const int result = with_cluster("g6_set_ti", id, [ti](OpenCluster& open) {
    if (!std::isfinite(ti)) throw Error(ErrorKind::input, fmt::format("ti: expected a time, found {}", ti));
    open.cluster.set_time(ti);
    return 0;
  });
  note(TraceCall::Kind::set_time, id, result, [ti](TraceCall& call) { call.time = ti; });
  return result;
}

int set_j_particle(int id, int address, int index, double tj, double mass, const double k18[3], const double j6[3],
                   const double a2[3], const double v[3], const double x[3]) noexcept {
  const int result = with_cluster("g6_set_j_particle", id, [&](OpenCluster& open) {
    require_arrays({{"x", x}});
    require_finite("x", index, x), require_finite("v", index, v), require_finite("a2", index, a2);
    require_finite("j6", index, j6), require_finite("k18", index, k18);
    require_finite("mass", index, {mass}), require_finite("tj", index, {tj});
    open.cluster.set_j_particle(
        address, {index, tj, mass, scaled(1, x), scaled(1, v), scaled(2, a2), scaled(6, j6), scaled(18, k18)});
    return 0;
  });
  note(TraceCall::Kind::set_j_particle, id, result, [&](TraceCall& call) {
    call.address = address, call.index = index, call.time = tj, call.mass = mass;
    const double* const vectors[5] = {k18, j6, a2, v, x};
    for (int k = 0; k < 5; ++k) put(scaled(1, vectors[k]), call.vectors + 3 * k);
  });
  return result;
}

void firsthalf(int id, const FirstHalf& block) noexcept {
  const KeptFlags flags;
  const int result = with_cluster("g6calc_firsthalf", id, [&](OpenCluster& open) {
    open.failed = true;
    open.cluster.start(block.nj, {block.ni, block.index, block.xi, block.vi, block.eps2, block.h2});
    open.failed = false;
    return 0;
  });
  note(TraceCall::Kind::first_half, id, result, [&](TraceCall& call) {
    call.nj = block.nj, call.epsilon2 = block.eps2;
    call.indices = numbers(block.index, block.ni), call.h2 = numbers(block.h2, block.ni);
    call.x = numbers(block.xi, block.ni), call.v = numbers(block.vi, block.ni);
  });
}

/// Results are copied by several threads. The first force that is not finite is named, and the call fails.
int lasthalf(int id, const LastHalf& results) noexcept {
  const KeptFlags flags;
  bool answered = false;
  const int result = with_cluster("g6calc_lasthalf", id, [&](OpenCluster& open) {
    if (open.failed) return failure;  // g6calc_firsthalf has said why
    Cluster& cluster = open.cluster;
    cluster.finish(results.nnb || results.rnnb);
    if (results.ni < 0 || results.ni > cluster.count())
      throw Error(ErrorKind::input, fmt::format("ni: expected at most {}, as in g6calc_firsthalf, found {}",
                                                cluster.count(), results.ni));
    if (results.ni > 0) require_arrays({{"acc", results.acc}, {"jerk", results.jerk}, {"pot", results.pot}});
    std::atomic<bool> finite = true;
    parallel_chunks(cluster.threads_to_copy(results.ni), results.ni, copy_chunk,
                    [&](std::int64_t begin, std::int64_t end) {
                      if (!copy_results(cluster, results, begin, end)) finite = false;
                    });
    answered = true;
    if (!finite) cluster.require_finite();
    return 0;
  });
  if (!answered) answer_nan(results);
  note(TraceCall::Kind::last_half, id, result, [&](TraceCall& call) {
    const int ni = result == 0 ? results.ni : 0;
    call.acceleration = numbers(results.acc, ni), call.jerk = numbers(results.jerk, ni);
    call.potential = numbers(results.pot, ni);
    call.indices = numbers(results.nnb, ni), call.distance = numbers(results.rnnb, ni);
  });
  return result;
}

int read_neighbour_list(int id) noexcept {
  const int result = with_cluster("g6_read_neighbour_list", id, [](OpenCluster& open) {
    open.overflowed = !open.cluster.read_neighbour_lists();
    return open.overflowed ? 1 : 0;
  });
  note(TraceCall::Kind::read_lists, id, result);
  return result;
}

/// After an overflow every list has length maxlength and the result is 1.
int get_neighbour_list(int id, int ipipe, int maxlength, int* n, int* list) noexcept {
  const int result = with_cluster("g6_get_neighbour_list", id, [&](OpenCluster& open) {
    require_arrays({{"n", n}});
    *n = 0;
    if (maxlength > 0) require_arrays({{"list", list}});
    Cluster& cluster = open.cluster;
    if (!cluster.has_neighbour_lists()) open.overflowed = !cluster.read_neighbour_lists();
    if (ipipe < 0 || ipipe >= cluster.count())
      throw Error(ErrorKind::input, "ipipe: expected a place in the last block, counted from 0");
    if (open.overflowed) {
      *n = std::max(maxlength, 0);
      return 1;
    }
    const auto found = cluster.neighbours(ipipe);
    const std::int64_t length = std::min<std::int64_t>(found.size(), std::max(maxlength, 0));
    *n = static_cast<int>(found.size());
    if (length > 0) {
      std::copy_n(found.data(), length, list);
      if (sort_mode != 0) std::sort(list, list + length);
    }
    return found.size() > length ? 1 : 0;
  });
  note(TraceCall::Kind::get_list, id, result, [&](TraceCall& call) {
    call.address = ipipe, call.longest = maxlength, call.length = n ? *n : 0;
    if (result == 0) call.indices = numbers(list, call.length);
  });
  return result;
}

void set_neighbour_list_sort_mode(int mode) noexcept { sort_mode = mode; }

int get_neighbour_list_sort_mode() noexcept { return sort_mode; }

int get_j_part_data(int address, double* pos, double* vel, double* acc, double* jerk, double* predicted_pos,
                    double* predicted_vel) noexcept {
  return guarded("get_j_part_data", [&] {
    const auto open = Registry::instance().used_last();
    const std::lock_guard turn(open->turn);
    JParticle p = open->cluster.j_particle(address);
    put(p.x, pos), put(p.v, vel), put(p.acceleration, acc), put(p.jerk, jerk);
    physics::hermite_predict(open->cluster.time() - p.time, p.x, p.v, p.acceleration, p.jerk, p.snap);
    put(p.x, predicted_pos), put(p.v, predicted_vel);
    return 0;
  });
}

}  // namespace pergola::g6
