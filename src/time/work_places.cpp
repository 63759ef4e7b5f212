#include "time/work_places.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "comm/shares.hpp"
#include "device/arena.hpp"
#include "device/sort.hpp"
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
  virtual void have_come(View<const std::uint32_t> places) = 0;
  virtual void have_left(View<const std::uint32_t> places) = 0;
  virtual bool takes_places() const = 0;
  virtual void know_places(bool known, const std::uint32_t* places) = 0;
  /// Null: the solver lends none.
  virtual std::byte* lend(std::int64_t bytes) = 0;
  virtual std::int64_t bytes_for_some(std::int64_t n) const = 0;
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
      home_.emplace(solver_.way()->messages());
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
  void have_come(View<const std::uint32_t> places) override { solver_.have_come(places); }
  void have_left(View<const std::uint32_t> places) override {
    solver_.have_left(*home_, places);
    home_.reset();  // on CPUs a list of all of them
  }
  bool takes_places() const override { return solver_.takes_places(); }
  void know_places(bool known, const std::uint32_t* places) override { solver_.know_places(known, places); }
  std::byte* lend(std::int64_t bytes) override { return solver_.lend(bytes); }
  std::int64_t bytes_for_some(std::int64_t n) const override { return solver_.bytes_for_some(n); }

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
  if (moves_) fields_.keep_spare();
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

/// In memory that the solver lends, or that is taken for the move: places in the input and their order, by particle
/// that arrives here, and room to sort these, or after that for one field on its way. What outlasts it, or replaces
/// what is too small, has memory of its own.
struct WorkPlaces::Payload {
  std::int64_t arriving = 0;
  Buffer<std::byte> own;
  std::byte* arrived = nullptr;
  std::uint32_t *order = nullptr, *to = nullptr;  // the k-th that arrives comes to place to[k]
  std::byte* field = nullptr;
  Buffer<std::byte> place;               // empty: there is room enough
  std::vector<Buffer<std::byte>> rooms;  // of the fields, as place

  std::int64_t lay_out(std::byte* memory, std::int64_t here, std::int64_t place_bytes, std::int64_t sort_bytes) {
    MemoryParts parts(memory);
    arrived = parts.take<std::byte>(arriving * place_bytes);
    order = parts.take<std::uint32_t>(arriving), to = parts.take<std::uint32_t>(arriving);
    field = parts.take<std::byte>(std::max(std::max(here, arriving) * std::int64_t{sizeof(std::uint64_t)}, sort_bytes));
    return parts.used();
  }
  View<const std::uint32_t> places() const { return {to, arriving}; }
};

/// Takes all the memory of a move, and brings the places in the input of the particles that arrive here. Where memory
/// is refused to one rank all throw, and nothing has changed.
WorkPlaces::Payload WorkPlaces::pack(To goal) {
  const Device& device = fields_.device();
  Payload payload;
  const std::int64_t n = payload.arriving = moves_->arriving(goal);
  on_all(*ranks_, [&] {
    const std::int64_t sort_bytes = with_place([&](auto of) { return places_work_bytes<decltype(of)>(device, n); });
    const std::int64_t bytes = payload.lay_out(nullptr, fields_.count(), place_bytes(), sort_bytes);
    std::byte* memory = moves_->lend(bytes);
    if (!memory) {
      payload.own = Buffer<std::byte>(device, bytes);
      memory = payload.own.data();
    }
    payload.lay_out(memory, fields_.count(), place_bytes(), sort_bytes);
    const std::int64_t room = n + n / FieldList::travelling_spare;
    if (goal == To::work && place_.size() < n * place_bytes())
      payload.place = Buffer<std::byte>(device, room * place_bytes());
    for (const AnyField* field : fields_.travelling())
      payload.rooms.emplace_back(device,
                                 field->room() < n ? room * static_cast<std::int64_t>(field->value_bytes()) : 0);
  });
  if (!away_)
    with_place([&](auto of) {
      fill_places(device, first_at_home(), fields_.count(), reinterpret_cast<decltype(of)*>(payload.field));
    });
  moves_->carry(goal, away_ ? place_.data() : payload.field, payload.arrived, static_cast<std::size_t>(place_bytes()));
  return payload;
}

