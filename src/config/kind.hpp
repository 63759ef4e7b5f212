#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/value.hpp"

namespace pergola {

/// A kind of system describes what a configuration has for it. Whoever reads, writes, compares or records a
/// configuration asks the entry of its kind; sim/system_entry.hpp has the rest, how such a system is made and shown.
struct KindEntry {
  std::string name;
  std::string table;  // a configuration with this table is of this kind; empty: the kind of one without any of them
  /// Keys that only kinds which say so have; all others belong to every kind.
  bool (*owns)(const std::string& path) = nullptr;
  /// Why a key of other kinds cannot stand in a configuration of this one; null: their table is missing.
  std::string (*refusal)(const std::string& path) = nullptr;
  /// What units.system may say.
  std::vector<std::string> (*unit_systems)() = nullptr;
  /// With "auto" resolved.
  Precision (*precision)(const RunConfig& config) = nullptr;
  /// Of the random numbers that the particles are drawn with; none: they are not drawn.
  std::optional<std::uint64_t> (*seed)(const RunConfig& config) = nullptr;
  /// When all keys are read: defaults that depend on other keys, and what is each right by itself and cannot be had
  /// together. `with_steps` false: a force evaluation alone, what [time] asks for does not matter.
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
