#include "time/work_places.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "comm/failure.hpp"
#include "comm/shares.hpp"
#include "device/permute.hpp"
#include "domain/input_places.hpp"
#include "gravity/source_moves.hpp"

namespace pergola {

/// The ways between home and work, whichever device the particles lie on.
class WorkPlaces::Moves {
 public:
  virtual ~Moves() = default;
  /// Of so many particles those that would go to other ranks; −1: the solver knows no way for them.
  virtual std::int64_t leaving(std::int64_t count) = 0;
  virtual std::int64_t one_in() const = 0;
  /// All go home as they stand, the first sent[0] of them to rank 0.
  virtual void plan_home(std::vector<std::int64_t> sent) = 0;
  virtual std::int64_t arriving(To goal) = 0;
  /// Values of 1, 4 or 8 bytes of the particles here, to those that arrive.
  virtual void carry(To goal, const std::byte* from, std::byte* arrived, std::size_t value_bytes) = 0;
  /// They have gone, and the k-th that arrived here stands at places[k].
  virtual void have_come(const Buffer<std::uint32_t>& places) = 0;
  virtual void have_left(const Buffer<std::uint32_t>& places) = 0;
};

template <class Way>
class WorkPlaces::MovesBy final : public Moves {
 public:
  MovesBy(SourceMovesBy<Way>& solver, const Device& device, std::shared_ptr<Communicator> ranks)
      : solver_(solver), device_(device), ranks_(std::move(ranks)) {}

  std::int64_t leaving(std::int64_t count) override {
    const Way* const way = solver_.way();
    return way && way->kept() == count ? way->leaving() : -1;
  }
  std::int64_t one_in() const override { return solver_.one_in(); }
  void plan_home(std::vector<std::int64_t> sent) override {
    if constexpr (std::is_same_v<Way, Routing>) {
      std::vector<std::uint32_t> order(static_cast<std::size_t>(std::reduce(sent.begin(), sent.end())));
      std::iota(order.begin(), order.end(), 0u);
      home_.emplace(*ranks_, device_.threads(), std::move(order), std::move(sent));
    } else {
      if (!home_) home_.emplace(device_, ranks_);
      home_->plan_in_order(sent);
    }
  }
  std::int64_t arriving(To goal) override { return way(goal).arriving(); }
  void carry(To goal, const std::byte* from, std::byte* arrived, std::size_t value_bytes) override {
    const auto with = [&](auto value) {
      using V = decltype(value);
      way(goal).template there<V, 1>({reinterpret_cast<const V*>(from)}, {reinterpret_cast<V*>(arrived)});
    };
    value_bytes == 8 ? with(std::uint64_t{}) : value_bytes == 4 ? with(std::uint32_t{}) : with(std::uint8_t{});
  }
  void have_come(const Buffer<std::uint32_t>& places) override { solver_.have_come(places); }
  void have_left(const Buffer<std::uint32_t>& places) override {
    solver_.have_left(*home_, places);
    if constexpr (std::is_same_v<Way, Routing>) home_.reset();  // a list of all of them
  }

 private:
  Way& way(To goal) { return goal == To::work ? *solver_.way() : *home_; }