/// Where the solver takes places, and four bytes tell so many apart.
bool WorkPlaces::may_be_short(std::int64_t total) const {
  constexpr std::int64_t most = std::int64_t{1} << 32;
  return moves_->takes_places() && total <= most;
}

/// Brings all to where the solver works on them. In memory they stand in the order of the input.
void WorkPlaces::follow(const std::vector<const AnyField*>& left) {
  const Device& device = fields_.device();
  if (!away_) short_ = may_be_short(total_);
  Payload payload = pack(To::work);
  const std::int64_t n = payload.arriving;
  with_place([&](auto of) {
    sort_places(device, n, reinterpret_cast<decltype(of)*>(payload.arrived), payload.order, payload.field);
  });
  invert(device, n, payload.order, payload.to);
  if (payload.place.size() > 0) place_ = std::move(payload.place);
  if (n > 0) device.memory().copy(place_.data(), payload.arrived, static_cast<std::size_t>(n * place_bytes()));
  exchange(To::work, payload, left);
  away_ = true;
  moves_->know_places(short_, short_ ? reinterpret_cast<const std::uint32_t*>(place_.data()) : nullptr);
  moves_->have_come(payload.places());
}

/// The particle that arrives as order[k] comes to place k. A field that has left for the luggage may be written again.
void WorkPlaces::exchange(To goal, Payload& payload, const std::vector<const AnyField*>& left) {
  const std::vector<AnyField*> fields = fields_.travelling();
  const Device& device = fields_.device();
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (std::find(left.begin(), left.end(), fields[f]) != left.end()) continue;
    const std::size_t value_bytes = fields[f]->value_bytes();
    moves_->carry(goal, std::as_const(*fields[f]).bytes(), payload.field, value_bytes);
    Buffer<std::byte>& room = payload.rooms[f];
    permute_bytes(device, payload.arriving, payload.order, payload.field,
                  room.size() > 0 ? room.data() : fields[f]->bytes(), static_cast<int>(value_bytes));
  }
  fields_.change(payload.arriving, std::move(payload.rooms));
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
  moves_->plan_home(with_place([&](auto of) {
    return counts_by_share(device, reinterpret_cast<const decltype(of)*>(place_.data()), fields_.count(),
                           {total_, ranks_->size()});
  }));
  Payload payload = pack(To::home);
  with_place([&](auto of) {
    places_in_share(device, reinterpret_cast<const decltype(of)*>(payload.arrived), payload.arriving, first_at_home(),
                    payload.to);
  });
  invert(device, payload.arriving, payload.to, payload.order);
  exchange(To::home, payload, {});
  away_ = false;
  moves_->know_places(false, nullptr);
  place_ = Buffer<std::byte>();
  if (!failed) moves_->have_left(payload.places());
}

std::int64_t WorkPlaces::bytes(std::int64_t n) const {
  if (!moves_) return 0;
  std::int64_t spare = 0;
  for (const AnyField* field : fields_.travelling())
    spare += n / FieldList::travelling_spare * static_cast<std::int64_t>(field->value_bytes());
  const bool is_short = may_be_short(n * ranks_->size());
  return n * static_cast<std::int64_t>(is_short ? sizeof(std::uint32_t) : sizeof(std::uint64_t)) + spare;
}

std::int64_t WorkPlaces::bytes_for_some(std::int64_t n) const { return moves_ ? moves_->bytes_for_some(n) : 0; }

std::int64_t WorkPlaces::find_at_home(std::int64_t place, std::int64_t& kind) {
  if (!away_) return place;
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kinds = 4;
  std::int64_t first = none;
  if (place >= 0) {
    const auto in_input = with_place([&](auto value) {
      fields_.device().memory().to_host(&value, place_.data() + place * place_bytes(), sizeof value);
      return static_cast<std::int64_t>(value);
    });
    first = kinds * in_input + kind;
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
