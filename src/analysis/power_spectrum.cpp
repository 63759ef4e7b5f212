#include "analysis/power_spectrum.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "analysis/mode_powers.hpp"
#include "base/error.hpp"
#include "base/exact_sum.hpp"
#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "device/stage_clock.hpp"
#include "mesh/coupling/exchange.hpp"
#include "mesh/slab_planes.hpp"
#include "physics/cosmology.hpp"
#include "physics/green.hpp"
#include "physics/mesh_weights.hpp"
#include "physics/power_spectrum.hpp"

// Mass is assigned in fixed-point units: sums on the mesh are exact, in any order, on any number of ranks. If all
// masses are equal, a GPU can add them in 32 bits. Two meshes, shifted by half a cell, cancel the first alias of each
// mode.
namespace pergola {

namespace {

constexpr int assignment_order = 3;
constexpr std::int64_t power_chunk = 65536;

/// Sums over all ranks, without rounding: same bits for any number of threads and ranks.
MassSums mass_sums(const Device& device, std::int64_t count, const double* mass, Communicator& ranks) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return mass_sums_cuda(device, count, mass);
  }
  struct Part {
    ExactSum sum, sum2;
    double largest = 0;
    void add(const Part& other) {
      sum.add(other.sum), sum2.add(other.sum2), largest = std::max(largest, other.largest);
    }
  };
  std::vector<Part> parts(static_cast<std::size_t>((count + power_chunk - 1) / power_chunk));
  parallel_chunks(device.threads(), count, power_chunk, [&](std::int64_t begin, std::int64_t end) {
    Part& part = parts[static_cast<std::size_t>(begin / power_chunk)];
    for (std::int64_t i = begin; i < end; ++i)
      part.sum.add(mass[i]), part.sum2.add(mass[i] * mass[i]), part.largest = std::max(part.largest, mass[i]);
  });
  std::vector<Part> of_ranks(static_cast<std::size_t>(ranks.size()));
  for (const Part& part : parts) of_ranks[static_cast<std::size_t>(ranks.rank())].add(part);
  ranks.all_gather_in_place(of_ranks.data(), std::vector<std::size_t>(of_ranks.size(), sizeof(Part)));
  Part all;
  for (const Part& part : of_ranks) all.add(part);
  return {all.sum.value(), all.sum2.value(), all.largest};
}

using Ranks = std::shared_ptr<Communicator>;

/// The particles of this rank, ready to be assigned to meshes.
class PlacedMasses {
 public:
  PlacedMasses(const Particles& particles, const Device& device, Ranks ranks)
      : device_(device), ranks_(std::move(ranks)), count_(particles.size()) {
    const std::array<const std::vector<double>*, 4> host{&particles.x, &particles.y, &particles.z, &particles.mass};
    for (std::size_t k = 0; k < host.size(); ++k) {
      if (device.is_cuda()) values_[k] = Buffer<double>(device, *host[k]);
      given_[k] = device.is_cuda() ? values_[k].data() : host[k]->data();  // on a CPU no copy
    }
    begin();
  }
  PlacedMasses(const ShownParticles& shown, Ranks ranks)
      : device_(shown.device()), ranks_(std::move(ranks)), count_(shown.count()) {
    for (std::size_t k = 0; k < values_.size(); ++k) {
      values_[k] = Buffer<double>(device_, count_);
      given_[k] = values_[k].data();
    }
    const MassArrays all = arrays();
    ShownArrays<double> to;
    to.x = all.x, to.y = all.y, to.z = all.z, to.mass = all.mass;
    shown.show(0, count_, to);
    begin();
  }

