#include "time/work_places.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "comm/failure.hpp"
#include "comm/shares.hpp"
#include "device/parallel.hpp"
#include "device/sort.hpp"

namespace pergola {

namespace {

/// Particles move where more than one of so many would have to be sent.
constexpr std::int64_t one_in = 128;
constexpr std::int64_t chunk = 8192;

/// `arrived`: room for as many values as `into` has.
template <class V>
void bring(int threads, const Routing& way, const std::vector<std::uint32_t>& to, const std::byte* from,
           std::byte* arrived, std::byte* into) {
  V* const values = reinterpret_cast<V*>(arrived);
  way.there<V, 1>({reinterpret_cast<const V*>(from)}, {values});
  parallel_chunks(threads, way.arriving(), chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) reinterpret_cast<V*>(into)[to[static_cast<std::size_t>(k)]] = values[k];
  });
}

}  // namespace

WorkPlaces::WorkPlaces(FieldList& fields, AnySolver& solver, std::shared_ptr<Communicator> ranks)
    : fields_(fields), ranks_(std::move(ranks)), steps_(0), steps_before_(fewest_steps) {
  if (ranks_) moves_ = dynamic_cast<SourceMoves*>(&solver.plain());
}

bool WorkPlaces::begin_step(double steps, const std::vector<const AnyField*>& left) {
  if (!moves_ || stays_) return false;
  const bool long_enough = steps >= fewest_steps && std::max(steps_, steps_before_) >= fewest_steps;
  ++steps_;
  if (!away_ && !long_enough) return false;
  const Routing* const way = moves_->way();
  const bool known = way && way->kept() == fields_.count() && fields_.given_places().size() == 0;
  std::int64_t sums[3] = {known ? way->leaving() : 0, fields_.count(), known ? 0 : 1};
  ranks_->all_reduce(sums, 3, Reduction::sum);
  if (sums[2] > 0 || sums[0] * one_in <= sums[1]) return false;
  total_ = sums[1];
  try {
    follow(*way, left);
  } catch (...) {
    if (current_failure().kind != ErrorKind::device) throw;
    stays_ = !away_;
    return false;
  }
  return true;
}

/// The places of the particles here in the input.
std::vector<std::uint64_t> WorkPlaces::places_here() const {
  if (away_) return place_;
  std::vector<std::uint64_t> places(static_cast<std::size_t>(fields_.count()));
  std::iota(places.begin(), places.end(), static_cast<std::uint64_t>(first_at_home()));
  return places;
}

/// Brings all to where the solver works on them. In memory they stand in the order of the input.
void WorkPlaces::follow(const Routing& way, const std::vector<const AnyField*>& left) {
  const Device& device = fields_.device();
  const std::vector<std::uint64_t> arrived = way.there(places_here().data());
  const std::int64_t n = std::ssize(arrived);
  std::vector<std::uint32_t> to(arrived.size());
  std::vector<std::uint64_t> rising;
  on_all(*ranks_, [&] {
    SortBuffers sort{Buffer<std::uint64_t>(device, arrived), Buffer<std::uint64_t>(device, n),
                     Buffer<std::uint32_t>(device, n), Buffer<std::uint32_t>(device, n)};
    std::iota(sort.values.data(), sort.values.data() + n, 0u);
    if (n > 0) sort_by_key_cpu(device, n, sort);
    for (std::int64_t k = 0; k < n; ++k) to[sort.values.data()[k]] = static_cast<std::uint32_t>(k);
    rising.assign(sort.keys.data(), sort.keys.data() + n);
  });
  exchange(way, to, left);
  place_ = std::move(rising);
  away_ = true;
  moves_->have_come(std::move(to));
}

/// The k-th particle that arrives on this way comes to the place to[k]. Where memory is refused to one rank all throw,
/// and nothing has changed.
void WorkPlaces::exchange(const Routing& way, const std::vector<std::uint32_t>& to,
                          const std::vector<const AnyField*>& left) {
  const std::vector<AnyField*> fields = fields_.travelling();
  std::vector<Buffer<std::byte>> rooms(fields.size());
  Buffer<std::byte> arrived;
  const std::int64_t n = way.arriving();
  on_all(*ranks_, [&] {
    for (std::size_t f = 0; f < fields.size(); ++f)
      rooms[f] = Buffer<std::byte>(fields_.device(), n * static_cast<std::int64_t>(fields[f]->value_bytes()));
    arrived = Buffer<std::byte>(fields_.device(), n * std::int64_t{sizeof(std::uint64_t)});
  });
  const int threads = fields_.device().threads();
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (std::find(left.begin(), left.end(), fields[f]) != left.end()) continue;
    const std::byte* const from = std::as_const(*fields[f]).bytes();
    switch (fields[f]->value_bytes()) {
      case 1:
        bring<std::uint8_t>(threads, way, to, from, arrived.data(), rooms[f].data());
        break;
      case 4:
        bring<std::uint32_t>(threads, way, to, from, arrived.data(), rooms[f].data());
        break;
      default:
        bring<std::uint64_t>(threads, way, to, from, arrived.data(), rooms[f].data());
    }
  }
  fields_.change(n, std::move(rooms));
}

std::int64_t WorkPlaces::first_at_home() const { return Shares{total_, ranks_->size()}.first(ranks_->rank()); }

void WorkPlaces::go_home(bool failed) {
  steps_before_ = std::exchange(steps_, 0);
  if (!away_) return;
  if (!failed) {  // so that the solver has just those that are here
    std::int64_t leaving = moves_->way()->leaving();
    ranks_->all_reduce(&leaving, 1, Reduction::sum);
    if (leaving > 0) follow(*moves_->way(), {});
  }
  const Shares shares{total_, ranks_->size()};
  std::vector<std::uint32_t> order(place_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::vector<std::int64_t> sent;
  auto begin = place_.begin();
  for (int rank = 0; rank < ranks_->size(); ++rank) {
    const auto end = std::lower_bound(begin, place_.end(), static_cast<std::uint64_t>(shares.first(rank + 1)));
    sent.push_back(end - begin);
    begin = end;
  }
  const Routing home(*ranks_, fields_.device().threads(), std::move(order), std::move(sent));
  const std::vector<std::uint64_t> arrived = home.there(place_.data());
  std::vector<std::uint32_t> to;
  for (const std::uint64_t place : arrived)
    to.push_back(static_cast<std::uint32_t>(place - static_cast<std::uint64_t>(shares.first(ranks_->rank()))));
  exchange(home, to, {});
  away_ = false;
  std::vector<std::uint64_t>().swap(place_);
  if (!failed) moves_->have_left(home.reversed(std::move(to)));
}

std::int64_t WorkPlaces::find_at_home(std::int64_t place, std::int64_t& kind) {
  if (!away_) return place;
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kinds = 4;
  std::int64_t first =
      place < 0 ? none : kinds * static_cast<std::int64_t>(place_[static_cast<std::size_t>(place)]) + kind;
  ranks_->all_reduce(&first, 1, Reduction::minimum);
  if (first == none) return -1;
  go_home(true);
  kind = first % kinds;
  const std::int64_t at = first / kinds - first_at_home();
  return at >= 0 && at < fields_.count() ? at : -1;
}

void WorkPlaces::require_home() const {
  if (away_) throw Error(ErrorKind::numerics, "expected particles at the end of a step, found them in one that failed");
}

}  // namespace pergola
