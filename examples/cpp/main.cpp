// Pergola as a library: makes a star cluster, evaluates the forces in it, writes and reads a snapshot, and runs a
// simulation of it.
#include <pergola/pergola.hpp>

#include <cmath>
#include <cstdio>

namespace {

/// The sum of mass × acceleration over a system that feels only itself is zero (Newton's third law).
double net_force(const pergola::Particles& stars, const pergola::ForceResult& force) {
  double x = 0, y = 0, z = 0;
  for (std::size_t i = 0; i < stars.mass.size(); ++i) {
    x += stars.mass[i] * force.ax[i];
    y += stars.mass[i] * force.ay[i];
    z += stars.mass[i] * force.az[i];
  }
  return std::sqrt(x * x + y * y + z * z);
}

bool evaluate_and_store() {
  const auto device = pergola::Device::open("auto");
  pergola::ModelOptions model;
  model.n = 1000;
  model.seed = 7;
  pergola::Particles stars = pergola::make_model("plummer", model);

  pergola::SolverOptions options;
  options.softening = pergola::Softening::same(0.01);
  options.precision = pergola::Precision::double_;
  const auto solver = pergola::make_solver(options, device);
  const auto force =
      pergola::evaluate_forces(*solver, device, stars, pergola::want_acceleration | pergola::want_potential);
  std::printf("%lld stars on %s: net force %.1e\n", static_cast<long long>(stars.size()), device.spec().c_str(),
              net_force(stars, force));

  stars.potential = force.potential;
  pergola::write_snapshot("cluster.hdf5", {pergola::SnapshotHeader{}, stars});
  const pergola::Snapshot again = pergola::read_snapshot("cluster.hdf5");
  return net_force(stars, force) < 1e-12 && again.particles.x == stars.x;
}

/// Half a time unit with the Hermite integrator; the total energy stays.
bool simulate() {
  pergola::RunConfig config;  // every member has the default that `pergola run --print-config` shows
  config.run.end_time = 0.5;
  config.gravity.softening = pergola::Softening::same(0.01);
  pergola::GravitySystem cluster(config, pergola::read_snapshot("cluster.hdf5").particles);
  const double before = cluster.energies().total();
  cluster.run_until(config.run.end_time);
  const double error = (cluster.energies().total() - before) / std::abs(before);
  std::printf("t = %g after %lld block steps: energy %.6f, relative error %.1e\n", cluster.time(),
              static_cast<long long>(cluster.counts().steps), before, error);

  pergola::SnapshotHeader header;
  header.time = cluster.time();
  pergola::write_snapshot("evolved.hdf5", {header, cluster.particles()});
  return std::abs(error) < 1e-5;
}

}  // namespace

int main() {
  try {
    return evaluate_and_store() && simulate() ? 0 : 1;
  } catch (const pergola::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.kind());
  }
}
