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

// Where profiles are taken: about the centre of a system, or about groups of friends. Distributed particles: a group is
// profiled by one rank, a whole system by all ranks. For a whole system particles are sorted by distance over the
// ranks, nearest on rank 0, and sums go from rank to rank. So the bits are those of one process.
// The first guess for the size of a halo is the mass of a hundred particles; the search grows from there until the
// mean density is below the limit (DensitySearch in neighbourhood.hpp).
namespace pergola {

/// A whole system about its centre, or a group.
struct ProfiledPlace {
  SystemCenter center;
  double high = 0;         // outer radius of the shells; 0: from the particles
  std::int64_t group = 0;  // as `groups` numbers them; 0: none
  double r200c = 0;        // may be not_known
  double m200c = 0;
};

/// The shells of one species.
struct SpeciesShells {
  std::int64_t species = 0;  // species_count: all species together
  std::vector<ProfileShell> shells;
};

struct PlaceProfile {
  ProfiledPlace place;
  std::vector<SpeciesShells> parts;
};

/// The particles of one species, in the order of `all`.
SeenFromCenter only_species(const Particles& particles, const SeenFromCenter& all, std::uint8_t species);

/// Velocity of a halo in a periodic box, and its sphere of 200 critical densities. `seen`: all particles around it,
/// nearest first. The velocity is the mean over the sphere of 200 mean densities, because half the mass of a box means
/// nothing there.
void measure_halo(const AnalysisSnapshot& all, const SeenFromCenter& seen, const HaloDensities& limits,
                  ProfiledPlace& place);
/// The mass of a hundred particles: the first guess for the size of a halo.
double mass_to_look_for(const HaloDensities& limits, const Box& box, std::int64_t count);

/// The profiles that the options ask for: one group, the largest groups, or the centre. In a periodic box the default
/// is the largest group. Throws Error(input) for a group that does not exist. Collective; all ranks get the same.
std::vector<PlaceProfile> profiles_in(AnalysisSnapshot snapshot, const AnalysisOptions& options, std::int64_t bins,
                                      const Device& device, const std::shared_ptr<Communicator>& ranks);

/// The keys group and groups, and those of the search for groups.
std::vector<Key<AnalysisOptions>> profiled_group_keys();

/// The profile of a distributed system about its centre. Each rank has the next particles in the order of the input.
/// Collective; all ranks get the same.
PlaceProfile profile_of_distributed_system(const std::shared_ptr<Communicator>& ranks, AnalysisSnapshot snapshot,
                                           const AnalysisOptions& options, std::int64_t bins, const Device& device);

}  // namespace pergola
