// The exchange of particles with a mesh in slabs, on the CPU. This file moves particles to the rank that works on their
// cells and answers back; the exchange within a rank's planes is MeshExchangeCpu.
// Particles are dealt with in groups of neighbours: in cell order nearly all groups go to one rank as a whole.
// If one rank has many more particles than others, planes are divided anew by counted work (RowDivision).
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "device/arena.hpp"
#include "device/parallel.hpp"
#include "domain/routing.hpp"
#include "mesh/coupling/exchange.hpp"
#include "mesh/coupling/exchange_loops.hpp"
#include "mesh/coupling/row_domains.hpp"
#include "mesh/coupling/slab_exchange.hpp"
#include "mesh/coupling/slab_lists.hpp"
#include "mesh/slab_planes.hpp"

namespace pergola {

namespace {

using exchange::group_size;

/// Particles distributed over ranks in any way, and a mesh in slabs. Steps of a deposit: (1) find for groups of
/// particles the rank that has the plane in which their cloud begins, or the row (row_domains.hpp); (2) send positions
/// and masses there; (3) that rank's own exchange (exchange_cpu.cpp) does the rest. Forces travel back the same way.
/// Particles off an isolated mesh stay. The bits are those of one rank.
template <class Real>
class MeshExchangeSlabs final : public SlabExchange<Real> {
  using SlabExchange<Real>::own_;

 public:
  MeshExchangeSlabs(const Device& device, const Grid& grid, const ExchangeOptions& options)
      : SlabExchange<Real>(make_mesh_exchange_cpu<Real>(device, grid, options)),
        device_(device),
        grid_(grid),
        options_(options),
        ranks_(options.ranks),
        slab_(*options.ranks, grid.cells[2], options.slab_unit),
        division_(options.ranks, grid, RowCosts::of(device.is_cuda())),
        whole_(grid, options.assignment),
        loops_(exchange::choose_loops<Real>(grid.dimensions, options.assignment)) {
    if (grid.dimensions != 3) throw Error(ErrorKind::input, "mesh: expected a box in three dimensions for slabs");
  }

  std::int64_t own_bytes(std::int64_t particles) const override {
    Arena count;
    room_for_arriving(*this, count, particles);
    count.room(mass_, particles);  // where they differ
    return count.bytes() + Routing::bytes<Real>(particles / few, 3) + own_->own_bytes(particles);
  }

  /// Finds the routes, counts rows and divides them anew if that is worth it, then sends places and masses.
  void deposit(const MeshParticles<Real>& particles, double quantum, const Field<Real>& density, void* scratch,
               StageClock& clock) override {
    clock.begin("to slabs");
    kept_ = particles.count;
    route(particles);
    if (options_.by_rows && division_.should_count(kept_, routing_.arriving(), uncovered_)) {
      std::vector<std::int64_t> counts = count_by_row(particles);
      if (division_.divide(counts)) {
        options_.domains = division_.domains();
        own_.reset();
        own_ = make_mesh_exchange_cpu<Real>(device_, grid_, options_);
        route(particles);
      }
    }
    arrived_.count = routing_.arriving();
    Arena arena(device_);
    room_for_arriving(*this, arena, arrived_.count);
    send_places(particles);
    send_masses(particles);
    own_->deposit(arrived_, quantum, density, scratch, clock);
  }

  /// Answers travel back by the routes of the last deposit. Accelerations take the memory of the places, so that places
  /// are sent again if a second gather needs them.
  void gather(const MeshParticles<Real>& particles, const std::int64_t* index, std::int64_t count,
              const Field<const Real>& potential, double gravitational_constant, const MeshForces<Real>& forces,
              const void* scratch) override {
    const bool all = !index && count == kept_;
    if (particles.count != kept_ || (!all && !index && count > 0))
      throw Error(ErrorKind::input, "mesh: expected particles of a rank that ask by their places, found a range");
    if (!places_are_here_) send_places(particles);
    MeshForces<Real> here;
    if (forces.ax) here.ax = places_[0].data(), here.ay = places_[1].data(), here.az = places_[2].data();
    if (forces.potential) {
      Arena arena(device_);
      arena.room(potential_, arrived_.count, spare(arrived_.count));
      here.potential = potential_.data();
    }
    own_->gather(arrived_, nullptr, arrived_.count, potential, gravitational_constant, here, scratch);
    places_are_here_ = !forces.ax;
    if (!all) return answer_some(here, index, count, forces);
    if (forces.ax) routing_.template back<Real, 3>({here.ax, here.ay, here.az}, {forces.ax, forces.ay, forces.az});
    if (forces.potential) routing_.back(here.potential, forces.potential);
  }

 private:
  static constexpr std::int64_t groups_in_chunk = 128, chunk = 8192;
  static constexpr int few = 8;     // in cell order at most one particle in `few` is listed
  static constexpr int mixed = -1;  // instead of the rank of a group: its particles go to several

