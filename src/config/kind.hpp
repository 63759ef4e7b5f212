#pragma once
// Kinds of system, as the configuration sees them.
//
// A kind has an entry here (its table, keys, units, precision, seed, and what is completed and checked) and one in
// sim/system_entry.hpp (how it is made and shown). Other code asks these entries and never compares names of kinds.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/value.hpp"

namespace pergola {

/// What a configuration has for a kind of system.
struct KindEntry {
  std::string name;
  std::string table;  // a configuration with this table is of this kind; empty: the kind without a table
  /// Whether a key belongs to this kind. Keys that no kind owns belong to all.
  bool (*owns)(const std::string& path) = nullptr;
  /// The reason why a key of another kind is refused; null: its table is missing.
  std::string (*refusal)(const std::string& path) = nullptr;
  /// The values of units.system.
  std::vector<std::string> (*unit_systems)() = nullptr;
  /// With "auto" resolved.
  Precision (*precision)(const RunConfig& config) = nullptr;
  /// Of the random numbers that the particles are drawn with; none: they are not drawn.
  std::optional<std::uint64_t> (*seed)(const RunConfig& config) = nullptr;
  /// After all keys are read: sets defaults that depend on other keys, and refuses values that are valid alone but not
  /// together. `with_steps` false: a force evaluation alone, [time] does not matter.
  void (*complete)(RunConfig& config, const FindValue& find, bool with_steps) = nullptr;
};

/// All kinds; the first has no table.
const std::vector<KindEntry>& kind_entries();
const KindEntry& kind_of(const RunConfig& config);
/// The kind whose table a path lies in; null: none.
const KindEntry* kind_with_table(const std::string& path);
/// Whether a configuration of this kind has the key.
bool has_key(const KindEntry& kind, const std::string& path);

}  // namespace pergola
