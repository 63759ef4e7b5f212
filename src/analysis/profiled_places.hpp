#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "analysis/profile.hpp"

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

/// What the options ask for: one group, the largest groups, or the centre; in a periodic box without any of these the
/// largest group. Throws Error(input) for a group that is not there. Where each rank has a part of the particles all
/// call it together and get the same: a group is profiled by one rank, the whole system by all; about the particle with
/// the lowest potential, or about a place in a periodic box, by rank 0, which has all of it for a while.
std::vector<PlaceProfile> profiles_in(AnalysisSnapshot snapshot, const AnalysisOptions& options, std::int64_t bins,
                                      const Device& device, const std::shared_ptr<Communicator>& ranks);

/// --group, --groups and those of the groups themselves.
std::vector<Key<AnalysisOptions>> profiled_group_keys();

}  // namespace pergola
