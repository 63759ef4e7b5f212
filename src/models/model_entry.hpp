#pragma once
// What a model says of itself, and what it gets to know.
//
// A new model is a function that returns a `ModelEntry`. It needs `info` and either `make` (all particles at once) or
// `drawn` (one by one, then pieces and ranks come for free). The other members are null unless the model has an answer.
// `ModelInput` gives it checked options with the defaults filled in, the seed and the number of threads.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "models/model.hpp"
#include "models/sampling.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// Checked options of one model, defaults filled in.
class ModelInput {
 public:
  ModelInput(const ModelInfo& model, const ModelOptions& options, int threads);
  const std::string& model() const { return model_.name; }
  std::int64_t n() const { return n_; }
  std::uint64_t seed() const { return options_.seed; }
  int threads() const { return threads_; }
  double gravitational_constant() const { return options_.gravitational_constant; }
  const UnitSystem& units() const { return options_.units; }
  const std::vector<ExternalPotential>& external() const { return options_.external; }
  double number(const std::string& option) const;
  bool flag(const std::string& option) const { return std::get<bool>(value(option)); }
  const std::string& word(const std::string& option) const { return std::get<std::string>(value(option)); }

 private:
  const ModelValue& value(const std::string& option) const;
  const ModelInfo& model_;
  const ModelOptions& options_;
  std::int64_t n_;
  int threads_;
};

/// One line of the registry (models/model.cpp).
struct ModelEntry {
  ModelInfo info;
  Particles (*make)(const ModelInput& input) = nullptr;                               // null: `drawn` says how
  std::vector<Expectation> (*expectations)(const ModelInput& input) = nullptr;        // null: none
  double (*box_side)(const ModelInput& input) = nullptr;                              // null: open space
  const char* side_option = nullptr;                                                  // that is box_side; null: none
  std::array<double, species_count> (*softening)(const ModelInput& input) = nullptr;  // null: no advice
  /// If particles are drawn one by one: how. Null, or nothing for these options: only make() can make them.
  std::optional<DrawnModel> (*drawn)(const ModelInput& input) = nullptr;
  std::optional<CosmologicalStart> (*cosmology)(const ModelInput& input) = nullptr;  // null: space does not expand
  std::string (*remark)(const ModelInput& input) = nullptr;                          // null: nothing to say
  std::optional<ModelWaves> (*waves)(const ModelInput& input) = nullptr;             // null: none are drawn
  /// On a device that can make them, for these options; null, or null for these: only make() knows.
  std::unique_ptr<DeviceSource> (*on_device)(const ModelInput& input, const Device& device) = nullptr;
  /// If ranks can make it together: a rank's share (comm/shares.hpp), while make() gives all, and the mass of
  /// all. Null: only make() knows.
  Particles (*share)(const ModelInput& input, const std::shared_ptr<Communicator>& ranks) = nullptr;
  double (*total_mass)(const ModelInput& input) = nullptr;
  int (*lattice)(const ModelInput& input) = nullptr;  // null: particles stand near no lattice
};

/// The energy −G M²/(4 r_v) of a sphere in equilibrium with the options `mass` and `virial_radius`, and what a run of
/// it should show: that energy and a virial ratio of 1/2, within the noise of its number of stars.
double equilibrium_energy(const ModelInput& input);
std::vector<Expectation> equilibrium_expectations(const ModelInput& input);

// In few_bodies.cpp, spheres.cpp, cluster.cpp, galaxy.cpp (galaxy, m81), exponential_disc.cpp and cosmology.cpp.
ModelEntry plummer_model();
ModelEntry hernquist_model();
ModelEntry nfw_model();
ModelEntry king_model();
ModelEntry cluster_model();
ModelEntry sphere_model();
ModelEntry cube_model();
ModelEntry cosmology_model();
ModelEntry exponential_disc_model();
ModelEntry galaxy_model();
ModelEntry m81_model();
ModelEntry kepler_model();
ModelEntry figure_eight_model();
ModelEntry pythagorean_model();
ModelEntry lagrange_triangle_model();
ModelEntry six_body_model();

}  // namespace pergola
