// The experiment of cuda-gadget, section 5.1 and figures 3 to 6: boxes of the universe from redshift 126 to 0 on the
// CPU and on the GPU, how long they take, and how far apart their halos are.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "analysis/groups.hpp"
#include "app/paper/session.hpp"
#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "particles/box.hpp"
#include "physics/resolution.hpp"
#include "sim/gravity_system.hpp"

namespace pergola::app {

namespace {

constexpr int shells = 8;  // of the profile, from a tenth of r200m to it

/// What the paper states, and in the place of what it does not: h = 0.7, n_s, baryons, softening of 1/30 of the mean
/// distance of particles. 130 Mpc are 91 Mpc/h.
RunConfig universe_config(std::int64_t n, const Device& device) {
  constexpr double box = 91;
  const double spacing = box / std::cbrt(static_cast<double>(n));
  RunConfig config = parse_config(fmt::format("[run]\nend_redshift = 0\n"
                                              "[particles]\nmodel = \"cosmology\"\nn = {}\nbox = {}\nredshift = 126\n"
                                              "[cosmology]\nomega_matter = 0.25\nomega_lambda = 0.75\nsigma8 = 0.8\n"
                                              "[gravity]\nsolver = \"treepm\"\nsoftening = {}\n",
                                              n, to_text(box), to_text(spacing / 30)),
                                  "cuda-gadget/cosmology");
  config.run.device = device.spec();
  config.run.threads = device.threads();
  return config;
}

/// A run as far as it came.
struct UniverseRun {
  double seconds = 0;
  std::int64_t steps = 0;
  bool over = false;  // it is at redshift 0
  AnalysisSnapshot end{};
  std::vector<GroupProperties> halos{};  // the heaviest first

  double step_seconds() const { return steps > 0 ? seconds / static_cast<double>(steps) : unknown; }
};

void find_halos(UniverseRun& run, const Device& cpu) {
  AnalysisOptions options;
  const FoundGroups found(run.end, options, cpu);
  run.halos = found.properties(run.end, 0, found.count());
  std::stable_sort(run.halos.begin(), run.halos.end(),
                   [](const GroupProperties& a, const GroupProperties& b) { return a.m200m > b.m200m; });
}

/// To redshift 0, or as far as `most_seconds` go.
std::optional<UniverseRun> run_universe(std::int64_t n, const Device& device, const Device& cpu, double most_seconds) {
  const RunConfig config = universe_config(n, device);
  UniverseRun run;
  const auto begin = Clock::now();
  GravitySystem system(config);
  run.over = system.advance(config.run.end_time, [&] { return interrupted || seconds_since(begin) > most_seconds; });
  if (interrupted) return std::nullopt;
  if (run.over) system.finish();
  run.seconds = seconds_since(begin);
  run.steps = system.counts().steps;
  if (!run.over) return run;
  run.end.name = fmt::format("the universe on {}", device.spec());
  run.end.time = system.time();
  run.end.box = system.box();
  run.end.gravitational_constant = config.gravitational_constant();
  run.end.matter_part = config.cosmology->omega_matter;
  run.end.particles = system.particles();
  find_halos(run, cpu);
  return run;
}

/// Particles in shells about a halo, and how fast they move outward.
struct HaloShells {
  std::array<double, shells + 1> edge{};
  std::array<double, shells> count{}, velocity{}, velocity2{};