  /// Numbers change a little from step to step.
  static std::int64_t spare(std::int64_t count) { return count / 16; }
  template <class Self>
  static void room_for_arriving(Self& self, Arena& arena, std::int64_t count) {
    for (auto& axis : self.places_) arena.room(axis, count, spare(count));
  }
  /// Three coordinates in one exchange.
  void send_places(const MeshParticles<Real>& particles) {
    routing_.template there<Real, 3>({particles.x, particles.y, particles.z},
                                     {places_[0].data(), places_[1].data(), places_[2].data()});
    arrived_.x = places_[0].data(), arrived_.y = places_[1].data(), arrived_.z = places_[2].data();
    places_are_here_ = true;
  }

  /// Answers come back for all particles of this rank, one field at a time; the active ones take theirs.
  void answer_some(const MeshForces<Real>& here, const std::int64_t* index, std::int64_t count,
                   const MeshForces<Real>& forces) {
    Arena arena(device_);
    arena.room(answer_, kept_);
    const Real* const from[4] = {here.ax, here.ay, here.az, here.potential};
    Real* const into[4] = {forces.ax, forces.ay, forces.az, forces.potential};
    for (int k = 0; k < 4; ++k) {
      if (!into[k]) continue;
      routing_.back(from[k], answer_.data());
      parallel_chunks(device_.threads(), count, chunk, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) into[k][t] = answer_.data()[index[t]];
      });
    }
  }

  /// By the layer that clouds begin in, or by the row.
  exchange::LayerRange find_starts(const MeshParticles<Real>& particles, std::int64_t begin, std::int64_t end,
                                   int* starts) const {
    return options_.domains ? loops_.find_rows(whole_, particles, begin, end, starts)
                            : loops_.find_layers(whole_, particles, begin, end, starts);
  }
  /// Sets `nobody` for a row without a rank: its particle stays here for now.
  int rank_of(int start, bool& nobody) const {
    if (start == exchange::off_mesh) return ranks_->rank();
    if (!options_.domains) return slab_.owner(start);
    const std::uint32_t owner = options_.domains->owners()[static_cast<std::size_t>(start)];
    nobody = nobody || owner == RowDomains::nobody;
    return owner == RowDomains::nobody ? ranks_->rank() : static_cast<int>(owner);
  }

