#include "gravity/direct_spread.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "domain/chunk_shares.hpp"
#include "gravity/direct.hpp"
#include "gravity/direct_tiles.hpp"
#include "gravity/pair_laws.hpp"
#include "gravity/solver.hpp"

namespace pergola {

namespace {

using direct::block_size, direct::blocks_per_span, direct::Kind, direct::Numbers, direct::span_size;

/// Those who ask at once where their sums travel, of all ranks, and spans of sources that travel at once: what a rank
/// keeps of either is then not more than a few of its own particles take.
constexpr std::int64_t asking_at_once = 256, spans_at_once = 8;

constexpr auto nobody = std::numeric_limits<std::int64_t>::max();

/// A wanted sum: its row of TileSums, and where the answers go.
template <class State>
struct Wanted {
  std::size_t row;
  State* to;
};
template <class State>
std::vector<Wanted<State>> wanted_sums(unsigned want, const Forces<State>& forces) {
  std::vector<Wanted<State>> sums;
  if (want & want_acceleration) sums = {{0, forces.ax}, {1, forces.ay}, {2, forces.az}};
  if (want & want_jerk) sums.insert(sums.end(), {{3, forces.jx}, {4, forces.jy}, {5, forces.jz}});
  if (want & want_potential) sums.push_back({6, forces.potential});
  return sums;
}
constexpr std::int64_t most_sums = 7;

/// The same sources from one on.
template <class Real>
Sources<Real> from(const Sources<Real>& sources, std::int64_t first) {
  Sources<Real> moved = sources;
  const auto move = [first](auto&... values) { ((values = values ? values + first : nullptr), ...); };
  move(moved.x, moved.y, moved.z, moved.vx, moved.vy, moved.vz, moved.mass, moved.species);
  move(moved.ax, moved.ay, moved.az, moved.jx, moved.jy, moved.jz, moved.tick);
  return moved;
}

/// All pairs of particles distributed over ranks. The spans of sources, whose sums one rank adds in their order,
/// are counted over all particles; each belongs to the rank that keeps its first one, which fetches what it lacks of
/// its last one. Either sums travel: a rank gets all who ask, sums its spans for them, and gives the keeper of each the
/// sum of every span, to be added in order. Or sources do: span after span goes to all ranks, which sum for their own.
/// No bit depends on which it is.
template <Precision precision>
class DistributedDirectSum final : public Solver<typename Numbers<precision>::State> {
 public:
  using State = typename Numbers<precision>::State;
  using Pair = typename Numbers<precision>::Pair;

  DistributedDirectSum(const SolverOptions& options, const Device& device, std::shared_ptr<Communicator> ranks)
      : options_(options), law_(pair_law(options.softening.kernel)), device_(device), ranks_(std::move(ranks)) {
    head_.softening = blocks_.softening = softening_table(options.softening);
  }
  const SolverInfo& info() const override { return distributed_direct_info(); }
  void prepare(const Sources<State>& sources) override;
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  NeighbourLists neighbour_lists(const Targets&, double) override { throw no_nearest_of_distributed(); }
  std::int64_t device_bytes(std::int64_t n) const override {
    const std::int64_t spans = n / span_size + 1;
    const std::int64_t sums = (2 * asking_at_once * spans + (adds_in_place ? 0 : n)) * most_sums;
    return (spans + 1 + std::min(spans, spans_at_once)) * blocks_per_span * block_bytes +
           sums * static_cast<std::int64_t>(sizeof(double));
  }

 private:
  static constexpr int fields = Numbers<precision>::fields;
  static constexpr bool adds_in_place = std::is_same_v<State, double>;  // sums are doubles; else the answers are not
  static constexpr std::int64_t block_values = std::int64_t{fields} * block_size;
  static constexpr std::int64_t block_bytes = block_values * static_cast<std::int64_t>(sizeof(Pair));
  using Tile = direct::Tile<precision>;
  using Blocks = direct::Blocks<precision>;

  /// One that asks, as the others are exported of it.
  struct Asking {
    std::int64_t place = 0;  // among all particles
    Pair field[fields] = {};
  };
  /// What is asked of this rank, and of all.
  struct Question {
    Kind kind;
    std::vector<Wanted<State>> sums;
    const Targets& targets;
    std::vector<std::int64_t> asking;  // by rank

    std::int64_t count() const { return std::ssize(sums); }
    std::int64_t place(std::int64_t t) const { return targets.index ? targets.index[t] : targets.first + t; }
    std::int64_t all() const { return std::accumulate(asking.begin(), asking.end(), std::int64_t{0}); }
    std::int64_t most() const { return *std::max_element(asking.begin(), asking.end()); }
  };

