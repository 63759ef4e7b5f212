#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "base/vec.hpp"

namespace pergola {

/// Where a system is taken to be, and how it moves there.
struct SystemCenter {
  Vec3<double> place, velocity;
  std::string how;  // "density", …
};

/// The centre that the options ask for: the density centre (analysis/radii.hpp), the particle with the lowest
/// potential, the centre of mass, or a place that was given. Its velocity is the mean one of the mass within the
/// half-mass radius. Throws Error(input) for a centre that does not exist: of mass or density in a periodic box.
SystemCenter find_center(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device);
/// As tables name it: "given" for a place that was.
std::string name_of_center(const AnalysisOptions& options);

/// Particles as seen from a centre, nearest first (analysis/distance.hpp).
struct SeenFromCenter {
  std::vector<std::size_t> order;  // places in the particle arrays
  std::vector<double> radius;      // of order[k]
};
SeenFromCenter seen_from(const AnalysisSnapshot& snapshot, const Vec3<double>& center);
/// The centre, and what is seen from it.
SystemCenter find_center(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device,
                         SeenFromCenter& seen);

/// The mean velocity within the half-mass radius. Of several ranks each has the next particles by distance from the
/// centre, and all call it; `count` and `mass` are those of all particles. Without mass each counts like any other.
Vec3<double> mean_velocity(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen, std::int64_t count,
                           double mass, Communicator& ranks);

/// Where the centre is. Of several ranks each has the next particles in the order of the input, and all call it; where
/// the lowest potential is asked for and the file has none, rank 0 has all particles for a while if they are few enough
/// for pairs, or on GPUs. Throws Error(input) as find_center() does.
Vec3<double> place_of_center(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device,
                             const std::shared_ptr<Communicator>& ranks);

/// Where particle i is as seen from the centre (in a periodic box its nearest image), and its velocity there.
Vec3<double> place_from(const AnalysisSnapshot& snapshot, std::size_t i, const Vec3<double>& center);
Vec3<double> velocity_from(const AnalysisSnapshot& snapshot, std::size_t i, const Vec3<double>& velocity);

/// The potentials of the file, or else those of the particles in each other's field: the sum over all pairs of up to
/// `most_for_pairs` particles, the tree of more; in open space, with `softening`. Per unit mass.
inline constexpr std::int64_t usual_most_for_pairs = 20000;
std::vector<double> potentials_in(const AnalysisSnapshot& snapshot, double softening, const Device& device,
                                  std::int64_t most_for_pairs = usual_most_for_pairs);

/// The accelerations of the particles of `some`, a part of `all` in its order, in the field of all: the sum over all
/// pairs, or the tree's, as above (usual_most_for_pairs).
std::vector<Vec3<double>> pull_in(const AnalysisSnapshot& all, const AnalysisSnapshot& some, double softening,
                                  const Device& device);

/// "0,0,0.5" as a place; none of any other text.
std::optional<Vec3<double>> parse_place(const std::string& text);
/// "disc,bulge" as a list.
std::vector<std::string> split_names(const std::string& text);

/// The snapshot without its particles, which it keeps.
AnalysisSnapshot frame_of(AnalysisSnapshot& snapshot);

/// The particles of the species that the options name. Throws Error(input) where there are none; where each rank has a
/// part of them, on all ranks, which call it together.
AnalysisSnapshot chosen_species(AnalysisSnapshot snapshot, const AnalysisOptions& options,
                                const std::shared_ptr<Communicator>& ranks = serial_communicator());

}  // namespace pergola
