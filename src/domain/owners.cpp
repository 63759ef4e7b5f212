// settle(), step by step:
// 1. The solver has divided the particles: each rank knows which of its own go where. If none leaves, all is done.
// 2. Memory: each rank takes all that the move needs, what arrives included. If one is refused it, all throw.
// 3. The places in the input travel. Those that arrive are sorted: this is the order of the particles here.
// 4. The fields travel, several at a time, and are brought into that order.
// go_home() does the same along a way that follows from the places alone.
#include "domain/owners.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "device/arena.hpp"
#include "device/sort.hpp"
#include "domain/input_places.hpp"

namespace pergola {

struct Owners::Move {
  ParticleWay* way = nullptr;
  std::int64_t here = 0, arriving = 0, most_arriving = 0;  // most: on any rank
  bool are_home = false;
  Buffer<std::byte> own;
  std::uint64_t *given = nullptr, *place = nullptr;  // of those here, if they are home, and of those that arrive
  std::uint32_t *order = nullptr, *to = nullptr;     // the k-th that arrives comes to place to[k]; order: the inverse
  std::byte* fields = nullptr;                       // on their way; before that, room to sort places
  std::int64_t at_once = 1, field_bytes = 0;         // so many fields, each so far from the next
  Buffer<std::uint64_t> places;                      // empty: there is room enough
  std::vector<Buffer<std::byte>> rooms;              // of the fields, as places

