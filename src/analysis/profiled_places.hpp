#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "analysis/groups.hpp"
#include "analysis/profile.hpp"
#include "comm/communicator.hpp"

namespace pergola {

/// Something that has a profile: the whole system about its centre, or a group.
struct ProfiledPlace {
  SystemCenter center;
  double high = 0;         // where shells end unless it is asked for; 0: found from what is seen
  std::int64_t group = 0;  // as `groups` numbers them; 0: none
  double r200c = 0;        // not a number where it is not known
  double m200c = 0;
};

/// The shells of one species about a place.
struct SpeciesShells {
  std::int64_t species = 0;  // species_count: of all, where there are several
  std::vector<ProfileShell> shells;
};

struct PlaceProfile {
  ProfiledPlace place;
  std::vector<SpeciesShells> parts;
};

/// The particles of one species, in the order of `all`.
SeenFromCenter only_species(const Particles& particles, const SeenFromCenter& all, std::uint8_t species);

/// How a halo about a place in a periodic box moves, and its sphere of 200 critical densities, from what is seen of
/// all particles: half of the mass of the box says nothing of it, the sphere of 200 mean densities does.
void measure_halo(const AnalysisSnapshot& all, const SeenFromCenter& seen, const HaloDensities& limits,
                  ProfiledPlace& place);
/// That of a hundred of them: what one looks for at first to see far enough.
double mass_to_look_for(const HaloDensities& limits, const Box& box, std::int64_t count);

/// What the options ask for: one group, the largest groups, or the centre; in a periodic box without any of these the
/// largest group. Throws Error(input) for a group that is not there. Where each rank has a part of the particles all
/// call it together and get the same: a group is profiled by one rank, the whole system by all.
std::vector<PlaceProfile> profiles_in(AnalysisSnapshot snapshot, const AnalysisOptions& options, std::int64_t bins,
                                      const Device& device, const std::shared_ptr<Communicator>& ranks);

/// --group, --groups and those of the groups themselves.
std::vector<Key<AnalysisOptions>> profiled_group_keys();

/// The profile of a system about its centre by all ranks, each of which has the next particles in the order of the
/// input. They are sorted by distance over the ranks, the nearest to rank 0, and sums go from rank to rank: the bits
/// are those of one that has all. All ranks call it and get the same.
PlaceProfile profile_of_spread_system(const std::shared_ptr<Communicator>& ranks, AnalysisSnapshot snapshot,
                                      const AnalysisOptions& options, std::int64_t bins, const Device& device);

}  // namespace pergola