  /// How many clouds begin in each row of the whole mesh, of this rank's particles.
  std::vector<std::int64_t> count_by_row(const MeshParticles<Real>& particles) const {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(division_.rows()));
    parallel_chunks(device_.threads(), particles.count, chunk, [&](std::int64_t begin, std::int64_t end) {
      int rows[group_size];
      for (std::int64_t i = begin; i < end; i += group_size) {
        const std::int64_t until = std::min(i + group_size, end);
        loops_.find_rows(whole_, particles, i, until, rows);
        for (std::int64_t k = 0; k < until - i; ++k)
          if (rows[k] != exchange::off_mesh)
            std::atomic_ref(counts[static_cast<std::size_t>(rows[k])]).fetch_add(1, std::memory_order_relaxed);
      }
    });
    return counts;
  }

  /// Finds which particles go where: the longest run of groups that belong to a rank as a whole goes straight, which in
  /// cell order are nearly all, the others are listed.
  void route(const MeshParticles<Real>& particles) {
    const int ranks = ranks_->size(), threads = device_.threads();
    const std::int64_t groups = (particles.count + group_size - 1) / group_size;
    const auto end_of = [&](std::int64_t group) { return std::min((group + 1) * group_size, particles.count); };
    group_rank_.resize(static_cast<std::size_t>(groups));
    std::atomic<bool> uncovered = false;
    parallel_chunks(threads, groups, groups_in_chunk, [&](std::int64_t begin, std::int64_t end) {
      int starts[group_size];
      bool nobody = false;
      for (std::int64_t group = begin; group < end; ++group) {
        const auto range = find_starts(particles, group * group_size, end_of(group), starts);
        const int first = rank_of(range.least, nobody), last = rank_of(range.most, nobody);
        const bool all_or_none_off = range.least != exchange::off_mesh || range.most == exchange::off_mesh;
        group_rank_[static_cast<std::size_t>(group)] = first == last && all_or_none_off ? first : mixed;
        if (options_.domains)  // rows without a rank may lie between those of one
          for (std::int64_t k = 0; k < end_of(group) - group * group_size; ++k) rank_of(starts[k], nobody);
      }
      if (nobody) uncovered = true;
    });
    uncovered_ = uncovered;
    const std::vector<PlaceRun> runs = longest_runs();
    list_.start(ranks, (groups + groups_in_chunk - 1) / groups_in_chunk);
    const auto listed = [&](std::int64_t begin, std::int64_t end, const auto& take) {
      int starts[group_size];
      bool nobody = false;
      for (std::int64_t group = begin; group < end; ++group) {
        const int rank = group_rank_[static_cast<std::size_t>(group)];
        if (rank != mixed) {
          const PlaceRun& run = runs[static_cast<std::size_t>(rank)];
          if (group >= run.first && group < run.first + run.count) continue;
        }
        const std::int64_t i = group * group_size, size = end_of(group) - i;
        if (rank == mixed) find_starts(particles, i, i + size, starts);
        for (std::int64_t k = 0; k < size; ++k) take(i + k, rank == mixed ? rank_of(starts[k], nobody) : rank);
      }
    };
    parallel_chunks(threads, groups, groups_in_chunk, [&](std::int64_t begin, std::int64_t end) {
      std::uint32_t* const count = list_.of_chunk(begin / groups_in_chunk);
      listed(begin, end, [&](std::int64_t, int rank) { ++count[rank]; });
    });
    list_.counts_to_places();
    parallel_chunks(threads, groups, groups_in_chunk, [&](std::int64_t begin, std::int64_t end) {
      std::uint32_t* const place = list_.of_chunk(begin / groups_in_chunk);
      listed(begin, end,
             [&](std::int64_t i, int rank) { list_.numbers[place[rank]++] = static_cast<std::uint32_t>(i); });
    });
    std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks));
    std::vector<PlaceRun> straight(static_cast<std::size_t>(ranks));
    for (std::size_t rank = 0; rank < sent.size(); ++rank) {
      sent[rank] = list_.size(static_cast<int>(rank));
      if (runs[rank].count == 0) continue;
      straight[rank].first = runs[rank].first * group_size;
      straight[rank].count = end_of(runs[rank].first + runs[rank].count - 1) - straight[rank].first;
    }
    routing_.plan(*ranks_, threads, list_.numbers, std::move(sent), std::move(straight));
  }

  /// Of groups, by rank.
  std::vector<PlaceRun> longest_runs() const {
    std::vector<PlaceRun> runs(static_cast<std::size_t>(ranks_->size()));
    const std::int64_t groups = std::ssize(group_rank_);
    for (std::int64_t begin = 0, end = 0; begin < groups; begin = end) {
      const int rank = group_rank_[static_cast<std::size_t>(begin)];
      for (end = begin + 1; end < groups && group_rank_[static_cast<std::size_t>(end)] == rank;) ++end;
      if (rank != mixed && end - begin > runs[static_cast<std::size_t>(rank)].count)
        runs[static_cast<std::size_t>(rank)] = {begin, end - begin};
    }
    return runs;
  }

  /// Masses that are all the same are not sent.
  void send_masses(const MeshParticles<Real>& particles) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double least[2] = {infinity, infinity};  // of the mass and of what it is below 0
    if (particles.count > 0) {
      const Real* const mass = particles.mass;
      const bool equal = std::memcmp(mass, mass + 1, static_cast<std::size_t>(particles.count - 1) * sizeof(Real)) == 0;
      least[0] = equal ? static_cast<double>(mass[0]) : -infinity;
      least[1] = equal ? -static_cast<double>(mass[0]) : -infinity;
    }
    ranks_->all_reduce(least, 2, Reduction::minimum);
    arrived_.same_mass = least[0] == -least[1];
    Arena arena(device_);
    arena.room(mass_, arrived_.same_mass ? group_size : arrived_.count, arrived_.same_mass ? 0 : spare(arrived_.count));
    arrived_.mass = mass_.data();
    if (arrived_.same_mass)
      std::fill_n(mass_.data(), group_size, static_cast<Real>(least[0]));
    else
      routing_.template there<Real, 1>({particles.mass}, {mass_.data()});
  }

  Device device_;
  Grid grid_;
  ExchangeOptions options_;
  std::shared_ptr<Communicator> ranks_;
  SlabPlanes slab_;
  RowDivision division_;
  bool uncovered_ = false;  // particles of the last routing were in rows without a rank
  exchange::Walk<Real> whole_;
  exchange::Loops<Real> loops_;
  exchange::SlabList list_;      // particles by the rank that they go to
  std::vector<int> group_rank_;  // where its particles go, or mixed
  Routing routing_;
  std::int64_t kept_ = 0;
  MeshParticles<Real> arrived_;
  Buffer<Real> places_[3], mass_, potential_;
  Buffer<Real> answer_;           // if not all particles are active
  bool places_are_here_ = false;  // else the memory holds accelerations
};

}  // namespace

template <class Real>
std::unique_ptr<MeshExchange<Real>> make_mesh_exchange_slabs(const Device& device, const Grid& grid,
                                                             const ExchangeOptions& options) {
  return std::make_unique<MeshExchangeSlabs<Real>>(device, grid, options);
}
template std::unique_ptr<MeshExchange<float>> make_mesh_exchange_slabs(const Device&, const Grid&,
                                                                       const ExchangeOptions&);
template std::unique_ptr<MeshExchange<double>> make_mesh_exchange_slabs(const Device&, const Grid&,
                                                                        const ExchangeOptions&);

}  // namespace pergola
