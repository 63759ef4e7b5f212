#include "tree/kept_tree.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "tree/forest.hpp"

namespace pergola::tree {

namespace {

/// Values that are checked at once.
constexpr std::int64_t piece = 1 << 18;

[[noreturn]] void refuse(const std::string& block, const std::string& what) {
  throw Error(ErrorKind::input, "checkpoint: block " + block + ": " + what);
}

/// is_right(value): whether it can be what is `expected`.
template <class T, class IsRight>
void check_field(const ParticleField<T>& field, std::int64_t count, const char* expected, const IsRight& is_right) {
  std::vector<T> values;
  for (std::int64_t first = 0; field.used() && first < count; first += piece) {
    values.resize(static_cast<std::size_t>(std::min(piece, count - first)));
    field.to_host(first, std::ssize(values), values.data());
    for (const T value : values)
      if (!is_right(value))
        refuse(field.name(), std::string("expected ") + expected + ", found " + std::to_string(value));
  }
}

int read_level(StateInput& from, const char* name, int least, int most) {
  const auto level = from.get_value<std::int64_t>(name);
  if (level < least || level > most)
    refuse(name,
           "found " + std::to_string(level) + ", expected " + std::to_string(least) + " to " + std::to_string(most));
  return static_cast<int>(level);
}

Frame read_frame(StateInput& from) {
  const auto corner = from.get<double>("tree.corner", 3);
  const Frame frame{
      {corner[0], corner[1], corner[2]}, from.get_value<double>("tree.side"), from.get_value<double>("tree.mass")};
  for (const double x : corner)
    if (!std::isfinite(x)) refuse("tree.corner", "expected finite numbers, found " + std::to_string(x));
  if (!std::isfinite(frame.side) || frame.side <= 0)
    refuse("tree.side", "expected a number above 0, found " + std::to_string(frame.side));
  if (!std::isfinite(frame.mass) || frame.mass <= 0)
    refuse("tree.mass", "expected a number above 0, found " + std::to_string(frame.mass));
  return frame;
}

}  // namespace

KeptTree::KeptTree(FieldList& particles)
    : upper(particles, "tree.upper_key"),
      lower(particles, "tree.lower_key"),
      acceleration(particles, "tree.acceleration"),
      particles_(particles) {
  for (AnyField* const field :
       {static_cast<AnyField*>(&upper), static_cast<AnyField*>(&lower), static_cast<AnyField*>(&acceleration)})
    field->set_used(false);
}

void KeptTree::begin(const std::string& of_kind, bool with_lower, bool with_accelerations) {
  kind = of_kind;
  particles_.use(upper, true);
  particles_.use(lower, with_lower);
  particles_.use(acceleration, with_accelerations);
}

void KeptTree::forget() {
  kind.clear();
  particles_.use(upper, false), particles_.use(lower, false), particles_.use(acceleration, false);
}

void KeptTree::save(StateSource& to) const {
  if (!is_there()) return;
  to.put("tree.kind", std::vector<char>(kind.begin(), kind.end()));
  to.put("tree.corner", std::vector<double>{frame.corner.x, frame.corner.y, frame.corner.z});
  to.put_value("tree.side", frame.side);
  to.put_value("tree.mass", frame.mass);
  to.put_value("tree.digit_level", std::int64_t{digit_level});
  to.put_value("tree.root_level", std::int64_t{root_level});
  to.put_value("tree.spread", spread);
}

void KeptTree::restore(StateInput& from) {
  forget();
  if (!from.has("tree.kind")) return;
  const auto letters = from.get<char>("tree.kind", static_cast<std::int64_t>(from.bytes("tree.kind")));
  frame = read_frame(from);
  digit_level = read_level(from, "tree.digit_level", SofteningDigit::no_digit, key_levels - 1);
  root_level = read_level(from, "tree.root_level", 0, finest_roots);
  spread = from.get_value<std::int64_t>("tree.spread");
  kind.assign(letters.begin(), letters.end());
  upper.set_used(true);
  lower.set_used(from.has("tree.lower_key"));
  acceleration.set_used(from.has("tree.acceleration"));
}

void KeptTree::check() const {
  const auto is_key = [](std::uint64_t key) { return key >> 3 * key_levels == 0; };
  check_field(upper, count(), "keys below 2^63", is_key);
  check_field(lower, count(), "keys below 2^63", is_key);
  check_field(acceleration, count(), "numbers of at least 0", [](double a) { return a >= 0; });
}

}  // namespace pergola::tree
