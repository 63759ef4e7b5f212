#include "tree/kept_tree.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.hpp"
#include "tree/forest.hpp"

namespace pergola::tree {

namespace {

/// Values that are read and checked at once.
constexpr std::int64_t piece = 1 << 18;

[[noreturn]] void refuse(const char* block, const std::string& what) {
  throw Error(ErrorKind::input, std::string("checkpoint: block ") + block + ": " + what);
}

template <class T>
void put_field(StateSource& to, const char* name, const std::shared_ptr<const KeptTree>& kept,
               Buffer<T> KeptTree::*field, const Device& device) {
  to.put_range(
      name, sizeof(T), kept->count(),
      [kept, field, device](std::int64_t first, std::int64_t n, void* into) {
        if (n > 0)
          device.memory().to_host(into, ((*kept).*field).data() + first, static_cast<std::size_t>(n) * sizeof(T));
      },
      true);
}

/// `fault`: what is expected of a value that is not right; null for one that is.
template <class T>
Buffer<T> read_field(StateInput& from, const char* name, const Device& device, const Stretch& own, std::int64_t total,
                     const std::function<const char*(T)>& fault) {
  from.expect<T>(name, total);
  Buffer<T> field(device, own.count);
  std::vector<T> values;
  for (std::int64_t first = 0; first < own.count; first += piece) {
    values.resize(static_cast<std::size_t>(std::min(piece, own.count - first)));
    const std::size_t bytes = values.size() * sizeof(T);
    from.read(name, static_cast<std::uint64_t>(own.first + first) * sizeof(T), values.data(), bytes);
    for (const T value : values)
      if (const char* const expected = fault(value))
        refuse(name, std::string("expected ") + expected + ", found " + std::to_string(value));
    device.memory().from_host(field.data() + first, values.data(), bytes);
  }
  return field;
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

const char* fault_of_key(std::uint64_t key) { return key >> 3 * key_levels ? "keys below 2^63" : nullptr; }
const char* fault_of_acceleration(double a) { return a >= 0 ? nullptr : "numbers of at least 0"; }

}  // namespace

void save_tree(StateSource& to, const std::string& kind, const std::shared_ptr<const KeptTree>& kept) {
  if (!kept) return;
  to.put("tree.kind", std::vector<char>(kind.begin(), kind.end()));
  to.put("tree.corner", std::vector<double>{kept->frame.corner.x, kept->frame.corner.y, kept->frame.corner.z});
  to.put_value("tree.side", kept->frame.side);
  to.put_value("tree.mass", kept->frame.mass);
  to.put_value("tree.digit_level", std::int64_t{kept->digit_level});
  to.put_value("tree.root_level", std::int64_t{kept->root_level});
  to.put_value("tree.spread", kept->spread);
  put_field(to, "tree.upper_key", kept, &KeptTree::upper, kept->device);
  if (kept->has_lower) put_field(to, "tree.lower_key", kept, &KeptTree::lower, kept->device);
  if (kept->has_accelerations) put_field(to, "tree.acceleration", kept, &KeptTree::acceleration, kept->device);
}

std::shared_ptr<const KeptTree> restore_tree(StateInput& from, const std::string& kind, const Device& device,
                                             const Shares& shares, int rank) {
  if (!from.has("tree.kind") || from.bytes("tree.kind") != kind.size()) return nullptr;
  if (from.get<char>("tree.kind", std::ssize(kind)) != std::vector<char>(kind.begin(), kind.end())) return nullptr;
  const auto kept = std::make_shared<KeptTree>();
  kept->device = device;
  kept->frame = read_frame(from);
  kept->digit_level = read_level(from, "tree.digit_level", SofteningDigit::no_digit, key_levels - 1);
  kept->root_level = read_level(from, "tree.root_level", 0, finest_roots);
  kept->spread = from.get_value<std::int64_t>("tree.spread");
  const Stretch own{shares.first(rank), shares.count(rank)};
  kept->upper = read_field<std::uint64_t>(from, "tree.upper_key", device, own, shares.total, fault_of_key);
  kept->has_lower = from.has("tree.lower_key");
  if (kept->has_lower)
    kept->lower = read_field<std::uint64_t>(from, "tree.lower_key", device, own, shares.total, fault_of_key);
  kept->has_accelerations = from.has("tree.acceleration");
  if (kept->has_accelerations)
    kept->acceleration =
        read_field<double>(from, "tree.acceleration", device, own, shares.total, fault_of_acceleration);
  return kept;
}

}  // namespace pergola::tree