  const Device& device() const { return device_; }
  const Ranks& ranks() const { return ranks_; }
  const MassSums& masses() const { return masses_; }
  /// The unit of fixed-point masses on a mesh. Equal masses have units that a GPU adds in 32 bits.
  double quantum() const {
    const double least = physics::mass_quantum(masses_.sum, masses_.largest);
    return are_equal() ? std::max(least, physics::equal_mass_quantum(masses_.largest)) : least;
  }
  /// The particles in a box that is folded onto `side`, for meshes with `cells` per side; valid until the next call. On
  /// a GPU neighbours follow each other; sums on the mesh do not depend on the order.
  MeshParticles<double> folded(double side, int cells) {
    if (packed_) {
      MassArrays to = arrays();
      if (are_equal()) to.mass = nullptr;
      packed_->fold(side, cells, to);
      return {count_, to.x, to.y, to.z, values_[3].data()};
    }
    for (std::size_t axis = 0; axis < moved_.size(); ++axis) {
      if (moved_[axis].size() == 0) moved_[axis] = Buffer<double>(device_, count_);
      const FoldPlace body{given_[axis], moved_[axis].data(), side};
      parallel_chunks(device_.threads(), count_, power_chunk, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) body(i);
      });
    }
    return {count_, moved_[0].data(), moved_[1].data(), moved_[2].data(), given_[3]};
  }

 private:
  MassArrays arrays() { return {values_[0].data(), values_[1].data(), values_[2].data(), values_[3].data()}; }
  /// Collective: sums of masses, and on a GPU the packed copy that folds start from.
  void begin() {
    masses_ = mass_sums(device_, count_, given_[3], *ranks_);
    ranks_->all_reduce(&total_, 1, Reduction::sum);
    if constexpr (cuda_built) {
      if (device_.is_cuda()) packed_ = make_folded_masses_cuda(device_, count_, arrays());
    }
  }
  /// Up to rounding: the sum is as large as if all had the largest mass.
  bool are_equal() const {
    const double all = static_cast<double>(total_) * masses_.largest;
    return std::abs(masses_.sum - all) <= 1e-9 * all;
  }

  Device device_;
  Ranks ranks_;
  std::int64_t count_, total_ = count_;  // of this rank, of all
  MassSums masses_;
  std::array<Buffer<double>, 4> values_;  // places and masses; on a GPU as they are given, then folded
  std::array<const double*, 4> given_{};
  std::unique_ptr<FoldedMasses> packed_;  // on a GPU
  std::array<Buffer<double>, 3> moved_;   // on the CPU
};

/// Two meshes with `cells` per side. The second is shifted by half a cell along every axis.
class InterlacedMeshes {
 public:
  InterlacedMeshes(const Device& device, int cells, const Ranks& ranks)
      : device_(device),
        ranks_(ranks),
        cells_(cells),
        planes_(SlabPlanes(*ranks, cells).count()),
        meter_(make_shell_meter(device, cells, ranks)) {
    for (auto& density : density_) density = Buffer<double>(device, std::int64_t{cells} * cells * planes_);
  }

  /// The shells below half the Nyquist wave number of a box that is folded onto `side`.
  std::vector<Shell> measure(PlacedMasses& particles, double side) {
    const MeshParticles<double> folded = particles.folded(side, cells_);
    for (std::size_t mesh = 0; mesh < density_.size(); ++mesh)
      deposit(folded, particles.quantum(), side, -0.5 * static_cast<double>(mesh) * side / cells_, density_[mesh]);
    if (ranks_->size() > 1) scratch_ = Buffer<std::byte>();  // the transform of slabs has messages in its place
    // |δ|² contains the square of the product of three scales.
    const double cell = side / cells_, scale = std::cbrt(cell * cell * cell / particles.masses().sum);
    std::vector<double> unwindow(static_cast<std::size_t>(meter_->reach()) + 1);
    for (std::size_t m = 0; m < unwindow.size(); ++m)
      unwindow[m] = scale / physics::assignment_window(physics::wave_number(static_cast<double>(m), side), cell,
                                                       assignment_order);
    return meter_->measure(density_[0].data(), density_[1].data(), unwindow, side);
  }

