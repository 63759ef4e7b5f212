#pragma once
// The configuration of a run, and how it is read, checked and written.
//
// RunConfig is plain data with defaults. read_config() and parse_config() fill it from TOML; config_text() writes TOML
// that reads back to the same bits. The keys are in config/keys.hpp; keys of solvers, integrators, models, outputs and
// analyses are in the entries of these parts.
// Errors name file, line, key, what was expected, what was found, and the nearest valid name.
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "base/key.hpp"
#include "base/range.hpp"
#include "base/units.hpp"
#include "config/plasma_config.hpp"
#include "gravity/solver.hpp"
#include "io/snapshot.hpp"
#include "models/merge.hpp"
#include "models/model.hpp"
#include "physics/cosmology.hpp"
#include "time/integrator.hpp"

namespace pergola {

/// The configuration of a run: one struct per TOML table, every member with its default.
struct PERGOLA_API RunConfig {
  int version = 1;
  std::string source = "(defaults)";  // file name, for messages
  std::string kind = "gravity";       // of system: a name in kind_entries() (config/kind.hpp), found from the tables

  /// [run]: end, device and precision.
  struct Run {
    double end_time = 1.0;  // with [cosmology] the scale factor
    std::string device = "auto";
    std::string precision = "auto";  // single | mixed | double; auto: the solver's default
    int threads = 0;
  } run;

  /// Where particles come from.
  struct ParticlesPart {
    std::string model;  // at most one of model and file
    std::string file;
    ModelOptions options;  // n, seed and the model's own
  };
  struct ParticlesTable : ParticlesPart {
    std::vector<ParticlesPart> parts;  // in place of model and file: two systems on an orbit about each other
    MergeOptions orbit;                // without the constant
    /// Where all particles come from: the parts, or the table itself.
    std::span<ParticlesPart> all() {
      return parts.empty() ? std::span{static_cast<ParticlesPart*>(this), 1} : std::span{parts};
    }
    std::span<const ParticlesPart> all() const {
      return parts.empty() ? std::span{static_cast<const ParticlesPart*>(this), 1} : std::span{parts};
    }
  } particles;

  /// Without the constant and the precision, which solver_options() puts in.
  SolverOptions gravity{.softening = Softening::same(0.00390625)};  // 1/256

  PlasmaConfig plasma;

  TimeOptions time;              // without the background, which time_options() puts in
  bool chosen_step_max = false;  // time.step_max was not given: choose_step_max() chose it

  std::optional<physics::Cosmology> cosmology;  // [cosmology]: the run is one in an expanding universe
  bool inherited_cosmology = false;             // it is that of particles.file

  /// [output]: intervals are in the time of the run, or in ln a with [cosmology].
  struct Output {
    double snapshots_every = 0.25;      // 0: first and last only; in ln a, where there is [cosmology]
    double energy_every = 0.0625;       // the same
    std::vector<double> redshifts;      // snapshots at these, with [cosmology]
    std::vector<std::string> analyses;  // of `pergola analyze`, done with every snapshot
    KeyValues analysis_options;         // of these, "power.cells": what [output.power] gives
    double checkpoint_every_minutes = 10;
    std::int64_t checkpoints_kept = 2;
    std::int64_t force_audit_every = 0;  // steps; 0: never
    std::int64_t force_audit_sample = 1000;
    std::int64_t structure_most = 256 * 256 * 256;  // particles of a universe that is compared with theory at its end
    std::string power_reference;                    // and with this table of its power spectrum; empty: none
    std::int64_t spectrum_every = 0;                // steps; plasma only
    std::int64_t particles_most = 0;                // in a snapshot, of a plasma's of each species; 0: all
    std::int64_t files = 1;                         // of a snapshot
    std::map<std::string, double> more;             // of keys that registered outputs bring (register_number_key())
  } output;

  /// [units]: a named system, or custom units.
  struct Units {
    std::string system = "auto";  // or one of unit_systems(), or custom; plasma | si for a plasma
    // Of custom units, in cgs; 0: not given. Of the last two one.
    double length_cm = 0, mass_g = 0, velocity_cm_per_s = 0, time_s = 0;
  } units;

  std::vector<Expectation> expect;