  std::int64_t lay_out(std::byte* memory, std::int64_t sort_bytes) {
    MemoryParts parts(memory);
    given = parts.take<std::uint64_t>(are_home ? here : 0), place = parts.take<std::uint64_t>(arriving);
    order = parts.take<std::uint32_t>(arriving), to = parts.take<std::uint32_t>(arriving);
    // The messages of few particles take their time whatever they hold: then many fields go at once.
    constexpr std::int64_t most_bytes = std::int64_t{64} << 20, fields_at_most = ParticleWay::most_fields;
    constexpr std::int64_t value_bytes = sizeof(std::uint64_t);
    field_bytes = arriving * value_bytes;
    at_once = std::clamp(most_bytes / (value_bytes * std::max<std::int64_t>(most_arriving, 1)), std::int64_t{1},
                         fields_at_most);
    fields = parts.take<std::byte>(std::max(at_once * field_bytes, sort_bytes));
    return parts.used();
  }
};

Owners::Owners(FieldList& fields, std::shared_ptr<Communicator> ranks, bool gives_back)
    : fields_(fields), ranks_(std::move(ranks)), gives_back_(gives_back) {
  if (ranks_) fields_.keep_spare();
}

/// Takes all the memory of a move, and brings the places of those that arrive.
Owners::Move Owners::begin_move(ParticleWay& way) {
  const Device& device = fields_.device();
  Move move;
  move.way = &way;
  const std::int64_t n = move.arriving = move.most_arriving = way.arriving();
  ranks_->all_reduce(&move.most_arriving, 1, Reduction::maximum);
  move.here = fields_.count(), move.are_home = !away_;
  on_all(*ranks_, [&] {
    const std::int64_t sort_bytes = places_work_bytes(device, n, total_), bytes = move.lay_out(nullptr, sort_bytes);
    std::byte* memory = division_.lend(bytes);
    if (!memory) {
      move.own = Buffer<std::byte>(device, bytes);
      memory = move.own.data();
    }
    move.lay_out(memory, sort_bytes);
    const std::int64_t room = n + n / FieldList::travelling_spare;
    if (place_.size() < n) move.places = Buffer<std::uint64_t>(device, room);
    for (const AnyField* field : fields_.travelling())
      move.rooms.emplace_back(device, field->room() < n ? room * static_cast<std::int64_t>(field->value_bytes()) : 0);
  });
  if (!away_) fill_places(device, first_, move.here, move.given);
  way.carry({{reinterpret_cast<const std::byte*>(away_ ? place_.data() : move.given),
              reinterpret_cast<std::byte*>(move.place)}},
            sizeof(std::uint64_t));
  return move;
}

/// The fields travel and are brought into the new order: some of the same size at a time.
void Owners::exchange(Move& move, const std::vector<const AnyField*>& left) {
  const std::vector<AnyField*> all = fields_.travelling();
  std::vector<std::size_t> group;
  const auto send = [&] {
    if (group.empty()) return;
    const std::size_t value_bytes = all[group[0]]->value_bytes();
    std::vector<ParticleWay::Field> fields;
    for (const std::size_t f : group)
      fields.push_back({std::as_const(*all[f]).bytes(), move.fields + std::ssize(fields) * move.field_bytes});
    move.way->carry(fields, value_bytes);
    for (std::size_t k = 0; k < group.size(); ++k) {
      Buffer<std::byte>& room = move.rooms[group[k]];
      permute_bytes(fields_.device(), move.arriving, move.order, fields[k].arrived,
                    room.size() > 0 ? room.data() : all[group[k]]->bytes(), static_cast<int>(value_bytes));
    }
    group.clear();
  };
  for (const std::size_t value_bytes : {8, 4, 1}) {
    for (std::size_t f = 0; f < all.size(); ++f) {
      if (all[f]->value_bytes() != value_bytes || std::find(left.begin(), left.end(), all[f]) != left.end()) continue;
      group.push_back(f);
      if (std::ssize(group) == move.at_once) send();
    }
    send();
  }
  fields_.change(move.arriving, std::move(move.rooms));
}

bool Owners::settle(const Division& division, const std::vector<const AnyField*>& left) {
  if (!ranks_ || !division.way) return false;
  const std::vector<std::int64_t> counts = gather_values(*ranks_, fields_.count());
  std::int64_t leaving = division.way->leaving();
  ranks_->all_reduce(&leaving, 1, Reduction::sum);
  division_ = division;
  arrived_at_ = Buffer<std::uint32_t>();
  if (leaving == 0) return false;
  if (!away_) {
    given_end_.assign(counts.size(), 0);
    std::partial_sum(counts.begin(), counts.end(), given_end_.begin());
    total_ = given_end_.back(), first_ = given_end_[static_cast<std::size_t>(ranks_->rank())] - fields_.count();
  }
  const Device& device = fields_.device();
  Move move = begin_move(*division.way);
  sort_places(device, move.arriving, total_, move.place, move.order, move.fields);
  invert(device, move.arriving, move.order, move.to);
  exchange(move, left);
  if (move.places.size() > 0) place_ = std::move(move.places);
  if (gives_back_) {
    arrived_at_ = Buffer<std::uint32_t>(device, move.arriving);
    if (move.arriving > 0) device.memory().copy(arrived_at_.data(), move.to, arrived_at_.bytes());
  }
  if (move.arriving > 0)
    device.memory().copy(place_.data(), move.place, static_cast<std::size_t>(move.arriving) * sizeof(std::uint64_t));
  away_ = true;
  return true;
}

bool Owners::go_home() {
  if (!away_) return false;
  const Device& device = fields_.device();
  std::vector<std::int64_t> sent = counts_below(device, place_.data(), fields_.count(), given_end_);
  std::adjacent_difference(sent.begin(), sent.end(), sent.begin());
  const auto home = division_.way->in_order(sent);
  Move move = begin_move(*home);
  places_from(device, move.place, move.arriving, first_, move.to);
  invert(device, move.arriving, move.to, move.order);
  exchange(move, {});
  away_ = false;
  place_ = Buffer<std::uint64_t>();
  return true;
}

void Owners::carry_back(const std::byte* here, std::byte* given, std::size_t value_bytes) const {
  const Device& device = fields_.device();
  const std::int64_t n = fields_.count();
  if (!division_.way || arrived_at_.size() != n) {  // nothing has moved
    if (n > 0) device.memory().copy(given, here, static_cast<std::size_t>(n) * value_bytes);
    return;
  }
  Buffer<std::byte> arrived(device, n * static_cast<std::int64_t>(value_bytes));
  permute_bytes(device, n, arrived_at_.data(), here, arrived.data(), static_cast<int>(value_bytes));
  division_.way->carry_back(arrived.data(), given, value_bytes);
}

std::int64_t Owners::find_at_home(std::int64_t place, std::int64_t& kind) {
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
  go_home();
  kind = first % kinds;
  const std::int64_t at = first / kinds - first_;
  return at >= 0 && at < fields_.count() ? at : -1;
}

void Owners::require_home() const {
  if (away_) throw Error(ErrorKind::numerics, "expected particles at the end of a step, found them in one that failed");
}

std::int64_t Owners::bytes(std::int64_t n) const {
  if (!ranks_) return 0;
  std::int64_t spare = 0;
  for (const AnyField* field : fields_.travelling())
    spare += n / FieldList::travelling_spare * static_cast<std::int64_t>(field->value_bytes());
  return n * std::int64_t{sizeof(std::uint64_t)} + spare;
}

}  // namespace pergola
