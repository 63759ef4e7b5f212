#include "app/analysis_files.hpp"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "app/run_json.hpp"
#include "app/unit_text.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "config/config.hpp"
#include "io/openpmd.hpp"
#include "io/snapshot.hpp"
#include "outputs/output.hpp"
#include "physics/cosmology.hpp"

namespace pergola::app {

namespace {

namespace fs = std::filesystem;

const char* kind_text(AnalysisNeeds needs) {
  return needs == AnalysisNeeds::plasma ? "an openPMD file of a plasma" : "a snapshot of particles";
}

AnalysisNeeds kind_of(const fs::path& file) {
  return is_openpmd(file) ? AnalysisNeeds::plasma : AnalysisNeeds::particles;
}

/// The snapshots of a run by number. Those of the other kind are none.
std::vector<fs::path> snapshots_in(const fs::path& directory, AnalysisNeeds needs) {
  std::vector<fs::path> files;
  for (const auto& [number, path] :
       numbered_files(directory, needs == AnalysisNeeds::plasma ? "plasma_#.h5" : "snap_#.hdf5"))
    files.push_back(path);
  return files;
}

std::vector<fs::path> files_of_run(const AnalysisEntry& entry, const fs::path& directory) {
  auto files = snapshots_in(directory, entry.needs);
  if (files.empty()) {
    const auto other = entry.needs == AnalysisNeeds::plasma ? AnalysisNeeds::particles : AnalysisNeeds::plasma;
    const bool is_other = !snapshots_in(directory, other).empty();
    throw Error(ErrorKind::input,
                fmt::format("{}: {} needs {}, found a directory {}", directory.string(), entry.name,
                            kind_text(entry.needs), is_other ? "of another kind of run" : "without any"));
  }
  if (entry.span == AnalysisSpan::last_moment) files.erase(files.begin(), files.end() - 1);
  return files;
}

/// What the run that wrote a file says of its universe, in run.json beside it; false where there is none.
bool take_waves_of_run(const fs::path& file, physics::Cosmology& universe) {
  const nlohmann::json record = run_json(file.parent_path());
  const nlohmann::json::json_pointer place("/configuration/cosmology");
  if (!record.contains(place)) return false;
  const auto& of_run = record[place];
  for (const auto& parameter : physics::cosmology_parameters)
    if (of_run.contains(parameter.name) && of_run[parameter.name].is_number())
      universe.*parameter.value = of_run[parameter.name].get<double>();
  return true;
}

/// Lengths of a cosmological file are in its unit over h.
std::optional<AnalysisUniverse> universe_of(const fs::path& file, const SnapshotHeader& header) {
  if (!has_universe(header) || !header.units || !(header.time > 0)) return std::nullopt;
  AnalysisUniverse found;
  found.knows_waves = take_waves_of_run(file, found.cosmology);
  found.cosmology.omega_matter = *header.omega0;
  found.cosmology.omega_lambda = header.omega_lambda.value_or(1 - *header.omega0);
  found.cosmology.omega_baryon = header.omega_baryon.value_or(found.cosmology.omega_baryon);
  found.cosmology.h = header.hubble_param.value_or(found.cosmology.h);
  found.scale_factor = header.time;
  found.length_mpc_h = header.units->length_cm / (kiloparsec_m * 1e5);
  found.hubble = physics::hubble_in_units_per_h(header.units->length_cm, header.units->velocity_cm_per_s);
  return found;
}

/// The velocities of a cosmological file, √a dx/dt, as peculiar ones.
void make_peculiar(Particles& particles, double a) {
  const double factor = std::sqrt(physics::peculiar_over_file_energy(a));
  for (auto* component : {&particles.vx, &particles.vy, &particles.vz})
    for (double& v : *component) v *= factor;
}

AnalysisSnapshot load(const std::string& file) {
  Snapshot from = read_snapshot(file);
  AnalysisSnapshot to;
  to.name = file;
  to.time = from.header.time;
  to.moment = time_text(from.header);
  const double side = from.header.box_size;
  if (side > 0) to.box = {{0, 0, 0}, {side, side, side}, Boundary::periodic};
  if (const auto& header = from.header; has_universe(header)) {
    physics::Background universe;
    universe.omega_matter = *header.omega0;
    universe.omega_lambda = header.omega_lambda.value_or(1 - *header.omega0);
    if (header.time > 0) to.matter_part = universe.matter_part(header.time);
  }
  to.universe = universe_of(file, from.header);
  if (to.universe) to.matter_part = to.universe->cosmology.background(1).matter_part(to.time);
  RunConfig config;
  take_file_units(config, file, from.header.units);
  to.gravitational_constant = config.unit_system().gravitational_constant;
  to.units = plain_units(from.header);
  to.particles = std::move(from.particles);
  if (is_cosmological(from.header)) {
    if (!to.units.length.empty()) to.units.length.insert(to.units.length.begin(), 'c');
    make_peculiar(to.particles, from.header.time);
  }
  return to;
}

/// Temperatures are in eV where the file is in SI or in units that nobody named, else in m_e and the unit of velocity.
AnalysisPlasma load_plasma(const std::string& file) {
  const OpenPmdSummary summary = inspect_openpmd(file);
  const bool own_units = summary.time_unit == PlasmaUnits{}.time_name();
  const double speed_m_per_s = summary.length_unit_si / summary.time_unit_si;
  AnalysisPlasma plasma;
  plasma.name = file;
  plasma.time = summary.time;
  plasma.moment = time_text(summary);
  plasma.time_unit = summary.time_unit;
  plasma.velocity_unit = summary.velocity_unit();
  plasma.temperature_unit = own_units ? fmt::format("m_e ({})^2", plasma.velocity_unit) : "eV";
  for (const auto& from : summary.species) {
    AnalysisSpecies species;
    species.name = from.name;
    species.mass = own_units ? from.mass_kg / electron_mass_kg
                             : from.mass_kg * speed_m_per_s * speed_m_per_s / elementary_charge_c;
    species.weight = read_openpmd_weighting(file, from.name);
    for (std::size_t axis = 0; axis < 3 && from.count > 0; ++axis)
      species.velocity[axis] = read_openpmd_coordinate(file, from.name, fmt::format("v{}", "xyz"[axis]));
    plasma.species.push_back(std::move(species));
  }
  return plasma;
}

AnalysisField load_potential(const std::string& file) {
  const OpenPmdSummary summary = inspect_openpmd(file);
  AnalysisField field;
  field.name = file;
  field.time = summary.time;
  field.moment = time_text(summary);
  field.time_unit = summary.time_unit, field.length_unit = summary.length_unit;
  field.dimensions = summary.dimensions;
  for (std::size_t axis = 0; axis < summary.cells.size(); ++axis)
    field.cells[axis] = static_cast<int>(summary.cells[axis]), field.spacing[axis] = summary.spacing[axis];
  for (const auto& mesh : summary.meshes)
    if (mesh.name == "phi") field.unit = mesh.unit;
  field.values = read_openpmd_mesh(file, "phi");
  std::size_t points = 1;
  for (const int cells : field.cells) points *= static_cast<std::size_t>(cells);
  if (field.values.size() != points)
    throw Error(ErrorKind::input, fmt::format("{}: phi has {} values, expected {} as the other fields have", file,
                                              field.values.size(), points));
  return field;
}

}  // namespace

AnalysisFiles analysis_files(const AnalysisEntry& entry, const std::vector<std::string>& given) {
  AnalysisFiles files;
  for (const auto& name : given) {
    std::error_code ignored;
    if (fs::is_directory(name, ignored)) {
      for (const auto& file : files_of_run(entry, name)) files.names.push_back(file.string());
      continue;
    }
    if (const auto kind = kind_of(name); kind != entry.needs)
      throw Error(ErrorKind::input,
                  fmt::format("{}: {} needs {}, found {}", name, entry.name, kind_text(entry.needs), kind_text(kind)));
    files.names.push_back(name);
  }
  require_same_units(files.names);
  files.snapshot = [names = files.names](std::size_t k) { return load(names[k]); };
  files.potential = [names = files.names](std::size_t k) { return load_potential(names[k]); };
  files.plasma = [names = files.names](std::size_t k) { return load_plasma(names[k]); };
  return files;
}

}  // namespace pergola::app