  ChunkShares chunks() const { return {shares_, span_size}; }
  std::int64_t spans_of(int rank) const { return spans_[static_cast<std::size_t>(rank)]; }
  std::int64_t own_first() const { return shares_.first(ranks_->rank()); }
  /// Where the particle in a place of this rank's is packed.
  std::pair<const Blocks*, std::int64_t> packed(std::int64_t place) const {
    return place < head_.count ? std::pair{&head_, place} : std::pair{&blocks_, place - from_};
  }
  Pair value(std::int64_t place, int field) const {
    const auto [blocks, at] = packed(place);
    return blocks->field(at / block_size, field)[at % block_size];
  }
  int tile_size(Kind kind) const { return law_.direct.packs(kind) * direct::search_tile_size<precision>(); }
  int threads_for(std::int64_t work, std::int64_t worth = direct::pairs_worth_threads) const {
    return work < worth ? 1 : device_.threads();
  }
  /// Where a sum of all who ask here is added up.
  double* totals(const Question& question, std::size_t sum) {
    if constexpr (adds_in_place) return question.sums[sum].to;
    return totals_.data() + static_cast<std::int64_t>(sum) * question.targets.count;
  }
  /// Puts the sums of target t where its answers go. Returns whether they are finite.
  template <class Value>
  static bool put(const Question& question, std::int64_t t, const Value& value) {
    bool finite = true;
    for (std::size_t k = 0; k < question.sums.size(); ++k) {
      State& to = question.sums[k].to[t];
      to = static_cast<State>(value(k));
      finite = finite && std::isfinite(to);
    }
    return finite;
  }
  void room_for(Buffer<Pair>& memory, std::int64_t blocks) const {
    if (memory.size() < blocks * block_values) memory = Buffer<Pair>(device_, blocks * block_values);
  }

  void pack(const Sources<State>& sources, std::int64_t count, Blocks& to) const;
  void fetch_rest(std::int64_t kept);
  bool sums_travel(const Question& question) const;
  std::int64_t sum_by_parts(const Question& question);
  std::vector<Asking> gather_asking(const Question& question, std::int64_t begin,
                                    const std::vector<std::int64_t>& first) const;
  void sum_own_spans(const Question& question, const std::vector<Asking>& asking);
  std::int64_t sum_by_sources(const Question& question);
  void sum_travelling(const Question& question, const Blocks& sources, std::int64_t first);
  [[noreturn]] void fail(std::int64_t place) const;

