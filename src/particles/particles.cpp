#include "particles/particles.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola {

std::string_view precision_name(Precision precision) {
  switch (precision) {
    case Precision::single:
      return "single";
    case Precision::mixed:
      return "mixed";
    case Precision::full:
      return "double";
  }
  return "";
}

void Particles::resize(std::int64_t count) {
  const auto n = static_cast<std::size_t>(count), old = id.size();
  id.resize(n);
  for (std::size_t i = old; i < n; ++i) id[i] = i + 1;
  species.resize(n, species_halo);
  for (auto* array : {&mass, &x, &y, &z, &vx, &vy, &vz}) array->resize(n, 0.0);
  if (!potential.empty()) potential.resize(n, 0.0);
}

void Particles::append(const Particles& other) {
  const bool keep_potential = (size() == 0 || !potential.empty()) && !other.potential.empty();
  const auto join = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  join(id, other.id);
  join(species, other.species);
  join(mass, other.mass);
  join(x, other.x);
  join(y, other.y);
  join(z, other.z);
  join(vx, other.vx);
  join(vy, other.vy);
  join(vz, other.vz);
  if (keep_potential)
    join(potential, other.potential);
  else
    potential.clear();
}

void Particles::validate(std::string_view where) const {
  const std::size_t n = id.size();
  const std::pair<const char*, const std::vector<double>*> arrays[] = {
      {"mass", &mass}, {"x", &x}, {"y", &y}, {"z", &z}, {"vx", &vx}, {"vy", &vy}, {"vz", &vz}};
  for (const auto& [name, values] : arrays) {
    if (values->size() != n)
      throw Error(ErrorKind::input,
                  fmt::format("{}: {} has {} entries, expected {} (one per id)", where, name, values->size(), n));
    for (std::size_t i = 0; i < n; ++i)
      if (!std::isfinite((*values)[i]))
        throw Error(ErrorKind::input, fmt::format("{}: particle id {}: {} is {}, expected a finite number", where,
                                                  id[i], name, to_text((*values)[i])));
  }
  if (species.size() != n)
    throw Error(ErrorKind::input,
                fmt::format("{}: species has {} entries, expected {} (one per id)", where, species.size(), n));
  for (std::size_t i = 0; i < n; ++i) {
    if (mass[i] < 0)
      throw Error(ErrorKind::input,
                  fmt::format("{}: particle id {}: mass is {}, expected 0 or more", where, id[i], to_text(mass[i])));
    if (species[i] >= species_count)
      throw Error(ErrorKind::input, fmt::format("{}: particle id {}: species is {}, expected 0 to {}", where, id[i],
                                                species[i], species_count - 1));
  }
  auto sorted = id;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw Error(ErrorKind::input,
                fmt::format("{}: particle id {} occurs twice, expected every id once", where, *twice));
}

}  // namespace pergola
