#include "config/quantities.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "config/config.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola {

namespace {

bool begins_with_number(const std::string& text) {
  const auto digit = text.find_first_not_of("+-.");
  return digit < text.size() && digit <= 2 && text[digit] >= '0' && text[digit] <= '9';
}

/// What is wrong with a unit of the right dimension; empty: nothing.
std::string problem_of(const Quantity& quantity, const QuantityUnits& units) {
  const Dimension& of = quantity.unit.dimension;
  if (!units.system) return fmt::format("a plain number, as no units are stated ({})", units.unstated);
  if (units.universe && of == dimension::time) return "a plain number: the time of a universe is its scale factor";
  // Lengths, masses and times are over h, velocities are not.
  if (units.universe && quantity.unit.per_h != of.length + of.mass + of.time)
    return "a number over h, which a universe counts in (\"10 kpc/h\", \"1e10 Msun/h\")";
  if (!units.universe && quantity.unit.per_h != 0) return "a unit without h, which is that of a universe";
  return "";
}

}  // namespace

QuantityUnits quantity_units(const std::string& file, const SnapshotHeader& header) {
  QuantityUnits units{
      .system = std::nullopt, .universe = is_cosmological(header), .unstated = fmt::format("{} has none", file)};
  if (states_units(header.units))
    units.system = custom_units(header.units->length_cm, header.units->mass_g, header.units->velocity_cm_per_s);
  return units;
}

std::optional<double> plain_number(const std::string& text, const Dimension& dimension, const QuantityUnits& units,
                                   const std::string& name) {
  if (dimension == dimension::none || !begins_with_number(text)) return std::nullopt;
  const auto quantity = parse_quantity(text);
  const bool fits = quantity && quantity->unit.dimension == dimension;
  if (fits && !units.unreadable.empty()) throw Error(ErrorKind::input, units.unreadable);
  const std::string expected =
      fits ? problem_of(*quantity, units) : "a number, or one with a unit: " + quantity_help(dimension);
  if (!expected.empty())
    throw Error(ErrorKind::input, fmt::format("{}: expected {}, found \"{}\"", name, expected, text));
  return number_in(*quantity, *units.system);
}

}  // namespace pergola
