#include "app/analysis_files.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "app/rank_snapshot.hpp"
#include "app/run_json.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "comm/agreement.hpp"
#include "io/openpmd.hpp"
#include "outputs/output.hpp"
#include "physics/cosmology.hpp"
#include "sim/analysis_snapshot.hpp"
#include "sim/unit_text.hpp"

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

/// What the run that wrote a file says of its universe, in run.json beside it; none where there is none.
std::optional<physics::Cosmology> universe_of_run(const fs::path& file) {
  const nlohmann::json record = run_json(file.parent_path());
  const nlohmann::json::json_pointer place("/configuration/cosmology");
  if (!record.contains(place)) return std::nullopt;
  physics::Cosmology universe;
  const auto& of_run = record[place];
  for (const auto& parameter : physics::cosmology_parameters)
    if (of_run.contains(parameter.name) && of_run[parameter.name].is_number())
      universe.*parameter.value = of_run[parameter.name].get<double>();
  return universe;
}

/// Of several ranks each reads its stretch of the particles.
AnalysisSnapshot load(const std::string& file, Communicator& ranks) {
  Snapshot own = read_stretch(file, ranks);
  AnalysisSnapshot snapshot;
  on_all(ranks,
         [&] { snapshot = analysis_snapshot(file, own.header, std::move(own.particles), universe_of_run(file)); });
  return snapshot;
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

AnalysisFiles analysis_files(const AnalysisEntry& entry, const std::vector<std::string>& given,
                             std::shared_ptr<Communicator> ranks) {
  AnalysisFiles files;
  files.ranks = std::move(ranks);
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
  files.snapshot = [names = files.names, among = files.ranks](std::size_t k) { return load(names[k], *among); };
  files.potential = [names = files.names](std::size_t k) { return load_potential(names[k]); };
  files.plasma = [names = files.names](std::size_t k) { return load_plasma(names[k]); };
  return files;
}

}  // namespace pergola::app
