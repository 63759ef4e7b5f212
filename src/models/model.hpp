#pragma once
// Models by name: what there is, which options they take, and what is known of them.
//
// A model is an entry (model_entry.hpp) in the registry of model.cpp. These functions check the options, fill in the
// defaults and ask the entry. An unknown name or option is an Error(input) with the nearest valid one.
// What always holds: the same options give the same bits on any number of threads and ranks.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "base/key.hpp"
#include "base/range.hpp"
#include "base/units.hpp"
#include "base/variant.hpp"
#include "gravity/external.hpp"
#include "particles/particles.hpp"
#include "physics/cosmology.hpp"
#include "physics/power_spectrum.hpp"

namespace pergola {

/// What is expected of a run of a model; checked at its end and put into the report card.
struct Expectation {
  std::string name;  // one of expectation_names() in config/config.hpp
  double expected = 0;
  double tolerance = 0;
};

/// A model's options by name.
using ModelValue = Variant<bool, double, std::string>;
struct ModelOptions {
  std::int64_t n = 0;  // 0: the model's own number
  std::uint64_t seed = 1;
  double gravitational_constant = 1;
  UnitSystem units = nbody_units();          // of the options and the particles; nbody: none are known
  std::vector<ExternalPotential> external;   // that the particles will move in, for models that are set up in it
  std::map<std::string, ModelValue> values;  // what differs from the defaults
};

/// Another option, and the value of it.
struct OptionValue {
  std::string option;
  ModelValue value;
};

struct ModelOption {
  std::string name;
  ModelValue default_value;
  std::string help;                        // one line with unit and meaning
  Range range;                             // of a number
  std::vector<std::string> choices;        // of a word
  bool or_file = false;                    // any other word is the name of a file
  Dimension dimension{};                   // of a number; options of one name have one dimension in all models
  std::optional<OptionValue> only_with{};  // beside any other value of that option this one has no effect
};

struct ModelInfo {
  std::string name;
  std::string summary;
  std::int64_t default_n = 0;
  bool any_n = false;  // false: always default_n particles
  std::vector<ModelOption> options;
  bool uses_external = false;   // set up in the external potentials of ModelOptions
  std::int64_t min_n = 1;       // if any_n
  std::string units = "nbody";  // of the default values, for `pergola ic`
  bool own_units = false;       // made in these units only; its options that [cosmology] has are that universe's
  bool cube = false;            // n is the cube of a whole number
};

PERGOLA_API const std::vector<ModelInfo>& models();
PERGOLA_API std::vector<std::string> model_names();

/// Throws Error(input) with the nearest valid name.
PERGOLA_API const ModelInfo& find_model(const std::string& name);

/// Why the model cannot take this, for example "expected a number > 0, found -1"; empty when it can.
PERGOLA_API std::string option_problem(const ModelInfo& model, const std::string& option, const ModelValue& value);
PERGOLA_API std::string count_problem(const ModelInfo& model, std::int64_t n);

/// What an option is in these units if it is not given. Defaults of a model with physical units are converted; without
/// units they are the same numbers.
PERGOLA_API ModelValue option_default(const ModelInfo& model, const ModelOption& option, const UnitSystem& units);

/// The first option that was changed and has no effect beside another one: its name, and why; none: all have one.
PERGOLA_API std::optional<Conflict> options_conflict(const ModelInfo& model, const ModelOptions& options);

/// The number of particles with 0 resolved to the model's own.
PERGOLA_API std::int64_t model_count(const ModelInfo& model, std::int64_t n);

/// Makes particles: the same numbers on any device and any number of threads or ranks. Throws Error(input) that names
/// the option, what was expected and found, and the nearest valid name, and Error(device) before it takes any memory
/// when the particles cannot fit into it. threads = 0 means all cores.
PERGOLA_API Particles make_model(const std::string& name, const ModelOptions& options, int threads = 1);

/// The side of the periodic box from the origin that the model fills; 0 for a model in open space.
PERGOLA_API double model_box_side(const std::string& name, const ModelOptions& options);

/// Softening lengths that suit the model's particles, by species; zeros if the model has no advice.
PERGOLA_API std::array<double, species_count> model_softening(const std::string& name, const ModelOptions& options);

/// A model in an expanding universe: which, and its scale factor at the start, which is the time of the particles.
struct CosmologicalStart {
  physics::Cosmology universe;
  double scale_factor = 1;
};
PERGOLA_API std::optional<CosmologicalStart> model_cosmology(const std::string& name, const ModelOptions& options);

/// What the user should know of how the model reads these options; empty: nothing.
PERGOLA_API std::string model_remark(const std::string& name, const ModelOptions& options);

/// A warning if the densities of a universe leave a part to curvature; else empty. Most often one of them was changed
/// and the other forgotten.
PERGOLA_API std::string curvature_remark(const physics::Cosmology& universe);

/// A warning if the model's mass is its default, a number without thought for the units: fewer than a hundredth of a
/// solar mass for each particle. Else empty.
PERGOLA_API std::string default_mass_remark(const std::string& name, const ModelOptions& options);

/// What a run of the model should show at its end, whatever the end time is. Nothing if external potentials act.
PERGOLA_API std::vector<Expectation> model_expectations(const std::string& name, const ModelOptions& options);

/// How many particles a lattice has per side that those of the model stand near at the start; 0: there is none.
PERGOLA_API int model_lattice(const std::string& name, const ModelOptions& options);

/// The Gaussian waves that a model's particles are displaced with: their power today, linear, and whether each has
/// exactly that, or is drawn about it.
struct ModelWaves {
  physics::LinearPower power;
  bool fixed = false;
  int order = 1;        // of the perturbation theory that displaces
  std::string from{};   // where the power comes from, for the user: "Eisenstein & Hu 1998", or what a table is
  std::string table{};  // that file; empty: none
};
PERGOLA_API std::optional<ModelWaves> model_waves(const std::string& name, const ModelOptions& options);

}  // namespace pergola
