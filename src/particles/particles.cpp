#include "particles/particles.hpp"

#include "particles/particle_check.hpp"

namespace pergola {

std::string_view precision_name(Precision precision) {
  switch (precision) {
    case Precision::single:
      return "single";
    case Precision::mixed:
      return "mixed";
    case Precision::double_:
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
  for_each_array([](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); }, *this, other);
  if (!keep_potential) potential.clear();
}

void Particles::validate(std::string_view where) const {
  ParticleCheck check{std::string(where), size()};
  check.add(*this);
  check.finish();
}

}  // namespace pergola
