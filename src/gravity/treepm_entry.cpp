// The entry of TreePM: its keys, its box, its energy.
#include <algorithm>
#include <cmath>

#include "gravity/mesh.hpp"
#include "gravity/pair_laws.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/treepm.hpp"

namespace pergola {

namespace {

using TreePmKey = Key<SolverOptions>;

double own_number(const SolverOptions& options, const char* key) {
  const auto given = options.own.find(key);
  return given == options.own.end() ? 0 : number_of(given->second).value_or(0);
}

TreePmKey cells_number(const std::string& name, const std::string& help, const Range& range) {
  const std::string key = "treepm." + name;
  return {name, help,
          [=](SolverOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto number = number_of(value);
            if (!number || !(*number == 0 || range.contains(*number))) return KeyProblem{"0 or " + range.text(), {}};
            options.own[key] = *number;
            return std::nullopt;
          },
          [=](const SolverOptions& options) -> KeyValue { return own_number(options, key.c_str()); }};
}

TreePmKey treepm_cells_key() {
  return {"cells",
          "along the longest side of the box, in open space of the mesh; 0: chosen by accuracy and number of particles",
          [](SolverOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto cells = integer_of(value);
            if (!cells || *cells < 0 || *cells > 1 << 20) return KeyProblem{"0 or an even number such as 128", {}};
            options.own["treepm.cells"] = *cells;
            return std::nullopt;
          },
          [](const SolverOptions& options) -> KeyValue { return std::int64_t{treepm_options(options).cells}; }};
}

/// One of some words, kept as its number.
TreePmKey word_key(const std::string& name, const std::string& help, const std::vector<std::string>& words) {
  const std::string key = "treepm." + name;
  return {name, help,
          [=](SolverOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto* word = std::get_if<std::string>(&value);
            const auto found = word ? std::find(words.begin(), words.end(), *word) : words.end();
            if (found == words.end()) return one_of(words);
            options.own[key] = std::int64_t{found - words.begin()};
            return std::nullopt;
          },
          [=](const SolverOptions& options) -> KeyValue {
            return words[static_cast<std::size_t>(own_number(options, key.c_str()))];
          }};
}

TreePmKey assignment_key() {
  std::vector<std::string> words{"auto"};
  words.insert(words.end(), assignment_names.begin(), assignment_names.end());
  return word_key("assignment", "auto | ngp | cic | tsc | pcs, for density and force on the mesh", words);
}

std::vector<TreePmKey> treepm_keys() {
  return {cells_number("split", "r_s of the split between mesh and tree, in cells; 0: chosen by gravity.tree.accuracy",
                       Range::between(0.5, 16)),
          cells_number("cut_off", "radius of the short range, in cells; 0: chosen by gravity.tree.accuracy",
                       Range::between(1, 128)),
          treepm_cells_key(), assignment_key(),
          word_key("overlap",
                   "auto | always | never: ranks on GPUs find the long range while they work on trees, which takes "
                   "more memory; auto: where they have it",
                   {overlap_names.begin(), overlap_names.end()})};
}

/// In open space a mesh has cells at its sides that hold no particles.
constexpr int fewest_open_cells = 16;

}  // namespace

std::optional<Conflict> treepm_conflict(const SolverOptions& options) {
  if (!options.mesh.box.periodic() && options.mesh.box.given())
    return Conflict{"gravity.mesh.box",
                    "in open space the box is found from the particles, at every step; leave it out, or set "
                    "gravity.mesh.boundary = \"periodic\""};
  const PairLawEntry& law = pair_law(options.softening.kernel);
  if (!law.in_tree)
    return Conflict{"gravity.softening_kernel",
                    "the tree has no loops for \"" + law.name + "\"; expected plummer or spline"};
  const TreePmOptions given = treepm_options(options);
  const bool lattice_cells = options.mesh.box.periodic() && is_treepm_mesh_size(given.cells);
  if (given.cells > 0 && !lattice_cells && given.cells != nearest_mesh_size(given.cells))
    return Conflict{"gravity.treepm.cells",
                    "expected an even number of at least 8 with the prime factors 2, 3, 5 and 7, in a periodic box up "
                    "to 31; the nearest is " +
                        std::to_string(nearest_mesh_size(given.cells))};
  if (given.cells > 0 && given.cells < fewest_open_cells && !options.mesh.box.periodic())
    return Conflict{"gravity.treepm.cells",
                    "expected at least " + std::to_string(fewest_open_cells) + " in open space"};
  if (given.split > 0 && given.cut_off > 0 &&
      !(given.cut_off >= 2 * given.split && given.cut_off <= most_split_lengths * given.split))
    return Conflict{"gravity.treepm.cut_off", "expected 2 to 8 times gravity.treepm.split"};
  return std::nullopt;
}

Box& tree_box(SolverOptions& options) {
  if (boundary_is_open(options) && !options.mesh.box.given()) options.mesh.box.boundary = Boundary::isolated;
  return options.mesh.box;
}

std::string treepm_choice(const SolverOptions& options, std::int64_t n) {
  const Box& box = options.mesh.box;
  return box.periodic() && box.given() ? treepm_parameters(options, n, box).text(options.solver) : "";
}

Box find_tree_box(const SolverOptions& options, ParticleSource& particles, double stated_side) {
  MeshOptions mesh = options.mesh;
  const bool stated = stated_side > 0 && options.external.empty();  // external potentials have no images
  if (boundary_is_open(options))
    mesh.box.boundary = mesh.box.given() || stated ? Boundary::periodic : Boundary::isolated;
  return mesh.box.periodic() ? find_mesh_box(mesh, particles, stated_side) : Box{};
}

namespace {

/// The mesh of a trial has at most `cells` per side.
SolverOptions smaller_treepm_mesh(SolverOptions options, int cells, double& fewer) {
  const int given = treepm_options(options).cells, trial = given > 0 ? std::min(given, cells) : cells;
  fewer = given > 0 ? std::pow(static_cast<double>(given) / trial, 3) : 1;
  options.own["treepm.cells"] = std::int64_t{trial};
  options.mesh.cells = {trial, trial, trial};
  return options;
}

}  // namespace

template <class Real>
std::unique_ptr<Solver<Real>> make_treepm(const SolverOptions& options, const Device& device) {
  if (const auto conflict = treepm_conflict(options))
    throw Error(ErrorKind::input, conflict->key + ": " + conflict->why);
  if (device.is_cuda()) {
    if constexpr (cuda_built) return make_treepm_cuda<Real>(options, device);
  }
  return make_treepm_cpu<Real>(options, device);
}
template std::unique_ptr<Solver<float>> make_treepm(const SolverOptions& options, const Device& device);
template std::unique_ptr<Solver<double>> make_treepm(const SolverOptions& options, const Device& device);

TreePmOptions treepm_options(const SolverOptions& options) {
  return {own_number(options, "treepm.split"),
          own_number(options, "treepm.cut_off"),
          static_cast<int>(own_number(options, "treepm.cells")),
          static_cast<int>(own_number(options, "treepm.assignment")),
          static_cast<Overlap>(static_cast<int>(own_number(options, "treepm.overlap"))),
          own_number(options, "treepm.root_particles")};
}

const SolverInfo& treepm_info() {
  static const SolverInfo info{
      .name = "treepm", .periodic = true, .potential = true, .subset = true, .updates = true, .long_range = true};
  return info;
}

const SolverInfo& open_treepm_info() {
  static const SolverInfo info = [] {
    SolverInfo same = treepm_info();
    same.long_range = false;
    return same;
  }();
  return info;
}

SolverEntry treepm_entry() {
  return {.name = "treepm",
          .summary = "the short range by the tree, the long range by a mesh; a periodic box or open space",
          .can = treepm_info(),
          .keys = treepm_keys(),
          .energy = {.pairs_up_to = 0},
          .keeps_accuracy = true,
          .cost = StepCost::cells,
          .trial = smaller_treepm_mesh,
          .choice = treepm_choice,
          .box = tree_box,
          .find_box = find_tree_box,
          .check = treepm_conflict,
          .make_single = make_treepm<float>,
          .make_double = make_treepm<double>,
          .make_distributed_single = make_distributed_treepm<float>,
          .make_distributed_double = make_distributed_treepm<double>};
}

}  // namespace pergola