 private:
  /// The mesh begins at `corner` along each axis: 0, or half a cell below for the second mesh.
  void deposit(const MeshParticles<double>& particles, double quantum, double side, double corner,
               Buffer<double>& density) {
    Grid grid;
    grid.cells = {cells_, cells_, cells_};
    grid.box = {{corner, corner, corner}, {side, side, side}, Boundary::periodic};
    const bool slabs = ranks_->size() > 1;
    const auto exchange = make_mesh_exchange<double>(
        device_, grid,
        {Assignment::tsc, Gradient::two_point, DensityRoute::automatic, slabs ? ranks_ : nullptr, slabs});
    if (scratch_.size() == 0) scratch_ = Buffer<std::byte>(device_, exchange->sum_bytes());
    density.zero();
    StageClock clock;
    exchange->deposit(particles, quantum, {density.data(), cells_, cells_, planes_, cells_, true}, scratch_.data(),
                      clock);
  }

  Device device_;
  Ranks ranks_;
  int cells_, planes_;  // planes of this rank
  std::unique_ptr<ShellMeter> meter_;
  std::array<Buffer<double>, 2> density_;
  Buffer<std::byte> scratch_;
};

/// The spectrum of the box and of each fold. A fold starts where the one before ends, at half its shells.
PowerSpectrum spectrum_of(PlacedMasses particles, const Box& box, int cells, int folds) {
  const MassSums& masses = particles.masses();
  const double volume = box.volume();
  InterlacedMeshes meshes(particles.device(), cells, particles.ranks());
  PowerSpectrum spectrum;
  spectrum.shot_noise = physics::shot_noise(volume, masses.sum, masses.sum2);
  for (int fold = 0; fold <= folds; ++fold) {
    const auto shells = meshes.measure(particles, std::ldexp(box.side.x, -fold));
    for (std::size_t s = fold == 0 ? 1 : static_cast<std::size_t>(cells) / 8 + 1; s < shells.size(); ++s) {
      const auto modes = static_cast<double>(shells[s].modes);
      PowerBin bin;
      bin.k = shells[s].k / modes;
      bin.modes = shells[s].modes;
      bin.power = volume * shells[s].power / modes;
      bin.error = physics::power_error(bin.power, modes);
      bin.fold = fold;
      spectrum.bins.push_back(bin);
    }
  }
  return spectrum;
}

}  // namespace

// Two cells per particle and axis, as a power of two from 32 to 256.
int usual_power_cells(std::int64_t particles) {
  const double wanted = 2 * std::cbrt(static_cast<double>(particles));
  int cells = 32;
  while (cells < 256 && cells < wanted) cells *= 2;
  return cells;
}

// Ranks with GPUs measure on their CPUs, as the transform over ranks is there.
PowerSpectrum power_spectrum(const Particles& particles, const Box& box, int cells, int folds, const Device& device,
                             const std::shared_ptr<Communicator>& ranks) {
  const bool by_cpus = device.is_cuda() && ranks->size() > 1;
  const Device used = by_cpus ? Device::open("cpu", device.threads()) : device;
  return spectrum_of(PlacedMasses(particles, used, ranks), box, cells, folds);
}

PowerSpectrum power_spectrum(const ShownParticles& particles, const Box& box, int cells, int folds,
                             const std::shared_ptr<Communicator>& ranks) {
  if (particles.device().is_cuda() && ranks->size() > 1)
    return power_spectrum(fetch(particles), box, cells, folds, particles.device(), ranks);
  return spectrum_of(PlacedMasses(particles, ranks), box, cells, folds);
}