  SolverOptions options_;
  PairLawEntry law_;
  Device device_;
  std::shared_ptr<Communicator> ranks_;
  Shares shares_;
  std::vector<std::int64_t> spans_;  // by rank
  std::int64_t from_ = 0;            // the first of this rank's particles that is in its spans
  Blocks blocks_, head_;             // the spans of this rank; its particles that are in spans of others
  Buffer<Pair> block_memory_, head_memory_, travelling_;
  std::vector<double> parts_, received_, totals_;
};

template <Precision precision>
void DistributedDirectSum<precision>::pack(const Sources<State>& sources, std::int64_t count, Blocks& to) const {
  to.count = count;
  parallel_for(threads_for(count, direct::sources_worth_threads), to.blocks(),
               [&](std::int64_t block) { direct::pack_block(sources, options_.gravitational_constant, block, to); });
}

template <Precision precision>
void DistributedDirectSum<precision>::prepare(const Sources<State>& sources) {
  std::int64_t total = sources.count;
  ranks_->all_reduce(&total, 1, Reduction::sum);
  shares_ = {total, ranks_->size()};
  const int rank = ranks_->rank();
  spans_.clear();
  for (int of = 0; of < shares_.ranks; ++of) spans_.push_back((chunks().count(of) + span_size - 1) / span_size);
  const std::int64_t kept = chunks().kept(rank);
  from_ = std::min(chunks().kept_from(rank), sources.count);
  room_for(block_memory_, spans_of(rank) * blocks_per_span);
  room_for(head_memory_, blocks_per_span);
  blocks_.data = block_memory_.data(), head_.data = head_memory_.data();
  pack(from(sources, from_), kept, blocks_);
  pack(sources, from_, head_);
  fetch_rest(kept);
}

/// What is missing of this rank's last span, packed by its keepers.
template <Precision precision>
void DistributedDirectSum<precision>::fetch_rest(std::int64_t kept) {
  constexpr auto row_bytes = static_cast<std::int64_t>(fields * sizeof(Pair));
  const auto each = [](const Blocks& of, std::int64_t first, std::int64_t count, const auto& use) {
    for (std::int64_t k = 0; k < count; ++k)
      for (int field = 0; field < fields; ++field)
        use(k * fields + field, of.field((first + k) / block_size, field)[(first + k) % block_size]);
  };
  const std::int64_t begun = blocks_.blocks();
  blocks_.count = chunks().count(ranks_->rank());
  // The places after the last source are infinitely far away, as in a block that is packed.
  for (std::int64_t block = begun; block < blocks_.blocks(); ++block) {
    std::fill_n(blocks_.field(block, 0), block_values, Pair(0));
    std::fill_n(blocks_.field(block, direct::x), 3 * block_size, std::numeric_limits<Pair>::infinity());
  }
  chunks().fetch_missing(
      *ranks_, row_bytes,
      [&](std::int64_t first, std::int64_t count, std::byte* to) {
        Pair* const rows = reinterpret_cast<Pair*>(to);
        each(head_, first, count, [rows](std::int64_t k, const Pair& value) { rows[k] = value; });
      },
      [&](std::int64_t at, std::int64_t count, const std::byte* got) {
        const Pair* const rows = reinterpret_cast<const Pair*>(got);
        each(blocks_, kept + at, count, [rows](std::int64_t k, Pair& value) { value = rows[k]; });
      });
}

template <Precision precision>
void DistributedDirectSum<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (want & want_nearest) throw no_nearest_of_distributed();
  const auto kind = direct::kind_of(want);
  if (!kind) return;
  const auto size = static_cast<std::size_t>(ranks_->size());
  Question question{*kind, wanted_sums(want, forces), targets, std::vector<std::int64_t>(size)};
  question.asking[static_cast<std::size_t>(ranks_->rank())] = targets.count;
  ranks_->all_gather_in_place(question.asking.data(), std::vector<std::size_t>(size, sizeof(std::int64_t)));
  if (question.all() == 0) return;
  std::int64_t failed = sums_travel(question) ? sum_by_parts(question) : sum_by_sources(question);
  failed = failed == nobody ? nobody : own_first() + question.place(failed);
  ranks_->all_reduce(&failed, 1, Reduction::minimum);
  if (failed != nobody) fail(failed);
}

/// By what the busiest rank does: where a byte takes as long as a pair.
template <Precision precision>
bool DistributedDirectSum<precision>::sums_travel(const Question& question) const {
  std::int64_t spans = 0, most_spans = 0;
  for (int rank = 0; rank < ranks_->size(); ++rank) {
    spans += spans_of(rank);
    most_spans = std::max(most_spans, spans_of(rank));
  }
  const auto asking = static_cast<double>(question.all()), sources = static_cast<double>(shares_.total);
  const double of_sums = static_cast<double>(spans * question.count()) * sizeof(double) / ranks_->size();
  const double by_parts = asking * (static_cast<double>(most_spans * span_size) + sizeof(Asking) + of_sums);
  const double by_sources = sources * (static_cast<double>(question.most()) + fields * sizeof(Pair));
  return by_parts < by_sources;
}

/// Returns the lowest number of a target of this rank whose answer is not finite, or `nobody`.
template <Precision precision>
std::int64_t DistributedDirectSum<precision>::sum_by_parts(const Question& question) {
  const int size = ranks_->size(), rank = ranks_->rank();
  const std::int64_t rows = question.count();
  const std::int64_t at_once = std::max<std::int64_t>(1, asking_at_once / size);
  std::int64_t failed = nobody;
  for (std::int64_t begin = 0; begin < question.most(); begin += at_once) {
    std::vector<std::int64_t> first{0};  // of each rank, among those who ask now
    for (const std::int64_t asking : question.asking)
      first.push_back(first.back() + std::clamp<std::int64_t>(asking - begin, 0, at_once));
    const auto count = [&](int of) {
      return first[static_cast<std::size_t>(of) + 1] - first[static_cast<std::size_t>(of)];
    };
    sum_own_spans(question, gather_asking(question, begin, first));

    std::vector<std::size_t> sent, got;
    const auto bytes = [rows](std::int64_t sums) { return static_cast<std::size_t>(sums * rows) * sizeof(double); };
    std::int64_t spans = 0;
    for (int other = 0; other < size; ++other) {
      sent.push_back(bytes(count(other) * spans_of(rank)));
      got.push_back(bytes(count(rank) * spans_of(other)));
      spans += spans_of(other);
    }
    received_.resize(static_cast<std::size_t>(count(rank) * spans * rows));
    ranks_->all_to_all(parts_.data(), sent, received_.data(), got);
    for (std::int64_t t = 0; t < count(rank); ++t) {
      double total[most_sums] = {};
      std::int64_t before = 0;  // spans of the ranks before
      for (int other = 0; other < size; before += spans_of(other++)) {
        const double* part = received_.data() + (count(rank) * before + t * spans_of(other)) * rows;
        for (std::int64_t span = 0; span < spans_of(other); ++span, part += rows)
          for (std::int64_t k = 0; k < rows; ++k) total[k] += part[k];
      }
      if (!put(question, begin + t, [&total](std::size_t k) { return total[k]; })) failed = std::min(failed, begin + t);
    }
  }
  return failed;
}

/// Those of all ranks that ask now: of this rank from number `begin` on.
template <Precision precision>
auto DistributedDirectSum<precision>::gather_asking(const Question& question, std::int64_t begin,
                                                    const std::vector<std::int64_t>& first) const
    -> std::vector<Asking> {
  std::vector<Asking> asking(static_cast<std::size_t>(first.back()));
  std::vector<std::size_t> bytes;
  for (std::size_t rank = 0; rank + 1 < first.size(); ++rank)
    bytes.push_back(static_cast<std::size_t>(first[rank + 1] - first[rank]) * sizeof(Asking));
  const auto own = static_cast<std::size_t>(ranks_->rank());
  for (std::int64_t k = first[own]; k < first[own + 1]; ++k) {
    const std::int64_t place = question.place(begin + k - first[own]);
    Asking& one = asking[static_cast<std::size_t>(k)];
    one.place = own_first() + place;
    direct::each_target_field<precision>(question.kind, blocks_.softening, [&](int from_field, int to_field) {
      for (int field = from_field; field <= to_field; ++field) one.field[field] = value(place, field);
    });
  }
  ranks_->all_gather_in_place(asking.data(), bytes);
  return asking;
}

/// The sums of each span of this rank for those who ask, into parts_: one after the other, of each all spans.
template <Precision precision>
void DistributedDirectSum<precision>::sum_own_spans(const Question& question, const std::vector<Asking>& asking) {
  const int lanes = tile_size(question.kind);
  const std::int64_t rows = question.count(), count = std::ssize(asking), spans = spans_of(ranks_->rank());
  const std::int64_t first = chunks().first(ranks_->rank());
  std::vector<Tile> tiles(static_cast<std::size_t>((count + lanes - 1) / lanes));
  for (std::size_t k = 0; k < tiles.size(); ++k)
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int64_t t = std::min(static_cast<std::int64_t>(k) * lanes + lane, count - 1);
      const Asking& one = asking[static_cast<std::size_t>(t)];
      tiles[k].place[lane] = one.place - first;
      for (int field = 0; field < fields; ++field) tiles[k].field[field][lane] = one.field[field];
    }
  parts_.resize(static_cast<std::size_t>(count * spans * rows));
  parallel_for(threads_for(count * blocks_.count), std::ssize(tiles) * spans, [&](std::int64_t task) {
    const std::int64_t tile = task / spans, span = task % spans;
    direct::TileSums sums;
    law_.direct.sum_tile<precision>()({question.kind, blocks_, tiles[static_cast<std::size_t>(tile)],
                                       span * blocks_per_span, std::min((span + 1) * blocks_per_span, blocks_.blocks()),
                                       sums});
    for (std::int64_t t = tile * lanes; t < std::min((tile + 1) * lanes, count); ++t)
      for (std::int64_t k = 0; k < rows; ++k)
        parts_[static_cast<std::size_t>((t * spans + span) * rows + k)] =
            sums.value[question.sums[static_cast<std::size_t>(k)].row][t % lanes];
  });
}

