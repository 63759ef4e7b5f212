#pragma once
// Hard pairs of a cluster: whether softening tears them apart; without softening, which there are at the start, whether
// the steps can follow them to the end, and what became of their binding energies.
#include <cstdint>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "config/config.hpp"
#include "particles/particles.hpp"
#include "sim/report_card.hpp"
#include "sim/system.hpp"

namespace pergola {

/// Two particles at the start, by their ids, and their Kepler orbit.
struct HardPair {
  std::uint64_t first = 0, second = 0;
  double binding_energy = 0, semi_major_axis = 0, eccentricity = 0, period = 0;
  double from_origin = 0;  // of one of them: the precision of places depends on it
};

/// Whether pairs of these particles are looked at when they start: not those of universes, of meshes, and of more than
/// 200,000 particles.
PERGOLA_API bool looks_at_pairs(const RunConfig& config, std::int64_t count);

/// A warning if softening is too long for the orbits of hard pairs; else empty.
PERGOLA_API std::string softened_pairs_remark(const RunConfig& config, const Particles& particles);

/// Whether pairs are watched until the end: of those that are looked at, where all pairs are summed without softening.
PERGOLA_API bool watches_pairs(const RunConfig& config, std::int64_t count);

/// The hardest pairs, ten at most: with a binding energy above the median kinetic energy of a particle (Heggie 1975),
/// and of few particles any that is bound.
PERGOLA_API std::vector<HardPair> find_hard_pairs(const RunConfig& config, const Particles& particles);

/// What to say of pairs at the start: the hardest one; and a warning that names the first that the steps cannot follow
/// until the end. Empty without pairs.
PERGOLA_API std::vector<Remark> hard_pair_remarks(const RunConfig& config, double start,
                                                  const std::vector<HardPair>& pairs);
PERGOLA_API bool is_pair_remark(const Remark& remark);

/// The largest change of a pair's binding energy over that energy, as far as it can be an error: stars exchange energy
/// with pairs, but then the total, which has changed by `energy_change`, stays. Pairs whose particles are gone are left
/// out.
PERGOLA_API Check pair_energy_check(const RunConfig& config, const std::vector<HardPair>& pairs, const Particles& end,
                                    double energy_change);

}  // namespace pergola
