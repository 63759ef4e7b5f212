// The entry of the mesh solver: its keys, and which of them conflict.
//
// A key reads a value into SolverOptions and gives it back (`take` and `value`). Combinations that cannot work are
// found when the configuration is read (mesh_conflict) and name the key to change. TreePM uses the same options.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "gravity/mesh.hpp"
#include "gravity/solver_entry.hpp"

namespace pergola {

namespace {

constexpr int fewest_cells = 8;

/// Even, and a product of primes that the transforms are fast for.
bool fast_size(int n) {
  if (n % 2 != 0) return false;
  for (const int prime : {2, 3, 5, 7})
    while (n % prime == 0) n /= prime;
  return n == 1;
}

}  // namespace

int nearest_mesh_size(int n) {
  for (int d = 0;; ++d) {
    if (n - d >= fewest_cells && fast_size(n - d)) return n - d;
    if (n + d >= fewest_cells && fast_size(n + d)) return n + d;
  }
}

// The spectral operators need the modes of a periodic box; multigrid and isolated boxes have none.
std::optional<Conflict> mesh_conflict(const MeshOptions& mesh) {
  const auto conflict = [](const char* key, const std::string& why) {
    return Conflict{std::string("gravity.mesh.") + key, why};
  };
  for (const int n : mesh.cells)
    if (n < fewest_cells || !fast_size(n))
      return conflict(
          "cells",
          fmt::format("expected even numbers of at least {} with the prime factors 2, 3, 5 and 7 only, found {}; "
                      "the nearest is {}",
                      fewest_cells, n, nearest_mesh_size(n)));
  if (!mesh.box.periodic() && mesh.assignment == Assignment::pcs)
    return conflict("assignment", "pcs needs boundary = periodic, found isolated; use tsc");
  const bool plain = mesh.poisson == Poisson::multigrid || !mesh.box.periodic();
  const char* where = mesh.poisson == Poisson::multigrid ? "poisson = multigrid" : "boundary = isolated";
  if (plain && mesh.gradient == Gradient::spectral)
    return conflict("gradient",
                    fmt::format("spectral needs poisson = fft and boundary = periodic, found {}; use two-point or "
                                "four-point",
                                where));
  if (plain && mesh.laplacian == Laplacian::spectral)
    return conflict("laplacian",
                    fmt::format("spectral needs poisson = fft and boundary = periodic, found {}; use discrete", where));
  if (plain && mesh.deconvolve)
    return conflict("deconvolve", fmt::format("true needs poisson = fft and boundary = periodic, found {}", where));
  return std::nullopt;
}

void check_mesh_options(const MeshOptions& mesh) {
  if (const auto conflict = mesh_conflict(mesh))
    throw Error(ErrorKind::input, fmt::format("{}: {}", conflict->key, conflict->why));
}

namespace {

using MeshKey = Key<SolverOptions>;

/// "auto" leaves a value open until the particles are known.
bool is_auto(const KeyValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  return word && *word == "auto";
}

MeshKey cells_key() {
  return {"cells", "per side, or [x, y, z]; even numbers with small prime factors",
          [](SolverOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto cells = triple_of(value, Range::between(1, 1 << 20));
            const auto whole = [](double n) { return std::floor(n) == n; };
            if (!cells || !std::all_of(cells->begin(), cells->end(), whole))
              return KeyProblem{"an even number such as 128, or [128, 128, 64]", {}};
            for (std::size_t k = 0; k < 3; ++k) options.mesh.cells[k] = static_cast<int>((*cells)[k]);
            return std::nullopt;
          },
          [](const SolverOptions& options) -> KeyValue {
            const auto& n = options.mesh.cells;
            if (n[0] == n[1] && n[1] == n[2]) return std::int64_t{n[0]};
            return triple_value(n[0], n[1], n[2]);
          }};
}

MeshKey box_key() {
  return {"box", "side, or [x, y, z]; auto: BoxSize (periodic), or the smallest cube that holds all (isolated)",
          [](SolverOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
            auto& side = options.mesh.box.side;
            side = {0, 0, 0};
            if (is_auto(value)) return std::nullopt;
            const auto sides = triple_of(value, Range::above(0));
            if (!sides) return KeyProblem{"\"auto\", a number > 0 or [x, y, z]", {}};
            side = {(*sides)[0], (*sides)[1], (*sides)[2]};
            return std::nullopt;
          },
          [](const SolverOptions& options) -> KeyValue {
            const auto& side = options.mesh.box.side;
            return options.mesh.box.given() ? triple_value(side.x, side.y, side.z) : KeyValue("auto");
          },
          dimension::length};
}

MeshKey box_corner_key() {
  return {"box_corner", "lowest corner [x, y, z]; auto: 0 (periodic), centred on 0 (isolated)",
          [](SolverOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
            options.mesh.box_corner.reset();
            if (is_auto(value)) return std::nullopt;
            const auto corner = triple_of(value, Range{});
            if (!corner) return KeyProblem{"\"auto\", a number or [x, y, z]", {}};
            options.mesh.box_corner = Vec3<double>{(*corner)[0], (*corner)[1], (*corner)[2]};
            return std::nullopt;
          },
          [](const SolverOptions& options) -> KeyValue {
            const auto& corner = options.mesh.box_corner;
            return corner ? triple_value(corner->x, corner->y, corner->z) : KeyValue("auto");
          },
          dimension::length};
}

constexpr const char* boundary_word = "mesh.boundary";

MeshKey boundary_key() {
  static const std::vector<std::string> words{"auto", "isolated", "periodic"};
  return {"boundary", "auto | periodic | isolated; auto: tree and treepm periodic with a box, mesh periodic",
          [](SolverOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto* word = std::get_if<std::string>(&value);
            if (!word || std::find(words.begin(), words.end(), *word) == words.end()) return one_of(words);
            options.own[boundary_word] = *word;
            options.mesh.box.boundary = *word == words[1] ? Boundary::isolated : Boundary::periodic;
            return std::nullopt;
          },
          [](const SolverOptions& options) -> KeyValue {
            if (boundary_is_open(options)) return words[0];
            return words[options.mesh.box.periodic() ? 2 : 1];
          }};
}

/// `without`: how to get what this key no longer offers.
MeshKey cycle_key() {
  return without(
      choice_option<MultigridOptions::Cycle, SolverOptions>(
          "multigrid", "full (full multigrid first) | v (V-cycles)", multigrid_cycle_names,
          [](auto& o) -> auto& { return o.mesh.multigrid.cycle; }),
      {{"paper", "\"v\" with tolerance = 0, cycles = 3, smoothing_before = 5, smoothing_after = 5, levels = 5"}});
}

MeshKey density_key() {
  return without(choice_option<DensityRoute, SolverOptions>(
                     "density", "auto | atomic | sorted: how a GPU adds up the density", density_route_names,
                     [](auto& o) -> auto& { return o.mesh.density; }),
                 {{"host", "\"auto\" (the same sums on the GPU)"}});
}

std::vector<MeshKey> field_keys() {
  return {cells_key(),
          choice_option<Assignment, SolverOptions>(
              "assignment", "ngp | cic | tsc | pcs, for density and force", assignment_names,
              [](auto& o) -> auto& { return o.mesh.assignment; }, 1),
          choice_option<Poisson, SolverOptions>(
              "poisson", "fft | multigrid", poisson_names, [](auto& o) -> auto& { return o.mesh.poisson; }),
          boundary_key(),
          choice_option<Gradient, SolverOptions>(
              "gradient", "two-point | four-point | spectral", gradient_names,
              [](auto& o) -> auto& { return o.mesh.gradient; }),
          choice_option<Laplacian, SolverOptions>(
              "laplacian", "discrete (seven-point) | spectral (k^2); periodic fft", laplacian_names,
              [](auto& o) -> auto& { return o.mesh.laplacian; }),
          flag_option<SolverOptions>(
              "deconvolve", "periodic fft: divide by the window of the assignment",
              [](auto& o) -> auto& { return o.mesh.deconvolve; }),
          density_key(),
          box_key(),
          box_corner_key()};
}

std::vector<MeshKey> multigrid_keys() {
  return {cycle_key(),
          real_option<SolverOptions>(
              "tolerance", "multigrid: stop at |r| <= tolerance (|f| + |A| |phi|); 0: after all cycles",
              Range::at_least(0), [](auto& o) -> auto& { return o.mesh.multigrid.tolerance; }),
          integer_option<SolverOptions>(
              "cycles", "multigrid: most V-cycles", Range::between(1, 1000),
              [](auto& o) -> auto& { return o.mesh.multigrid.cycles; }),
          integer_option<SolverOptions>(
              "smoothing_before", "multigrid: sweeps before the coarser grid", Range::between(0, 100),
              [](auto& o) -> auto& { return o.mesh.multigrid.smoothing_before; }),
          integer_option<SolverOptions>(
              "smoothing_after", "multigrid: sweeps after it", Range::between(0, 100),
              [](auto& o) -> auto& { return o.mesh.multigrid.smoothing_after; }),
          integer_option<SolverOptions>(
              "levels", "multigrid: grids; 0: as many as the cells allow", Range::between(0, 32),
              [](auto& o) -> auto& { return o.mesh.multigrid.levels; })};
}

std::vector<MeshKey> mesh_keys() {
  std::vector<MeshKey> keys = field_keys();
  const auto more = multigrid_keys();
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

/// A mesh with at most `cells` per side in the box of a trial, and by how much it is smaller.
SolverOptions smaller_mesh(SolverOptions options, int cells, double& fewer) {
  fewer = 1;
  for (int& n : options.mesh.cells) {
    const int trial = std::min(n, cells);
    fewer *= static_cast<double>(n) / trial;
    n = trial;
  }
  return options;
}

}  // namespace

// Not set, or "auto": then the solver decides with the box.
bool boundary_is_open(const SolverOptions& options) {
  const auto given = options.own.find(boundary_word);
  return given == options.own.end() ? options.mesh.box.periodic() : std::get<std::string>(given->second) == "auto";
}

const SolverInfo& mesh_info() {
  static const SolverInfo info{.name = "mesh", .periodic = true, .potential = true, .subset = true, .smooths = true};
  return info;
}

namespace {

std::optional<Conflict> check_mesh(const SolverOptions& options) {
  if (options.softening.changes())
    return Conflict{"gravity.softening_max_proper",
                    "a mesh has no softening but its cells; leave it out, or set gravity.solver = \"treepm\""};
  return mesh_conflict(options.mesh);
}

}  // namespace

SolverEntry mesh_entry() {
  return {.name = "mesh",
          .summary = "density and potential on a mesh, by FFT or multigrid",
          .can = mesh_info(),
          .default_precision = Precision::single,
          .keys = mesh_keys(),
          .energy = {.pairs_up_to = 0,
                     .acting_cells =
                         [](const SolverOptions& options) {
                           return Grid{3, options.mesh.cells, options.mesh.box};
                         }},
          .cost = StepCost::cells,
          .trial = smaller_mesh,
          .box = [](SolverOptions& options) -> Box& { return options.mesh.box; },
          .find_box = [](const SolverOptions& options, ParticleSource& particles,
                         double stated_side) { return find_mesh_box(options.mesh, particles, stated_side); },
          .check = check_mesh,
          .make_single = make_mesh_solver<float>,
          .make_double = make_mesh_solver<double>,
          .make_distributed_single = make_distributed_mesh<float>,
          .make_distributed_double = make_distributed_mesh<double>};
}

}  // namespace pergola
