#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "base/vec.hpp"

// Centres of systems, and what analyses of single systems share: potentials and accelerations in a snapshot, the choice
// of species, particles sorted by distance from a centre.
// Functions that take `ranks` are collective. Each rank passes its part of the particles, and all ranks get the result
// that one process with all particles would get, to the bit. Sums that depend on order go from rank to rank in the
// order of the input or of the distance.
namespace pergola {

/// Position and velocity of a system's centre.
struct SystemCenter {
  Vec3<double> place, velocity;
  std::string how;  // "density", …
};

/// The name of the centre in tables; "given" for a given position.
std::string name_of_center(const AnalysisOptions& options);

/// Particles sorted by distance from a centre, nearest first, then by id.
struct SeenFromCenter {
  std::vector<std::size_t> order;  // places in the particle arrays
  std::vector<double> radius;      // of order[k]
};
SeenFromCenter seen_from(const AnalysisSnapshot& snapshot, const Vec3<double>& center);

/// The centre that the options ask for: the density centre (analysis/radii.hpp), the particle with the lowest
/// potential, the centre of mass, or a given position. Its velocity is the mean over the mass within the half-mass
/// radius. Throws Error(input) for a centre that does not exist, such as a centre of mass or density in a periodic box.
/// `sorted`, if given, receives the particles sorted by distance from the centre.
SystemCenter find_center(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device,
                         SeenFromCenter* sorted = nullptr);

/// The mean velocity within the half-mass radius. Each rank has the next range of particles by distance from the
/// centre. `count` and `mass` belong to all particles. If the mass is 0, all particles have equal weight. Collective.
Vec3<double> mean_velocity(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen, std::int64_t count,
                           double mass, Communicator& ranks);

/// The position of the centre. Each rank has the next particles in the order of the input. If the lowest potential is
/// asked for and the file has no potentials, rank 0 gathers all particles if they are few enough for pairs, or on GPUs.
/// Throws Error(input) as find_center() does. Collective.
Vec3<double> place_of_center(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device,
                             const std::shared_ptr<Communicator>& ranks);

/// The position of particle i relative to the centre (in a periodic box its nearest image), and its relative velocity.
Vec3<double> place_from(const AnalysisSnapshot& snapshot, std::size_t i, const Vec3<double>& center);
Vec3<double> velocity_from(const AnalysisSnapshot& snapshot, std::size_t i, const Vec3<double>& velocity);

/// Potentials per unit mass: those of the file, else those of the particles in each other's field. Up to
/// `most_for_pairs` particles are summed over pairs, more by the tree; in open space, with `softening`.
inline constexpr std::int64_t usual_most_for_pairs = 20000;
std::vector<double> potentials_in(const AnalysisSnapshot& snapshot, double softening, const Device& device,
                                  std::int64_t most_for_pairs = usual_most_for_pairs);

/// Accelerations of the particles of `some` in the field of `all`. `some` is a part of `all`, in the same order. Pairs
/// or tree as above (usual_most_for_pairs).
std::vector<Vec3<double>> pull_in(const AnalysisSnapshot& all, const AnalysisSnapshot& some, double softening,
                                  const Device& device);

/// Parses "0,0,0.5"; none for any other text.
std::optional<Vec3<double>> parse_place(const std::string& text);
/// Splits "disc,bulge" at its commas.
std::vector<std::string> split_names(const std::string& text);

/// A copy of the snapshot without its particles. The snapshot keeps them.
AnalysisSnapshot frame_of(AnalysisSnapshot& snapshot);

/// The particles of the species that the options name. Throws Error(input) on all ranks if there are none. Collective.
AnalysisSnapshot chosen_species(AnalysisSnapshot snapshot, const AnalysisOptions& options,
                                const std::shared_ptr<Communicator>& ranks = serial_communicator());

}  // namespace pergola