/// Returns the same.
template <Precision precision>
std::int64_t DistributedDirectSum<precision>::sum_by_sources(const Question& question) {
  if constexpr (!adds_in_place) totals_.resize(question.sums.size() * static_cast<std::size_t>(question.targets.count));
  for (std::size_t k = 0; k < question.sums.size(); ++k) std::fill_n(totals(question, k), question.targets.count, 0.0);
  for (int owner = 0; owner < ranks_->size(); ++owner)
    for (std::int64_t span = 0; span < spans_of(owner); span += spans_at_once) {
      const bool here = owner == ranks_->rank();
      Blocks sources = blocks_;
      sources.count = std::min(chunks().count(owner) - span * span_size, spans_at_once * span_size);
      room_for(travelling_, here ? 0 : sources.blocks());
      sources.data = here ? blocks_.field(span * blocks_per_span, 0) : travelling_.data();
      ranks_->broadcast(sources.data, static_cast<std::size_t>(sources.blocks() * block_bytes), owner);
      sum_travelling(question, sources, chunks().first(owner) + span * span_size);
    }
  std::int64_t failed = nobody;
  for (std::int64_t t = 0; t < question.targets.count; ++t)
    if (!put(question, t, [&](std::size_t k) { return totals(question, k)[t]; })) failed = std::min(failed, t);
  return failed;
}