  SourceMovesBy<Way>& solver_;
  Device device_;
  std::shared_ptr<Communicator> ranks_;
  std::optional<Way> home_;
};

WorkPlaces::WorkPlaces(FieldList& fields, AnySolver& solver, std::shared_ptr<Communicator> ranks)
    : fields_(fields), ranks_(std::move(ranks)), steps_(0), steps_before_(fewest_steps) {
  if (!ranks_) return;
  if (auto* const moves = dynamic_cast<SourceMoves*>(&solver.plain()))
    moves_ = std::make_unique<MovesBy<Routing>>(*moves, fields_.device(), ranks_);
  if constexpr (cuda_built) {
    if (auto* const moves = dynamic_cast<DeviceSourceMoves*>(&solver.plain()))
      moves_ = std::make_unique<MovesBy<DeviceRouting>>(*moves, fields_.device(), ranks_);
  }
}

WorkPlaces::~WorkPlaces() = default;

bool WorkPlaces::begin_step(double steps, const std::vector<const AnyField*>& left) {
  if (!moves_ || stays_) return false;
  const bool long_enough = steps >= fewest_steps && std::max(steps_, steps_before_) >= fewest_steps;
  ++steps_;
  if (!away_ && !long_enough) return false;
  const std::int64_t leaving = fields_.given_places().size() == 0 ? moves_->leaving(fields_.count()) : -1;
  std::int64_t sums[3] = {std::max<std::int64_t>(leaving, 0), fields_.count(), leaving < 0 ? 1 : 0};
  ranks_->all_reduce(sums, 3, Reduction::sum);
  if (sums[2] > 0 || sums[0] * moves_->one_in() <= sums[1]) return false;
  total_ = sums[1];
  try {
    follow(left);
  } catch (...) {
    if (current_failure().kind != ErrorKind::device) throw;
    stays_ = !away_;
    return false;
  }
  return true;
}

/// The places in the input of the particles that arrive here.
Buffer<std::uint64_t> WorkPlaces::arrived_places(To goal) {
  Buffer<std::uint64_t> here, arrived;
  on_all(*ranks_, [&] {
    if (!away_) here = places_from(fields_.device(), first_at_home(), fields_.count());
    arrived = Buffer<std::uint64_t>(fields_.device(), moves_->arriving(goal));
  });
  const Buffer<std::uint64_t>& places = away_ ? place_ : here;
  moves_->carry(goal, reinterpret_cast<const std::byte*>(places.data()), reinterpret_cast<std::byte*>(arrived.data()),
                sizeof(std::uint64_t));
  return arrived;
}

/// Brings all to where the solver works on them. In memory they stand in the order of the input.
void WorkPlaces::follow(const std::vector<const AnyField*>& left) {
  const Device& device = fields_.device();
  Buffer<std::uint64_t> arrived = arrived_places(To::work);
  const std::int64_t n = arrived.size();
  RisingPlaces rising;
  Buffer<std::uint32_t> to;
  on_all(*ranks_, [&] {
    rising = sorted(device, std::move(arrived));
    to = Buffer<std::uint32_t>(device, n);
  });
  invert(device, n, rising.order.data(), to.data());
  exchange(To::work, rising.order, left);
  place_ = std::move(rising.places);
  away_ = true;
  moves_->have_come(to);
}

/// The particle that arrives as order[k] comes to place k. Where memory is refused to one rank all throw, and nothing
/// has changed.
void WorkPlaces::exchange(To goal, const Buffer<std::uint32_t>& order, const std::vector<const AnyField*>& left) {
  const std::vector<AnyField*> fields = fields_.travelling();
  std::vector<Buffer<std::byte>> rooms(fields.size());
  Buffer<std::byte> arrived;
  const Device& device = fields_.device();
  const std::int64_t n = moves_->arriving(goal);
  on_all(*ranks_, [&] {
    for (std::size_t f = 0; f < fields.size(); ++f)
      rooms[f] = Buffer<std::byte>(device, n * static_cast<std::int64_t>(fields[f]->value_bytes()));
    arrived = Buffer<std::byte>(device, n * std::int64_t{sizeof(std::uint64_t)});
  });
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (std::find(left.begin(), left.end(), fields[f]) != left.end()) continue;
    const std::size_t value_bytes = fields[f]->value_bytes();
    moves_->carry(goal, std::as_const(*fields[f]).bytes(), arrived.data(), value_bytes);
    permute_bytes(device, n, order.data(), arrived.data(), rooms[f].data(), static_cast<int>(value_bytes));
  }
  fields_.change(n, std::move(rooms));
}

std::int64_t WorkPlaces::first_at_home() const { return Shares{total_, ranks_->size()}.first(ranks_->rank()); }

void WorkPlaces::go_home(bool failed) {
  steps_before_ = std::exchange(steps_, 0);
  if (!away_) return;
  if (!failed) {  // so that the solver has just those that are here
    std::int64_t leaving = moves_->leaving(fields_.count());
    ranks_->all_reduce(&leaving, 1, Reduction::sum);
    if (leaving > 0) follow({});
  }
  const Device& device = fields_.device();
  moves_->plan_home(counts_by_share(device, place_, {total_, ranks_->size()}));
  const Buffer<std::uint64_t> arrived = arrived_places(To::home);
  Buffer<std::uint32_t> to, order;
  on_all(*ranks_, [&] {
    to = Buffer<std::uint32_t>(device, arrived.size()), order = Buffer<std::uint32_t>(device, arrived.size());
  });
  places_in_share(device, arrived, first_at_home(), to.data());
  invert(device, to.size(), to.data(), order.data());
  exchange(To::home, order, {});
  away_ = false;
  place_ = Buffer<std::uint64_t>();
  if (!failed) moves_->have_left(to);
}

std::int64_t WorkPlaces::find_at_home(std::int64_t place, std::int64_t& kind) {
  if (!away_) return place;
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kinds = 4;
  std::int64_t first = none;
  if (place >= 0) {
    std::uint64_t in_input = 0;
    fields_.device().memory().to_host(&in_input, place_.data() + place, sizeof in_input);
    first = kinds * static_cast<std::int64_t>(in_input) + kind;
  }
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
