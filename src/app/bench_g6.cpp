#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "analysis/force_audit.hpp"
#include "app/bench.hpp"
#include "app/g6_client.hpp"
#include "base/error.hpp"
#include "g6/interface.hpp"

namespace pergola::app {

namespace {

constexpr unsigned want_all = want_acceleration | want_jerk | want_potential;
constexpr double softening = 1.0 / 256;
constexpr int cluster = 0, pipes = 16384, small_block = 32;
constexpr std::int64_t sample = 64;

/// The functions of the GRAPE-6 library as a client calls them, with its arrays.
class Client {
 public:
  Client(const Device& device, const Particles& p) : n_(static_cast<int>(p.size())) {
    open_g6_library(device, pipes);
    const auto size = static_cast<std::size_t>(n_);
    for (auto* values : {&x_, &v_, &acc_, &jerk_}) values->resize(3 * size);
    pot_.resize(size), index_.resize(size);
    const double zero[3] = {0, 0, 0};
    for (int i = 0; i < n_; ++i) {
      const auto k = static_cast<std::size_t>(i);
      index_[k] = i;
      double* const x = &x_[3 * k];
      double* const v = &v_[3 * k];
      x[0] = p.x[k], x[1] = p.y[k], x[2] = p.z[k];
      v[0] = p.vx[k], v[1] = p.vy[k], v[2] = p.vz[k];
      require(g6::set_j_particle(cluster, i, i, 0, p.mass[k], zero, zero, zero, v, x));
    }
  }
  ~Client() { g6::close(cluster); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Forces on the particles begin … end − 1, in blocks of the number of pipes.
  void forces(int begin, int end) {
    // As in a block step all j-particles are predicted anew, to one of two times that do not move them.
    time_ = time_ > 0 ? 0 : 1e-12;
    require(g6::set_ti(cluster, time_));
    for (; begin < end; begin += pipes) {
      const int ni = std::min(pipes, end - begin);
      const auto k = static_cast<std::size_t>(begin);
      g6::firsthalf(cluster, {n_, ni, &index_[k], at(x_, k), at(v_, k), softening * softening, nullptr});
      require(g6::lasthalf(cluster, {ni, at(acc_, k), at(jerk_, k), &pot_[k]}));
    }
  }
  double result(int which, std::int64_t i) const {
    const auto k = static_cast<std::size_t>(i);
    if (which == 6) return pot_[k];
    return which < 3 ? acc_[3 * k + static_cast<std::size_t>(which)]
                     : jerk_[3 * k + static_cast<std::size_t>(which - 3)];
  }

 private:
  static void require(int result) {
    if (result != 0) throw Error(ErrorKind::numerics, "bench: g6: the library reported an error");
  }
  static double (*at(std::vector<double>& values, std::size_t k))[3] {
    return reinterpret_cast<double(*)[3]>(&values[3 * k]);
  }
  int n_;
  double time_ = 0;
  std::vector<double> x_, v_, acc_, jerk_, pot_;
  std::vector<int> index_;
};

/// The direct solver by itself, in the same run: what the library is measured against.
void measure_direct(const BenchTask& task, const Particles& particles, const SolverOptions& options) {
  const std::int64_t n = particles.size();
  BenchSystem<double> system(task.device, particles);
  const auto solver = make_solver<double>(options, task.device);
  const auto once = [&] {
    solver->prepare(system.sources);
    solver->evaluate({nullptr, n, n}, want_all, system.forces);
    task.device.synchronize();
  };
  once();
  const double seconds = fastest(0.3, 2, once);
  task.report({"", "g6/direct-solver", "", options.precision, n, seconds,
               static_cast<double>(n) * static_cast<double>(n) / seconds, "interactions/s",
               instructions_per_pair(task.device, want_all, options.precision), std::nullopt});
}

void measure(const BenchTask& task, std::int64_t n) {
  const auto particles = bench_particles(n, task.device.threads());
  SolverOptions options;
  options.softening = Softening::same(softening);
  measure_direct(task, particles, options);
  Client client(task.device, particles);
  const int count = static_cast<int>(n);

  client.forces(0, count);
  const double seconds = fastest(0.3, 2, [&] { client.forces(0, count); });
  const auto places = sample_places(n, sample);
  check_against_double("g6/sweep", options, particles, want_all, places, [&](int which, std::int64_t k) {
    return client.result(which, places[static_cast<std::size_t>(k)]);
  });
  task.report({"", "g6/sweep", "", options.precision, n, seconds,
               static_cast<double>(n) * static_cast<double>(n) / seconds, "interactions/s",
               instructions_per_pair(task.device, want_all, options.precision), std::nullopt});

  const int block = std::min(small_block, count);
  const double block_seconds = fastest(0.2, 20, [&] { client.forces(0, block); });
  task.report({"", fmt::format("g6/block/{}", block), "", options.precision, n, block_seconds, 1 / block_seconds,
               "blocks/s", 0, std::nullopt});
}

}  // namespace

void bench_g6(const BenchTask& task) {
  std::vector<std::int64_t> sizes{4096, 16384};
  if (task.device.is_cuda()) sizes = {65536, 1048576};
  if (task.full && !task.device.is_cuda()) sizes.push_back(65536);
  if (task.n > 0) sizes = {task.n};
  for (const std::int64_t n : sizes) measure(task, n);
}

}  // namespace pergola::app
