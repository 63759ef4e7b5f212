#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "analysis/energy.hpp"
#include "device/buffer.hpp"
#include "domain/device_messages.hpp"
#include "gravity/direct_spread.hpp"
#include "gravity/mesh.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/tree.hpp"
#include "gravity/treepm.hpp"
#include "models/model_source.hpp"
#include "particles/particle_source.hpp"
#include "run/plan_parts.hpp"
#include "run/plan_sample.hpp"
#include "sim/gravity_system.hpp"
#include "time/integrator_entry.hpp"

namespace pergola {

namespace {

constexpr std::int64_t most_dry_particles = 1 << 18, fewest_dry_particles = 4096;
constexpr std::int64_t most_dry_pairs_of = 1 << 13;  // particles whose pairs are all summed
constexpr int most_dry_side = 256, fewest_dry_side = 8;
/// Shared steps are alike; of block steps some are of few particles.
constexpr std::int64_t dry_shared_steps = 2, dry_block_steps = 8;

/// The run with fewer particles.
struct Smaller {
  RunConfig config;
  std::int64_t n = 0;
};

/// At most `most` particles, and a mesh that has fewer cells by the same factor. A mesh that is chosen by the number of
/// particles shrinks by itself.
Smaller smaller_run(const RunConfig& config, std::int64_t n, std::int64_t most) {
  Smaller found{config, n};
  const SolverEntry& solver = solver_entry(config.gravity.solver);
  for (int side = most_dry_side; solver.trial && side >= fewest_dry_side; side /= 2) {
    double fewer = 1;
    const SolverOptions mesh = solver.trial(config.gravity, side, fewer);
    if (fewer <= 1) continue;
    found.config.gravity = mesh;
    found.n = static_cast<std::int64_t>(std::llround(static_cast<double>(n) / fewer));
    if (found.n <= most) break;
  }
  found.n = std::max<std::int64_t>(1, std::min(found.n, most));
  return found;
}

bool fits(const Smaller& run, const Device& device, int ranks, double free) {
  return ranks * device_bytes_of(run.config, device, run.n, ranks) + host_bytes_of(run.config, device, run.n) <=
         trial_memory * free;
}

/// A mesh in open space, with an FFT.
bool is_isolated_mesh(const SolverOptions& options) {
  return solver_entry(options.solver).can.smooths && options.mesh.poisson == Poisson::fft &&
         !options.mesh.box.periodic();
}

/// A thinned sample with what its places say.
struct DrySample {
  RunConfig config;
  Sample sample;
  bool equal_masses = true;
  SampledPlaces places;  // in a periodic box, or that of an isolated mesh
};

DrySample make_sample(const Smaller& run, int threads, double run_n, double grown = 1) {
  DrySample made{run.config, {}, true, {}};
  made.sample = thinned(made.config, run.n, threads);
  const Particles& particles = made.sample.particles;
  made.equal_masses =
      std::adjacent_find(particles.mass.begin(), particles.mass.end(), std::not_equal_to<>()) == particles.mass.end();
  Box box = box_of(run.config.gravity);
  if (is_isolated_mesh(run.config.gravity)) {
    HostParticles source(particles);
    box = find_mesh_box(run.config.gravity.mesh, source, 0);
  } else if (!box.periodic() || !box.given()) {
    return made;
  }
  const auto parts = made.config.particles.all();
  const bool lattice = parts.size() == 1 && parts[0].file.empty() && find_model(parts[0].model).cube;
  const auto side = static_cast<std::int64_t>(std::llround(std::cbrt(static_cast<double>(particles.size()))));
  made.places = SampledPlaces::of(particles, box, lattice ? side : 0, std::cbrt(run_n), grown);
  return made;
}

DryRun dry_run(const DrySample& made, int ranks, double together) {
  RunConfig config = made.config;
  const Sample& sample = made.sample;
  config.run.device = "cpu", config.run.threads = 1;
  const std::int64_t steps =
      integrator_entry(config.time.integrator).in_blocks(config.time) ? dry_block_steps : dry_shared_steps;
  return count_traffic(ranks, steps, together, config.run.end_time, [&](std::shared_ptr<Communicator> rank) {
    return std::make_unique<GravitySystem>(config, sample.particles, sample.time, std::move(rank));
  });
}

/// What is known of a method's traffic.
struct SpreadMethod {
  std::optional<SlabMesh> mesh;
  std::optional<tree::Forest> forest;  // of GPUs
};

/// Cells of a box of so many times the volume: as dense, and along z a multiple of the ranks where that is near.
std::array<int, 3> grown_cells(const std::array<int, 3>& cells, double grown, int ranks) {
  constexpr double near = 0.05;
  std::array<int, 3> all = cells;
  if (grown == 1) return all;
  for (int& count : all) count = 2 * static_cast<int>(std::lround(0.5 * count * std::cbrt(grown)));
  const double times = std::max(1.0, std::round(static_cast<double>(all[2]) / ranks));
  if (std::abs(times * ranks / all[2] - 1) < near) all[2] = static_cast<int>(times) * ranks;
  return all;
}

/// For n particles, `grown` times those of the configuration.
SpreadMethod find_method(const RunConfig& config, std::int64_t n, double grown, int ranks, bool on_gpus) {
  SpreadMethod method;
  const SolverOptions options = config.solver_options();
  const Box box = box_of(options);
  const bool isolated = is_isolated_mesh(options);
  if ((!isolated && (!box.periodic() || !box.given())) ||
      integrator_entry(config.time.integrator).in_blocks(config.time))
    return method;
  const int bytes = options.precision == Precision::single ? 4 : 8;
  const Device cpu = Device::open("cpu", 1);
  const bool split = options.precision == Precision::single ? make_solver<float>(options, cpu)->info().long_range
                                                            : make_solver<double>(options, cpu)->info().long_range;
  const auto slabs = [&](const MeshOptions& mesh) {
    return SlabMesh{grown_cells(mesh.cells, grown, ranks), mesh.assignment, mesh.gradient, bytes, on_gpus};
  };
  if (split) {
    TreePmParameters found =
        treepm_parameters(options, static_cast<std::int64_t>(std::llround(static_cast<double>(n) / grown)), box);
    method.mesh = slabs(treepm_mesh_options(options, found).mesh);
    found.tree_box.side = std::cbrt(grown) * found.tree_box.side;
    if (on_gpus) {
      method.forest = treepm_forest(found, n, tree_softening(options.softening, found.opening));
      method.mesh->groups = groups_of_a_particle(*method.forest, static_cast<double>(n));
    }
  } else if (solver_entry(options.solver).can.smooths && options.mesh.poisson == Poisson::fft) {
    method.mesh = slabs(options.mesh);
    method.mesh->isolated = isolated;
  }
  return method;
}

/// Who works on what, counted with a sample.
struct CountedMethod {
  std::vector<TrafficPart> parts;
  RoutedCopies slabs;
  double planes_imbalance = 1;  // of a slab that has most
  ForestCopies forest;
};

/// `of_mean`: traffic of the mean rank, not of the one that has most; `together`: as of count_traffic().
CountedMethod count_method(SpreadMethod method, const DrySample& made, double n, int ranks, int ranks_per_node,
                           bool of_mean, double together) {
  CountedMethod counted;
  if (!method.mesh) return counted;
  SampledPlaces places = made.places;
  if (method.forest) {
    counted.forest = count_forest(places, ranks, ranks_per_node, *method.forest);
    if (live_with_work(together)) places = places.living_with(counted.forest.worker, ranks);
  }
  method.mesh->equal_masses = made.equal_masses;
  const SlabMesh& mesh = *method.mesh;
  const int order = static_cast<int>(mesh.assignment);
  counted.slabs = method.forest
                      ? count_slabs(places, ranks, ranks_per_node, mesh.cells[2], order)
                      : count_rows(places, ranks, ranks_per_node, mesh.cells, order, n, RowCosts::of(mesh.on_gpus));
  if (of_mean) counted.slabs.imbalance = 1;
  const int planes = method.mesh->cells[2];
  counted.planes_imbalance = static_cast<double>((planes + ranks - 1) / ranks) * ranks / planes;
  counted.parts = slab_traffic(*method.mesh, n, ranks, ranks_per_node, counted.slabs);
  if (!method.forest) return counted;
  for (const TrafficPart& part :
       forest_traffic(*method.forest, method.mesh->value_bytes, n, ranks, counted.forest, together, made.equal_masses))
    counted.parts.push_back(part);
  return counted;
}

/// Between GPUs that sum pairs: all sources come by, at most; where few particles ask less than that travels.
TrafficPart source_traffic(Precision precision, double n, int ranks, int ranks_per_node) {
  const double arrays = arrays_of_sources(precision), others = ranks - 1;
  return {"sources", n / ranks * others * arrays * static_cast<double>(array_bytes_of_a_source(precision)),
          std::ceil(n / ranks / static_cast<double>(TravelLimits{}.sources_at_once)) * others * arrays,
          off_node_of_all(ranks, ranks_per_node)};
}

/// Stages whose work is that of particles where they are kept, of cells, and of particles where their trees are; others
/// are of particles in slabs.
constexpr std::string_view kept_stages[] = {"position", "sort"}, cell_stages[] = {"Poisson", "force x y z"};
constexpr std::string_view build_stage = "tree", estimate_stage = "estimate", walk_stage = "walk";

/// The guests that trees hold too, and ranks that have more particles than others, by counts.
struct CountedWork {
  double added = 0, imbalance = 1;
};
CountedWork count_work(const std::vector<StageSeconds>& stages, const CountedMethod& counted) {
  const auto imbalance_of = [&](const std::string& stage) {
    const auto is_in = [&](const auto& list) {
      return std::find(std::begin(list), std::end(list), stage) != std::end(list);
    };
    if (is_in(kept_stages)) return 1.0;
    if (is_in(cell_stages)) return counted.planes_imbalance;
    if (stage == build_stage) return counted.forest.trees_imbalance;
    return stage == walk_stage || stage == estimate_stage ? counted.forest.own.imbalance : counted.slabs.imbalance;
  };
  double all = 0, added = 0, uneven = 0;
  for (const StageSeconds& stage : stages) {
    const double guests = stage.name == build_stage ? counted.forest.guests.copies * stage.seconds : 0;
    all += stage.seconds, added += guests;
    uneven += (stage.seconds + guests) * (imbalance_of(stage.name) - 1);
  }
  if (!(all > 0)) return {};
  return {added / all, 1 + uneven / (all + added)};
}

/// Bytes of a rank's device beside what one process has for its share, where no part says it: particles that arrive
/// for the slab with their way and planes around it, or planes of rows that are worked on; and rooms of messages, out
/// and in. With trees, which follow the
/// mesh where memory is short, own ones and guests, in whose memory those of the slab arrive before; trees of the
/// guests; places in the input and ways of particles; where groups of trees come first a field more, in the memory of
/// the tree, as the way to the slab; rooms of messages for trees; and what is kept of the places of all roots.
double arriving_bytes(const SpreadMethod& method, const CountedMethod& counted, double share, int ranks) {
  const SlabMesh& mesh = *method.mesh;
  const double each = mesh.value_bytes;
  const double planes = static_cast<int>(mesh.assignment) + 3;
  const double rooms = 2 * static_cast<double>(ranks > 1 ? DeviceMessages::most_bytes(ranks) : 0);
  const double of_potential = (mesh.isolated ? 4 : 1) * each, of_forces = 4 * each;
  double bytes = (method.forest ? 0 : share * counted.slabs.imbalance * (4 * each + 4)) + rooms +
                 planes * mesh.cells[0] * mesh.cells[1] * (8 + of_potential) * (ranks > 1 ? 1 : 0) +
                 counted.slabs.planes * mesh.cells[0] * mesh.cells[1] * (of_forces + of_potential);
  if (!method.forest) return bytes;
  const double sorted = 20 * share, field = each / ranks * mesh.cells[0] * mesh.cells[1] * mesh.cells[2];
  const double of_tree = 29 + 7 * each, guests = counted.forest.guests.copies;
  const double place = share * ranks > 0x1p32 ? 8 : 4, way = 4;
  return bytes + rooms +
         share * counted.forest.trees_imbalance * (guests * of_tree + (1 + guests) * 4 * each + place + way) +
         std::max(3 * field + way * share, sorted) - std::max(2 * field, sorted) +
         16.0 * static_cast<double>(method.forest->places() + method.forest->plots());
}

/// Between a GPU and page-locked memory of the host, the slower way.
double staging_rate(const Device& device) {
  constexpr std::int64_t bytes = std::int64_t{1} << 26;
  Buffer<std::byte> there(device, bytes);
  SharedBuffer<std::byte> here(device, bytes);
  there.zero();
  const auto seconds = [&](const auto& copy) {
    constexpr int times = 4;
    copy(), device.synchronize();
    const auto begin = Clock::now();
    for (int k = 0; k < times; ++k) copy();
    device.synchronize();
    return seconds_since(begin) / times;
  };
  const double out = seconds([&] { device.memory().to_host(here.data(), there.data(), bytes); });
  const double in = seconds([&] { device.memory().from_host(there.data(), here.data(), bytes); });
  return static_cast<double>(bytes) / std::max(out, in);
}

/// Samples that ranks send each other in this process, and what is known by rule of them. `together`: as of
/// count_traffic().
void run_samples(RankPlan& found, RunShape& shape, const RunConfig& config, const RunPlan& plan, const Device& device,
                 double together, std::map<std::int64_t, DryRun>& of_one_rank) {
  // A plain mesh is cheap, and each rank should have some of its planes in the sample too.
  const SolverEntry& solver = solver_entry(config.gravity.solver);
  int ranks = std::min(found.ranks, most_dry_ranks);
  std::int64_t most = shape.sources_come_by ? most_dry_pairs_of : most_dry_particles;
  if (solver.can.smooths) most = std::max<std::int64_t>(most, 8LL * ranks * ranks * ranks);
  Smaller tried = plan.n <= most ? Smaller{config, plan.n} : smaller_run(config, plan.n, most);
  while (!fits(tried, device, ranks, plan.host_free_bytes) && (tried.n > fewest_dry_particles || ranks > 2)) {
    if (tried.n > fewest_dry_particles)
      tried = smaller_run(config, plan.n, tried.n / 8);
    else
      ranks /= 2;
  }
  // Ranks without planes send less than the rule has it.
  if (const SpreadMethod method = find_method(tried.config, tried.n, 1, ranks, false); method.mesh)
    ranks = std::min(ranks, method.mesh->cells[2]);
  shape.whole = !found.weak && tried.n == plan.n && ranks == found.ranks;
  const auto count = [&](const Smaller& run) {
    const DrySample made = make_sample(run, device.threads(), static_cast<double>(run.n));
    const std::int64_t n = made.sample.particles.size();
    const CountedMethod counted = count_method(find_method(made.config, n, 1, ranks, false), made,
                                               static_cast<double>(n), ranks, 1, true, together);
    found.counted.push_back(dry_run(made, ranks, together));
    if (!counted.parts.empty()) shape.of_counted.push_back(sum_of(counted.parts));
    if (found.counted.size() > 1) return;
    if (!of_one_rank.contains(n)) of_one_rank[n] = dry_run(made, 1, 1);
    set_added_work(found.counted.front(), of_one_rank[n]);
  };
  count(tried);
  if (!shape.whole) count(smaller_run(config, plan.n, std::max<std::int64_t>(1, tried.n / 8)));
}

/// Of the sample that tells who works on what: so many particles for each rank that it knows the rank's partners.
constexpr std::int64_t particles_of_a_rank = 1024, most_placed = 1 << 21;

}  // namespace

double staging_of(const PlanOptions& options, const Device& device, int ranks) {
  if (ranks <= options.network.ranks_per_node) return 0;
  if (options.rates) return options.rates->staging_bytes_per_second;
  return staging_rate(device);
}

double host_wait_of(const Device& device) {
  constexpr int times = 64;
  Buffer<std::int64_t> there(device, 1);
  std::int64_t here = 0;
  const auto look = [&] {
    there.zero();
    device.memory().to_host(&here, there.data(), sizeof here);
  };
  look();
  const auto begin = Clock::now();
  for (int k = 0; k < times; ++k) look();
  return seconds_since(begin) / times;
}

RankPlan plan_gravity_ranks(const RunConfig& given, const RunPlan& plan, const PlanOptions& options, int ranks,
                            std::map<std::int64_t, DryRun>& of_one_rank) {
  RankPlan found{.ranks = ranks, .weak = options.weak, .network = options.network};
  const double grown = options.weak ? ranks : 1, n = grown * static_cast<double>(plan.n);
  const bool sums_pairs = solver_entry(given.gravity.solver).cost == StepCost::pairs;
  found.one_rank_seconds = (sums_pairs ? grown * grown : grown) * step_seconds(plan);
  found.device_bytes = plan.device_bytes, found.host_bytes = plan.host_bytes;
  RunShape shape{.n = n, .sources_come_by = sums_pairs, .stages = plan.stages};
  if (ranks == 1) {
    foretell_ranks(found, shape);
    return found;
  }
  RunConfig config = given;
  if (options.rates) config.run.device = "cpu";
  const Device device = Device::open(config.run.device, config.run.threads);
  const bool on_gpus = options.rates ? plan.device.starts_with("cuda") : device.is_cuda();
  const auto rank =
      make_integrator(config.time_options(), config.solver_options(), {device, lone_rank_of(ranks), nullptr});
  found.on_gpu = on_gpus;
  found.spread = options.rates ? options.rates->spread : rank->spread();
  const SpreadMethod method = find_method(config, static_cast<std::int64_t>(n), grown, ranks, on_gpus);
  found.foretold = found.spread || (on_gpus && method.mesh);
  if (!found.foretold) return found;

  CountedMethod counted;
  if (method.mesh) {
    const std::int64_t most = std::clamp(ranks * particles_of_a_rank, most_dry_particles, most_placed);
    const DrySample made = make_sample({config, std::min(plan.n, most)}, device.threads(), n, grown);
    counted = count_method(method, made, n, ranks, options.network.ranks_per_node, false, steps_together(plan));
    shape.by_rule = counted.parts;
  }
  if (on_gpus && sums_pairs)
    shape.by_rule = {source_traffic(config.solver_options().precision, n, ranks, options.network.ranks_per_node)};
  found.host_bytes = plan.program_bytes + host_bytes_of(config, device, plan.n, options.weak ? 1 : ranks);
  found.waiting_bytes = waiting_bytes_of(config, static_cast<std::int64_t>(n), ranks);
  if (found.spread && !options.weak && !on_gpus)  // the model is gone before energies are measured
    found.host_bytes = std::max(found.host_bytes, plan.program_bytes + static_cast<double>(spread_energy_bytes(
                                                                           lone_rank_of(ranks), config.solver_options(),
                                                                           device, (plan.n + ranks - 1) / ranks)));
  if (found.spread && !options.weak && on_gpus == device.is_cuda())
    found.device_bytes =
        device_bytes_of(config, device, plan.n, ranks) +
        (on_gpus ? static_cast<double>(lent_energy_bytes(config.solver_options(), device, (plan.n + ranks - 1) / ranks))
                 : 0);
  else if (method.mesh)
    found.device_bytes = grown / ranks * plan.device_bytes + arriving_bytes(method, counted, n / ranks, ranks);
  if (on_gpus) {
    found.network.staging_bytes_per_second = staging_of(options, device, ranks);
    if (found.network.staging_bytes_per_second > 0)
      for (const TrafficPart& part : shape.by_rule)
        found.host_bytes = std::max(found.host_bytes, plan.program_bytes + 2 * part.bytes);
  }
  shape.trees_beside_mesh = on_gpus && method.forest;
  if (on_gpus && !shape.by_rule.empty()) {
    const CountedWork work = count_work(plan.stages, counted);
    found.added_work = work.added, found.imbalance = work.imbalance;
  } else {
    run_samples(found, shape, config, plan, device, steps_together(plan), of_one_rank);
    // Who works on what of a mesh is known: the clocks of the sample's ranks would add how unlike the cores are.
    if (method.mesh && solver_entry(config.gravity.solver).can.smooths)
      found.counted.front().imbalance = count_work(plan.stages, counted).imbalance;
  }
  found.constant_bytes = bytes_beyond_share(found, plan, grown / ranks);
  foretell_ranks(found, shape);
  return found;
}

}  // namespace pergola