  double error2(std::size_t k) const {
    const double mean = velocity[k] / count[k];
    return (velocity2[k] / count[k] - mean * mean) / count[k];
  }
};

HaloShells shells_of(const UniverseRun& run, const GroupProperties& halo, double radius) {
  HaloShells found;
  for (std::size_t k = 0; k <= shells; ++k)
    found.edge[k] = radius * std::pow(10.0, static_cast<double>(k) / shells - 1);
  const SeenFromCenter seen = Neighbourhood(run.end, 1).within(halo.center, radius);
  for (std::size_t i = 0; i < seen.order.size(); ++i) {
    const auto above = std::upper_bound(found.edge.begin(), found.edge.end(), seen.radius[i]);
    if (above == found.edge.begin() || above == found.edge.end()) continue;
    const auto k = static_cast<std::size_t>(above - found.edge.begin()) - 1;
    const double outward =
        dot(place_from(run.end, seen.order[i], halo.center), velocity_from(run.end, seen.order[i], halo.velocity)) /
        seen.radius[i];
    ++found.count[k], found.velocity[k] += outward, found.velocity2[k] += outward * outward;
  }
  return found;
}

/// The halo of the other run that stands nearest to this one, of those that have half its mass or more.
const GroupProperties& same_halo(const UniverseRun& run, const GroupProperties& halo) {
  const auto distance2 = [&](const GroupProperties& other) {
    const Vec3<double> d = separation(halo.center, other.center, run.end.box);
    return other.m200m >= halo.m200m / 2 ? dot(d, d) : std::numeric_limits<double>::infinity();
  };
  return *std::min_element(run.halos.begin(), run.halos.end(),
                           [&](const auto& a, const auto& b) { return distance2(a) < distance2(b); });
}

/// How far two runs of one universe are apart, in Poisson errors.
struct Residuals {
  double density = unknown, velocity = unknown;  // of the largest halo, rms over shells
  double mass_function = unknown;                // the largest
  double displaced = 0;                          // particles
};

double count_between(const UniverseRun& run, double low, double high) {
  return static_cast<double>(std::count_if(run.halos.begin(), run.halos.end(),
                                           [&](const auto& halo) { return halo.m200m >= low && halo.m200m < high; }));
}

/// Halos in half decades from 20 particles on; errors of the counts of the first run, as in figure 6.
void compare_mass_functions(const UniverseRun& cpu, const UniverseRun& gpu, Residuals& residuals,
                            nlohmann::json& details) {
  const double lightest = 20 * cpu.end.particles.mass[0];
  for (double low = lightest; low < cpu.halos.front().m200m; low *= std::sqrt(10.0)) {
    const double high = low * std::sqrt(10.0), a = count_between(cpu, low, high), b = count_between(gpu, low, high);
    details["mass_function"].push_back({{"mass_low", low}, {"mass_high", high}, {"cpu", a}, {"gpu", b}});
    if (a > 0) residuals.mass_function = std::fmax(residuals.mass_function, std::abs(b - a) / std::sqrt(a));
  }
}

void compare_profiles(const UniverseRun& cpu, const UniverseRun& gpu, Residuals& residuals, nlohmann::json& details) {
  const GroupProperties& largest = cpu.halos.front();
  const double radius = largest.r200m;
  const HaloShells a = shells_of(cpu, largest, radius), b = shells_of(gpu, same_halo(gpu, largest), radius);
  double density = 0, velocity = 0;
  int counted = 0, moving = 0;
  for (std::size_t k = 0; k < shells; ++k) {
    nlohmann::json line{{"r_low", a.edge[k]}, {"r_high", a.edge[k + 1]}, {"cpu", a.count[k]}, {"gpu", b.count[k]}};
    if (a.count[k] + b.count[k] > 0) {
      const double off = b.count[k] - a.count[k];
      density += off * off / (a.count[k] + b.count[k]), ++counted;
    }
    if (a.count[k] > 1 && b.count[k] > 1) {
      const double va = a.velocity[k] / a.count[k], vb = b.velocity[k] / b.count[k];
      velocity += (vb - va) * (vb - va) / (a.error2(k) + b.error2(k)), ++moving;
      line["cpu_radial_velocity"] = va, line["gpu_radial_velocity"] = vb;
    }
    details["profile"].push_back(line);
  }
  if (counted > 0) residuals.density = std::sqrt(density / counted);
  if (moving > 0) residuals.velocity = std::sqrt(velocity / moving);
}

/// Orbits in a halo part as time goes on, in any two runs whose forces differ at all; none leaves the halo for it. What
/// is farther apart than the largest halo is wide was displaced by something else.
double displaced_particles(const UniverseRun& cpu, const UniverseRun& gpu) {
  const Particles &a = cpu.end.particles, &b = gpu.end.particles;
  const double wide = 2 * cpu.halos.front().r200m;
  double count = 0;
  for (std::size_t i = 0; i < a.id.size(); ++i) {
    const Vec3<double> d =
        separation(Vec3<double>{a.x[i], a.y[i], a.z[i]}, Vec3<double>{b.x[i], b.y[i], b.z[i]}, cpu.end.box);
    count += dot(d, d) > wide * wide;
  }
  return count;
}

Residuals compare(const UniverseRun& cpu, const UniverseRun& gpu, nlohmann::json& details) {
  Residuals residuals;
  if (cpu.halos.empty() || gpu.halos.empty()) return residuals;
  compare_mass_functions(cpu, gpu, residuals, details);
  compare_profiles(cpu, gpu, residuals, details);
  residuals.displaced = displaced_particles(cpu, gpu);
  return residuals;
}

std::optional<std::vector<double>> measure_universe(const PaperSession& session, PaperTable& table, std::int64_t n) {
  const Device& device = session.device();
  const Device cpu = device.is_cuda() ? Device::open("cpu", session.context().threads) : device;
  const double most =
      session.options().full ? std::numeric_limits<double>::infinity() : session.options().budget_seconds;
  std::optional<UniverseRun> on_gpu;
  if (device.is_cuda() && !(on_gpu = run_universe(n, device, cpu, std::numeric_limits<double>::infinity())))
    return std::nullopt;
  const auto on_cpu = run_universe(n, cpu, cpu, most);
  if (!on_cpu) return std::nullopt;
  const auto whole = [](const UniverseRun& run) { return run.over ? run.seconds : unknown; };
  const double halos = on_cpu->over ? static_cast<double>(on_cpu->halos.size()) : unknown;
  std::vector<double> row{on_cpu->step_seconds(), whole(*on_cpu), unknown, unknown, unknown, halos};
  row.resize(10, unknown);
  if (!on_cpu->over)
    table.notes.push_back(
        fmt::format("N = {}: the CPU's run was ended after {:.3g} s and {} steps of its way, at which "
                    "all particles still move together; see --budget and --full.",
                    n, on_cpu->seconds, on_cpu->steps));
  if (!on_gpu) return row;
  row[2] = on_gpu->step_seconds(), row[3] = whole(*on_gpu);
  row[4] = on_cpu->over ? on_cpu->seconds / on_gpu->seconds : on_cpu->step_seconds() / on_gpu->step_seconds();
  if (!on_cpu->over) return row;
  nlohmann::json details{{"n", n}};
  const Residuals residuals = compare(*on_cpu, *on_gpu, details);
  row[6] = residuals.density, row[7] = residuals.velocity;
  row[8] = residuals.mass_function, row[9] = residuals.displaced;
  table.details["runs"].push_back(details);
  add_paper_check(table, n, "density of the largest halo, rms residual in Poisson errors,", residuals.density, 2);
  add_paper_check(table, n, "its radial velocity, the same,", residuals.velocity, 2);
  add_paper_check(table, n, "mass function, largest residual in Poisson errors,", residuals.mass_function, 2);
  add_paper_check(table, n, "displaced particles", residuals.displaced, 0);
  return row;
}

}  // namespace

PaperTable run_cuda_gadget_cosmology(const PaperSession& session, PaperTable table) {
  for (const auto& [n, row] : table.published_rows) {
    const auto side = std::llround(std::cbrt(static_cast<double>(n)));
    if (side * side * side != n)
      throw Error(ErrorKind::input,
                  fmt::format("--max-n: cuda-gadget/cosmology: expected the cube of a whole number, found {}", n));
  }
  table.ours.insert(table.ours.end(),
                    {"to z = 0 (s)", "on one GPU (s/step)", "to z = 0 on the GPU (s)", "cpu/GPU", "halos",
                     "density residual", "velocity residual", "mass function residual", "displaced"});
  session.run_sizes(table, {20, 1.25}, [&](std::int64_t n) { return measure_universe(session, table, n); });
  return table;
}

}  // namespace pergola::app
