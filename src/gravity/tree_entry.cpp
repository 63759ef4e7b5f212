// The entry of the tree: its keys, its box, its energy. In a periodic box it is TreePM.
//
// Two criteria of opening share the keys: "accuracy" chooses the relative one, "opening_angle" the geometric one, and
// "opening" decides where both are given. In open space the solver is the tree itself, else TreePM with the tree's
// name.
#include <algorithm>
#include <utility>

#include "gravity/pair_laws.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/tree.hpp"
#include "gravity/treepm.hpp"

namespace pergola {

namespace {

using TreeKey = Key<SolverOptions>;

/// A number that also chooses the criterion it belongs to; `opening`, read later, may choose the other one.
template <class Get>
TreeKey opening_key(const std::string& name, const std::string& help, const Range& range, TreeOptions::Opening opening,
                    Get get) {
  TreeKey key = real_option<SolverOptions>(name, help, range, get);
  key.take = [take = key.take, opening](SolverOptions& options, const KeyValue& value) {
    auto problem = take(options, value);
    if (!problem) options.tree.opening = opening;
    return problem;
  };
  return key;
}

TreeKey order_key() {
  return {"order", "of the expansions, 2 to 5; 0: chosen by the accuracy",
          [](SolverOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto order = integer_of(value);
            if (!order || *order < 0 || *order > 5) return KeyProblem{Range::between(0, 5).text("an integer"), {}};
            if (*order == 1) return KeyProblem{"0 or a number from 2 to 5", {}};
            options.tree.order = static_cast<int>(*order);
            return std::nullopt;
          },
          [](const SolverOptions& options) -> KeyValue { return std::int64_t{options.tree.order}; }};
}

std::vector<TreeKey> tree_keys() {
  return {opening_key(
              "accuracy", "median relative force error; 99 % have at most six times that", Range::between(1e-5, 1e-2),
              TreeOptions::Opening::relative, [](auto& o) -> auto& { return o.tree.accuracy; }),
          opening_key(
              "opening_angle", "radii of two cells over their distance", Range::between(0.05, 1),
              TreeOptions::Opening::geometric, [](auto& o) -> auto& { return o.tree.opening_angle; }),
          choice_option<TreeOptions::Opening, SolverOptions>(
              "opening", "relative (accuracy) | geometric (opening_angle)", tree_opening_names,
              [](auto& o) -> auto& { return o.tree.opening; }),
          order_key()};
}

/// Up to this number of particles the potential energy is the sum over all pairs.
constexpr std::int64_t summed_directly = 32768;

/// An accuracy of at least 1e-4: the relative error of the potential energy is then some 1e-6.
SolverOptions energy_options(SolverOptions options) {
  options.tree.opening = TreeOptions::Opening::relative;
  options.tree.accuracy = std::min(options.tree.accuracy, 1e-4);
  options.tree.order = 0;
  if (options.precision == Precision::single) options.precision = Precision::mixed;
  return options;
}

/// As TreePM's, but for a periodic boundary without a box, which is open space: the mesh's keys need not be the tree's.
Box& own_box(SolverOptions& options) {
  if (!options.mesh.box.given()) options.mesh.box.boundary = Boundary::isolated;
  return options.mesh.box;
}
Box find_own_box(const SolverOptions& options, ParticleSource& particles, double stated_side) {
  return options.mesh.box.given() || stated_side > 0 ? find_tree_box(options, particles, stated_side) : Box{};
}

/// There the tree has a mesh for the images: it is TreePM.
bool in_periodic_box(SolverOptions options) { return own_box(options).periodic(); }

std::optional<Conflict> check_tree(const SolverOptions& options) {
  if (in_periodic_box(options)) return treepm_conflict(options);
  const PairLawEntry& law = pair_law(options.softening.kernel);
  if (law.in_tree) return std::nullopt;
  return Conflict{"gravity.softening_kernel",
                  "the tree has no loops for \"" + law.name + "\"; set gravity.solver = \"direct\""};
}

/// On one process; a conflict that the configuration has not shown throws here.
template <class Real>
std::unique_ptr<Solver<Real>> make_tree(const SolverOptions& options, const Device& device) {
  if (const auto conflict = check_tree(options)) throw Error(ErrorKind::input, conflict->key + ": " + conflict->why);
  if (in_periodic_box(options)) return make_treepm<Real>(options, device);
  if (device.is_cuda()) {
    if constexpr (cuda_built) return make_tree_cuda<Real>(options, device);
  }
  return make_tree_cpu<Real>(options, device);
}

template <class Real>
std::unique_ptr<Solver<Real>> make_distributed(const SolverOptions& options, const Device& device,
                                               std::shared_ptr<Communicator> ranks) {
  if (const auto conflict = check_tree(options)) throw Error(ErrorKind::input, conflict->key + ": " + conflict->why);
  if (in_periodic_box(options)) return make_distributed_treepm<Real>(options, device, std::move(ranks));
  if (device.is_cuda()) {
    if constexpr (cuda_built) return make_distributed_tree_cuda<Real>(options, device, std::move(ranks));
  }
  return make_distributed_tree_cpu<Real>(options, device, std::move(ranks));
}

}  // namespace

const SolverInfo& tree_info() {
  static const SolverInfo info{.name = "tree", .periodic = true, .potential = true, .subset = true, .updates = true};
  return info;
}

SolverEntry tree_entry() {
  return {.name = "tree",
          .summary = "a fast multipole method on an octree; in a periodic box with a mesh, as treepm",
          .can = tree_info(),
          .keys = tree_keys(),
          .energy = {.pairs_up_to = summed_directly, .options = energy_options},
          .keeps_accuracy = true,
          .choice = treepm_choice,
          .box = own_box,
          .find_box = find_own_box,
          .check = check_tree,
          .make_single = make_tree<float>,
          .make_double = make_tree<double>,
          .make_distributed_single = make_distributed<float>,
          .make_distributed_double = make_distributed<double>};
}

}  // namespace pergola
