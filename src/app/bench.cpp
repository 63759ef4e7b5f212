// `pergola bench SUITE`: the list of suites, the measured ceilings of the machine, and the table of results.
//
// Steps: (1) find the suite and check that it takes the given options, (2) run it; it reports one case after another,
// (3) measure the ceiling beside each case: fused multiply-adds or copied bytes per second, (4) print a table or JSON.
// Also here: what the suites share, i.e. particles, the check against a double-precision sum, and the timer. A suite is
// one line in suites(). Times are seconds of wall clock; the shortest of several calls counts.
#include "app/bench.hpp"
#include "analysis/analysis.hpp"
#include "app/command.hpp"
#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "device/device.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/treepm.hpp"
#include "models/model.hpp"
#include "time/integrator_entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pergola::app {

namespace {

/// A suite with the options that only some suites take: --file, and --set with --sample.
struct Suite {
  std::string name;  // that of the part's entry, if it has one
  void (*run)(const BenchTask&);
  bool takes_file = false, takes_sets = false;
};

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all{{direct_entry().name, bench_direct},
                                      {hermite_entry().name, bench_hermite},
                                      {tree_entry().name, bench_tree},
                                      {mesh_entry().name, bench_mesh},
                                      {treepm_entry().name, bench_treepm, true, true},
                                      {power_entry().name, bench_power, true},
                                      {groups_entry().name, bench_groups, true},
                                      {"pic", bench_pic},
                                      {"em", bench_em},
                                      {"g6", bench_g6}};
  return all;
}

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const auto& suite : suites()) names.push_back(suite.name);
  return names;
}