namespace {

int cells_for(const AnalysisOptions& options, std::int64_t particles) {
  return options.cells > 0 ? static_cast<int>(options.cells) : usual_power_cells(particles);
}

/// The key `cells`, which must be a multiple of 8.
Key<AnalysisOptions> cells_key() {
  constexpr int most = 2048;
  Key<AnalysisOptions> key = integer_option<AnalysisOptions>(
      "cells", "cells of the mesh per side, a multiple of 8; 0: two per particle and axis, 32 to 256",
      Range::between(0, most), [](auto& options) -> auto& { return options.cells; });
  const std::string expected = fmt::format("a multiple of 8 from 0 to {}", most);
  key.take = [expected, take = key.take](AnalysisOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
    if (take(options, value) || options.cells % 8 != 0) return KeyProblem{expected, {}};
    return std::nullopt;
  };
  return key;
}

/// Linear theory for a box whose waves are known from its run, at its time and in its lengths; nan beyond its table.
std::optional<std::function<double(double)>> linear_power_of(const AnalysisSnapshot& snapshot) {
  const auto& universe = snapshot.universe;
  if (!universe || !universe->waves) return std::nullopt;
  const double unit = universe->length_mpc_h;
  const double growth = physics::growth_at(universe->cosmology.background(1), universe->scale_factor).d1;
  return [=, power = *universe->waves](double k) {
    return power.knows(k / unit) ? growth * growth * power(k / unit) / (unit * unit * unit) : not_known;
  };
}

/// Where linear theory comes from.
std::string linear_theory_text(const AnalysisSnapshot& snapshot) {
  if (snapshot.universe && !snapshot.universe->waves_from.empty()) return snapshot.universe->waves_from;
  return "not known: no run beside the file says which waves it began with";
}

/// `taken_off` is subtracted from every power; `linear` are those of theory.
void add_power_bins(const AnalysisSnapshot& snapshot, const PowerSpectrum& spectrum, double taken_off,
                    const std::vector<double>& linear, Table& table) {
  const AnalysisUnits& units = snapshot.units;
  const std::string k_unit = units.length.empty() ? "" : fmt::format("1/({})", units.length);
  const std::string p_unit = units.length.empty() ? "" : fmt::format("({})^3", units.length);
  for (std::size_t b = 0; b < spectrum.bins.size(); ++b) {
    const PowerBin& bin = spectrum.bins[b];
    table.add("time", units.time, snapshot.time);
    table.add("k", k_unit, bin.k);
    table.add("modes", "", static_cast<double>(bin.modes));
    table.add("power", p_unit, bin.power - taken_off);
    table.add("error", p_unit, bin.error);
    table.add("shot_noise", p_unit, spectrum.shot_noise);
    table.add("taken_off", p_unit, taken_off);
    table.add("power_per_log", "", physics::power_per_log(bin.k, bin.power - taken_off));
    table.add("fold", "", bin.fold);
    table.add("linear", p_unit, linear[b]);
  }
}

/// A measured snapshot. It has no particles if they stayed on their device.
struct MeasuredBox {
  AnalysisSnapshot snapshot;
  PowerSpectrum spectrum;
  int cells = 0;
};

/// Waves need a period.
void require_periodic(const AnalysisSnapshot& snapshot) {
  if (!snapshot.box.periodic())
    throw Error(ErrorKind::input,
                fmt::format("{}: expected a periodic box (BoxSize above 0), found an isolated system", snapshot.name));
}

/// On the device of a running simulation if all species are wanted, else from the particles of the file.
MeasuredBox measure_power(const AnalysisFiles& files, std::size_t number, const AnalysisOptions& options,
                          const Device& device) {
  const int folds = static_cast<int>(options.folds);
  const auto cells_of = [&](std::int64_t own) {
    files.ranks->all_reduce(&own, 1, Reduction::sum);
    return cells_for(options, own);
  };
  MeasuredBox found;
  if (files.shown && options.species == "all") {
    found.snapshot = files.frame(number);
    require_periodic(found.snapshot);
    const auto shown = files.shown(number);
    found.cells = cells_of(shown->count());
    found.spectrum = power_spectrum(*shown, found.snapshot.box, found.cells, folds, files.ranks);
  } else {
    found.snapshot = chosen_species(files.snapshot(number), options, files.ranks);
    require_periodic(found.snapshot);
    const Particles& particles = found.snapshot.particles;
    found.cells = cells_of(particles.size());
    found.spectrum = power_spectrum(particles, found.snapshot.box, found.cells, folds, device, files.ranks);
  }
  if (!std::isfinite(found.spectrum.shot_noise))
    throw Error(ErrorKind::input, fmt::format("{}: expected particles with mass, found none", found.snapshot.name));
  return found;
}

/// Each file: bins, its spectrum as a line, and linear theory beside it if the waves of its run are known.
AnalysisResult analyze_power(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  Figure figure{"Power spectrum", "k", "", "P(k)", "", true, true, {}};
  for (std::size_t f = 0; f < files.names.size(); ++f) {
    const auto [snapshot, spectrum, cells] = measure_power(files, f, options, device);
    const double taken_off = options.shot_noise == "subtract" ? spectrum.shot_noise : 0;
    const auto linear = linear_power_of(snapshot);
    FigureLine line{files.names.size() > 1 ? snapshot.moment : "P(k)", {}, {}};
    FigureLine theory{files.names.size() > 1 ? "" : "linear theory", {}, {}, false, true};
    for (const PowerBin& bin : spectrum.bins) {
      line.x.push_back(bin.k), line.y.push_back(bin.power - taken_off);
      theory.x.push_back(bin.k), theory.y.push_back(linear ? (*linear)(bin.k) : not_known);
    }
    add_power_bins(snapshot, spectrum, taken_off, theory.y, result.table);
    figure.lines.push_back(line);
    if (linear) figure.lines.push_back(theory);
    if (f + 1 == files.names.size())
      figure.lines.push_back(
          {"shot noise", {line.x.front(), line.x.back()}, {spectrum.shot_noise, spectrum.shot_noise}, false, true});
    const std::string& length = snapshot.units.length;
    figure.x_unit = length.empty() ? "" : fmt::format("1/({})", length);
    figure.y_unit = length.empty() ? "" : fmt::format("({})^3", length);
    result.findings.push_back({"cells per side", "", static_cast<double>(cells)});
    result.findings.push_back({"shot noise", "", std::string(taken_off > 0 ? "taken off" : "not taken off")});
    result.findings.push_back({"linear theory", "", linear_theory_text(snapshot)});
  }
  result.figures.push_back(figure);
  return result;
}

}  // namespace