  /// For users of the library. Code of the library asks the entry of the kind.
  bool is_plasma() const { return kind == "plasma"; }
  /// Precision with "auto" resolved.
  Precision precision() const;
  /// Of the random numbers that particles are drawn with; none where they are read from a file or come from parts.
  std::optional<std::uint64_t> seed() const;
  UnitSystem unit_system() const;
  double gravitational_constant() const { return unit_system().gravitational_constant; }
  /// The universe in the units of the run, if there is one: H₀ is 100 km/s/Mpc in lengths over h, 1 in N-body units.
  std::optional<physics::Background> background() const;
  TimeOptions time_options() const;
  /// From one time of the run to another: what `..._every` divides.
  double length_between(double from, double to) const;
  /// Without the solver's box where that is found from the particles; see sim/open_particles.hpp.
  SolverOptions solver_options() const;
  /// The model's own expectations, replaced by those of [expect] with the same name, then the rest of [expect]; and
  /// that the energy stays as it is, where neither says how well.
  std::vector<Expectation> expectations() const;
  /// Throws Error(input) when a run under gravity has no particles.model, particles.file or particles.parts.
  void require_particles() const;
  /// Checks a configuration as a file is checked: throws Error(input) as parse_config of its config_text would.
  void check() const;
};

/// What [expect] may name, measured at the end of a run: virial_ratio (K/|W|), half_mass_radius (about the centre of
/// mass), energy; and, expected to be zero, energy_error (relative), momentum and angular_momentum (size of the change
/// since the start), return_distance (rms distance of the particles from where they started).
PERGOLA_API const std::vector<std::string>& expectation_names();

/// Reads TOML. `sets` are "key=value" from --set, the value in TOML, a bare word taken as a string. Unknown keys, wrong
/// types and values out of range throw Error(input) with file, line, key, what was expected, what was found, and the
/// nearest valid name. The path may be a pipe. A relative particles.file, also of a part, or table of a model is taken
/// from the configuration's folder (from the working directory for a pipe and for --set) and is absolute in the result.
PERGOLA_API RunConfig read_config(const std::filesystem::path& path, const std::vector<std::string>& sets = {});
/// The same from text; particles.file stays as it is written.
PERGOLA_API RunConfig parse_config(const std::string& text, const std::string& source,
                                   const std::vector<std::string>& sets = {});
/// The same for a force evaluation alone: [time] does not matter.
PERGOLA_API RunConfig parse_force_config(const std::vector<std::string>& sets);

/// The units of a file of particles: taken over where units.system is "auto"; where it names others, Error(input) with
/// both. A file that states none, or ones as N-body units do, says nothing.
PERGOLA_API void take_file_units(RunConfig& config, const std::string& file, const std::optional<FileUnits>& stated);
/// Whether the header is that of a box of an expanding universe: Time is the scale factor of Redshift, Omega0 > 0.
PERGOLA_API bool is_cosmological(const SnapshotHeader& header);
/// The same with the units of particles.file and those of the parts, where there are any that can be read. read_config
/// has done it.
PERGOLA_API RunConfig with_file_units(RunConfig config);

/// The longest step where none is given. It is 1/8 in N-body units. In other units, in which 1/8 may be anything, it is
/// the power of two below an eighth of the run's end: 2^40 levels below it suffice for any run that can be afforded.
PERGOLA_API void choose_step_max(RunConfig& config);

/// The whole configuration with every default, as TOML that reads back to the same configuration.
PERGOLA_API std::string config_text(const RunConfig& config);

/// The configuration, after RunConfig::check().
inline const RunConfig& checked(const RunConfig& config) {
  config.check();
  return config;
}

/// Throws Error(input) where an interval means more than 10^9 outputs between `start` and the end of the run.
void check_output_counts(const RunConfig& config, double start);

/// A number of [output] that a registered output adds (outputs/output.hpp). Its value is RunConfig::output.more[path].
struct NumberKey {
  std::string path;  // "output.NAME"
  std::string help;
  Range range;
  double default_value = 0;
  Dimension dimension{};
};

/// Adds a key, before any configuration is read.
PERGOLA_API void register_number_key(NumberKey key);

}  // namespace pergola