/// Throws Error(input) with the names of all suites, and the nearest one, for an unknown name.
const Suite& find_suite(const std::string& name) {
  for (const auto& suite : suites())
    if (name == suite.name) return suite;
  const auto names = suite_names();
  const std::string near = nearest_name(name, names);
  throw Error(ErrorKind::input, fmt::format("bench: expected {}, found \"{}\"{}", fmt::join(names, ", "), name,
                                            near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
}

/// A case for --json: what it is, what it ran on, and its figures; a missing ceiling is null.
nlohmann::json to_json(const BenchResult& r) {
  nlohmann::json value{
      {"suite", r.suite},
      {"case", r.name},
      {"device", r.device},
      {"precision", precision_name(r.precision)},
      {"n", r.n},
      {"seconds", r.seconds},
      {"rate", r.rate},
      {"unit", r.unit},
      {"fraction_of_ceiling", r.fraction_of_ceiling ? nlohmann::json(*r.fraction_of_ceiling) : nlohmann::json()}};
  if (r.error) value["error"] = {{"median", r.error->median}, {"p99", r.error->p99}};
  if (r.error && r.error->rms > 0) value["error"]["rms_difference"] = r.error->rms;
  return value;
}

std::string error_text(const BenchResult::Error& error) {
  const std::string rms = error.rms > 0 ? fmt::format(", rms {:.1e}", error.rms) : "";
  return fmt::format("{:.1e} / {:.1e}{}", error.median, error.p99, rms);
}

std::string to_table(const std::vector<BenchResult>& results) {
  std::string text = fmt::format("{:<28} {:<8} {:<9} {:>9} {:>11} {:>11} {:<15} {:>8}  {}\n", "case", "device",
                                 "precision", "n", "seconds", "rate", "unit", "ceiling", "error median / p99");
  for (const auto& r : results)
    text += fmt::format("{:<28} {:<8} {:<9} {:>9} {:>11.4g} {:>11.4g} {:<15} {:>8}  {}\n", r.name, r.device,
                        precision_name(r.precision), r.n, r.seconds, r.rate, r.unit,
                        r.fraction_of_ceiling ? fmt::format("{:.1f} %", 100 * *r.fraction_of_ceiling) : "-",
                        r.error ? error_text(*r.error) : "-");
  return text;
}

/// Fractions of the ceiling. The ceiling is measured beside every case, and its fastest measurement counts: the machine
/// may have other work.
class Ceiling {
 public:
  explicit Ceiling(const Device& device) : device_(device) {}
  void measure(const BenchResult& result) {
    if (result.instructions > 0) {
      double& rate = of(result.precision);
      rate = std::max(rate, fma_rate(device_, result.precision == Precision::double_));
    }
    if (result.bytes > 0) copied_ = std::max(copied_, copy_rate(device_));
  }
  void apply(std::vector<BenchResult>& results) {
    for (auto& result : results) {
      if (result.instructions > 0)
        result.fraction_of_ceiling = result.rate * result.instructions / of(result.precision);
      if (result.bytes > 0) result.fraction_of_ceiling = result.rate * result.bytes / copied_;
    }
  }

 private:
  /// Mixed precision is compared with the rate of floats: most of its instructions are in floats.
  double& of(Precision precision) { return precision == Precision::double_ ? doubles_ : floats_; }
  Device device_;
  double floats_ = 0, doubles_ = 0, copied_ = 0;
};

struct BenchOptions {
  std::string suite;
  bool full = false;
  std::int64_t n = 0;
  std::string file;
  int tiles = 1;
  std::vector<std::string> sets;
  std::int64_t sample = 0;
};

/// Runs one suite. Options that the suite does not take are an Error(input) before the device is opened.
void run_bench(const BenchOptions& options, const Context& context) {
  const auto& suite = find_suite(options.suite);
  std::vector<BenchResult> results;
  if (!options.file.empty() && !suite.takes_file) {
    std::vector<std::string> names;
    for (const auto& one : suites())
      if (one.takes_file) names.push_back(one.name);
    throw Error(ErrorKind::input, fmt::format("--file: expected {}, found {}", fmt::join(names, ", "), suite.name));
  }
  if (options.file.empty() && options.tiles > 1)
    throw Error(ErrorKind::input, "--tiles: expected --file with it, found none");
  if (!suite.takes_sets && (!options.sets.empty() || options.sample > 0))
    throw Error(ErrorKind::input,
                fmt::format("{}: expected treepm, found {}", options.sets.empty() ? "--sample" : "--set", suite.name));
  BenchTask task{context.open_device(), options.full, options.n,      options.file,
                 options.tiles,         options.sets, options.sample, {}};
  Ceiling ceiling(task.device);
  task.report = [&](BenchResult result) {
    result.suite = suite.name;
    result.device = task.device.spec();
    ceiling.measure(result);
    context.remark(fmt::format("{} {} n = {}: {:.4g} {}", result.name, precision_name(result.precision), result.n,
                               result.rate, result.unit));
    results.push_back(std::move(result));
  };
  suite.run(task);
  ceiling.apply(results);
  if (context.json) {
    auto list = nlohmann::json::array();
    for (const auto& result : results) list.push_back(to_json(result));
    context.print(list);
  } else {
    context.print(to_table(results));
  }
}

}  // namespace

/// The numbers are counted from the formulas, not from compiled code, so that they do not change with a compiler.
double instructions_per_pair(const Device& device, unsigned want, Precision precision) {
  constexpr unsigned all = want_acceleration | want_jerk | want_potential;
  if (device.is_cuda()) {
    if (precision == Precision::single && want == want_acceleration) return 13;
    if (precision == Precision::single && want == all) return 27;
    return precision == Precision::mixed && want == all ? 33 : 0;
  }
  if (want == (want_acceleration | want_potential) && precision == Precision::single) return 18;
  if (want == (want_acceleration | want_potential) && precision == Precision::double_) return 22;
  return want == all && precision == Precision::mixed ? 42 : 0;
}

/// The seed is the model's default, so all runs have the same particles.
Particles bench_particles(std::int64_t n, int threads) {
  ModelOptions options;
  options.n = n;
  auto particles = make_model("plummer", options, threads);
  for (auto* values :
       {&particles.mass, &particles.x, &particles.y, &particles.z, &particles.vx, &particles.vy, &particles.vz})
    for (double& value : *values) value = static_cast<double>(static_cast<float>(value));
  return particles;
}

void check_against_double(const std::string& name, const SolverOptions& options, const Particles& particles,
                          unsigned want, const std::vector<std::int64_t>& places,
                          const std::function<double(int which, std::int64_t k)>& found) {
  auto exact = options;
  exact.precision = Precision::double_;
  const auto cpu = Device::open("cpu");
  const auto solver = make_solver(exact, cpu);
  const auto reference = evaluate_forces(*solver, cpu, particles, want, places);
  const std::vector<double>* columns[] = {&reference.ax, &reference.ay, &reference.az,       &reference.jx,
                                          &reference.jy, &reference.jz, &reference.potential};
  // Sums of a few thousand terms in fp32 blocks are good to about 1e-6, in fp64 to 1e-14 (rms).
  const double allowed = options.precision == Precision::double_ ? 1e-12 : 2e-5;
  const auto compare = [&](int first, int last, const char* what) {
    double difference2 = 0, size2 = 0;
    for (int which = first; which <= last; ++which)
      for (std::size_t k = 0; k < places.size(); ++k) {
        const double expected = (*columns[which])[k], value = found(which, static_cast<std::int64_t>(k));
        difference2 += (value - expected) * (value - expected);
        size2 += expected * expected;
      }
    const double error = std::sqrt(difference2 / size2);
    if (!(error <= allowed))
      throw Error(ErrorKind::numerics, fmt::format("bench: {}: {} differs from a double-precision sum by {:.2e}, "
                                                   "expected at most {:.0e}",
                                                   name, what, error, allowed));
  };
  if (want & want_acceleration) compare(0, 2, "acceleration");
  if (want & want_jerk) compare(3, 5, "jerk");
  if (want & want_potential) compare(6, 6, "potential");
}

/// The shortest time is the one least disturbed by other work on the machine.
double fastest(double seconds, int least, const std::function<void()>& once) {
  const auto start = Clock::now();
  double best = INFINITY;
  for (int calls = 0; calls < least || seconds_since(start) < seconds; ++calls) {
    const auto begin = Clock::now();
    once();
    best = std::min(best, seconds_since(begin));
  }
  return best;
}

void add_bench(Command program, Context& context) {
  auto command = program.add_subcommand("bench", "Measure this machine: rates, and their fraction of its ceiling");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("SUITE", options->suite, fmt::format("One of {}", fmt::join(suite_names(), ", ")))->required();
  command->add_flag("--full", options->full, "Also the sizes that take long");
  command->add_option("--n", options->n, "This number of particles only")
      ->between(std::int64_t{2}, std::int64_t{1} << 40);
  command->add_option("--file", options->file,
                      "treepm, power, groups: this snapshot of a periodic box in place of boxes made for it");
  command->add_option("--tiles", options->tiles, "With --file: the box so many times along each axis")->between(1, 16);
  command
      ->add_option("--set", options->sets,
                   "treepm: configuration key=value, any number of times: this case in place of several accuracies")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--sample", options->sample, "treepm: errors of so many particles")
      ->between(std::int64_t{1}, std::int64_t{1} << 40);
  command->footer("Example:\n  pergola bench direct --threads 2 --json");
  command->callback([options, &context] { on_root(*context.communicator, [&] { run_bench(*options, context); }); });
}

}  // namespace pergola::app