AnalysisEntry power_entry() {
  return {
      .name = "power",
      .help = "Power spectrum of a periodic box",
      .details =
          "Mass is put on two interlaced meshes by triangular clouds, and the clouds' window is divided out. A "
          "mesh is used up to half its Nyquist wave number; beyond, the box is folded onto half its side "
          "(--folds times). Columns: time, k, modes (k and -k are two), power, error (of a Gaussian field, from "
          "the modes), shot_noise (that of points at random, V sum m^2 / (sum m)^2), taken_off (what power lacks "
          "of it: 0, or with --shot-noise subtract all), power_per_log (k^3 P / 2 pi^2), fold, linear (what linear "
          "theory makes of the waves that the run beside the file began with, its table of CAMB or CLASS or the fit "
          "of Eisenstein & Hu 1998, as is said; else nan). Particles that began on a lattice or a glass have no such "
          "noise until they have moved a few spacings: taken off before, it leaves less than nothing.",
      .example = "box.hdf5 --cells 256 -o power.csv --plot power.png",
      .needs = AnalysisNeeds::particles,
      .span = AnalysisSpan::last_moment,
      .periodic_only = true,
      .by_ranks = true,
      .keys = {cells_key(),
               integer_option<AnalysisOptions>(
                   "folds", "how often the box is folded for higher wave numbers", Range::between(0, 16),
                   [](auto& options) -> auto& { return options.folds; }),
               word_option<AnalysisOptions>(
                   "shot-noise", "keep | subtract: what is done with that of points at random", {"keep", "subtract"},
                   [](auto& options) -> auto& { return options.shot_noise; }),
               species_key()},
      .analyze = analyze_power};
}

}  // namespace pergola