/// Adds the sums of some spans, `first` the place of their first source among all, for those of this rank who ask.
template <Precision precision>
void DistributedDirectSum<precision>::sum_travelling(const Question& question, const Blocks& sources,
                                                     std::int64_t first) {
  const int lanes = tile_size(question.kind);
  const std::int64_t count = question.targets.count;
  parallel_for(threads_for(count * sources.count), (count + lanes - 1) / lanes, [&](std::int64_t k) {
    Tile tile;
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int64_t place = question.place(std::min(k * lanes + lane, count - 1));
      tile.place[lane] = own_first() + place - first;
      direct::each_target_field<precision>(question.kind, sources.softening, [&](int from_field, int to_field) {
        for (int field = from_field; field <= to_field; ++field) tile.field[field][lane] = value(place, field);
      });
    }
    direct::TileSums sums;
    for (std::int64_t block = 0; block < sources.blocks(); block += blocks_per_span) {
      const std::int64_t end = std::min(block + blocks_per_span, sources.blocks());
      law_.direct.sum_tile<precision>()({question.kind, sources, tile, block, end, sums});
      for (std::size_t sum = 0; sum < question.sums.size(); ++sum) {
        double* const total = totals(question, sum);
        const double* const part = sums.value[question.sums[sum].row];
        for (std::int64_t t = k * lanes; t < std::min((k + 1) * lanes, count); ++t) total[t] += part[t % lanes];
      }
    }
  });
}

/// Says why the force on a particle, by its place among all, is not a number: on all ranks.
template <Precision precision>
void DistributedDirectSum<precision>::fail(std::int64_t place) const {
  struct Particle {
    Vec3<double> position;
    double softening = 0;
  };
  const auto share = [&](std::int64_t of) {
    int keeper = 0;
    while (shares_.first(keeper + 1) <= of) ++keeper;
    Particle one{};
    if (keeper == ranks_->rank()) {
      const auto [blocks, at] = packed(of - own_first());
      one.position = blocks->position(at);
      one.softening = blocks->softening.by_particle ? value(of - own_first(), direct::softening)
                                                    : static_cast<Pair>(blocks->softening.number[0]);
    }
    ranks_->broadcast(&one, sizeof one, keeper);
    return one;
  };
  const Particle one = share(place);
  const std::int64_t first = chunks().first(ranks_->rank());
  const direct::Nearest here = direct::nearest(blocks_, one.position, place - first);
  direct::Nearest other = here;
  ranks_->all_reduce(&other.square, 1, Reduction::minimum);
  other.place = here.place >= 0 && here.square == other.square ? first + here.place : nobody;
  ranks_->all_reduce(&other.place, 1, Reduction::minimum);
  if (other.place == nobody) other.place = -1;
  const bool unsoftened =
      other.place >= 0 && law_.is_unsoftened(one.softening) && law_.is_unsoftened(share(other.place).softening);
  direct::fail<precision>(place, other, unsoftened);
}

}  // namespace

const SolverInfo& distributed_direct_info() {
  static const SolverInfo info = [] {
    SolverInfo of_one = direct_info();
    of_one.nearest = of_one.neighbour_lists = false;
    return of_one;
  }();
  return info;
}

Error no_nearest_of_distributed() {
  return {ErrorKind::input, "direct: gives no nearest neighbours where particles are spread over ranks"};
}

template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_direct_cpu(const SolverOptions& options, const Device& device,
                                                          std::shared_ptr<Communicator> ranks) {
  return make_for_precision<Solver<Real>, DistributedDirectSum>(options, device, std::move(ranks));
}
template std::unique_ptr<Solver<float>> make_distributed_direct_cpu(const SolverOptions&, const Device&,
                                                                    std::shared_ptr<Communicator>);
template std::unique_ptr<Solver<double>> make_distributed_direct_cpu(const SolverOptions&, const Device&,
                                                                     std::shared_ptr<Communicator>);

}  // namespace pergola
