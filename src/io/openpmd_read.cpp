// Reads openPMD files, also those of other programs: axes in any order, either data order, constant components. Of a
// file with several iterations only the first is read.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/hdf5_file.hpp"
#include "io/input_file.hpp"
#include "io/openpmd.hpp"
#include "plasma/units.hpp"

namespace pergola {

namespace {

[[noreturn]] void refuse(const hdf5::File& file, const std::string& what) {
  throw Error(ErrorKind::input, fmt::format("{}: {}", file.path().string(), what));
}

/// The first text of an attribute, or another one if it is missing.
std::string text_or(const hdf5::File& file, const std::string& object, const std::string& name,
                    const std::string& otherwise) {
  return file.has_attribute(object, name) ? file.texts(object, name)[0] : otherwise;
}

/// openPMD writes paths such as "fields/"; HDF5 wants "fields".
std::string without_slashes(const std::string& path) {
  const auto first = path.find_first_not_of('/'), last = path.find_last_not_of('/');
  return first == std::string::npos ? "" : path.substr(first, last - first + 1);
}

/// Where things are in a file: of its iterations the first.
struct Places {
  std::string base, meshes, particles;  // data/3, data/3/fields, data/3/particles; empty: there are none
};

Places places_of(const hdf5::File& file) {
  const std::string version = file.texts("/", "openPMD")[0];
  if (!version.starts_with("1.")) refuse(file, fmt::format("openPMD is {}, expected 1.x", version));
  if (!file.is_group("data") || file.members("data").empty()) refuse(file, "holds no iteration, expected /data/N");
  Places places;
  places.base = "data/" + file.members("data")[0];
  for (const auto& [attribute, place] :
       {std::pair{"meshesPath", &places.meshes}, std::pair{"particlesPath", &places.particles}}) {
    const std::string path = without_slashes(text_or(file, "/", attribute, ""));
    if (!path.empty() && file.is_group(places.base + "/" + path)) *place = places.base + "/" + path;
  }
  return places;
}

/// A constant component is a group with the attribute `value`.
bool is_constant(const hdf5::File& file, const std::string& component) {
  return file.has_attribute(component, "value");
}

/// The axis labels of a record from the slowest to the fastest dimension of its arrays.
std::vector<std::string> stored_axes(const hdf5::File& file, const std::string& record) {
  if (text_or(file, record, "geometry", "cartesian") != "cartesian")
    refuse(file, fmt::format("{} has another geometry, expected cartesian", record));
  std::vector<std::string> axes = file.texts(record, "axisLabels");
  if (text_or(file, record, "dataOrder", "C") == "F") std::reverse(axes.begin(), axes.end());
  const std::vector<std::string> known{"x", "y", "z"};
  std::vector<std::string> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (axes.size() < 2 || axes.size() > 3 || !std::equal(sorted.begin(), sorted.end(), known.begin()))
    refuse(file, fmt::format("{} has {} axes, expected x, y or x, y, z", record, axes.size()));
  return axes;
}

/// The dimension of the array along x, y, z.
std::vector<std::size_t> axis_order(const std::vector<std::string>& axes) {
  std::vector<std::size_t> order;
  for (const char* label : {"x", "y", "z"}) {
    const auto found = std::find(axes.begin(), axes.end(), label);
    if (found != axes.end()) order.push_back(static_cast<std::size_t>(found - axes.begin()));
  }
  return order;
}

/// Reals of an attribute with one value per axis, in the order x, y, z.
std::vector<double> by_axis(const hdf5::File& file, const std::string& record, const std::string& name) {
  std::vector<double> values = file.reals(record, name);
  const auto labels = file.texts(record, "axisLabels");
  if (values.size() != labels.size())
    refuse(file, fmt::format("{}/{} has {} values, expected {}", record, name, values.size(), labels.size()));
  std::vector<double> sorted;
  for (const std::size_t place : axis_order(labels)) sorted.push_back(values[place]);
  return sorted;
}

/// The values of a particle record's component; a constant one as often as its shape says.
std::vector<double> component(const hdf5::File& file, const std::string& name, std::int64_t count) {
  if (is_constant(file, name))
    return std::vector<double>(static_cast<std::size_t>(count), file.reals(name, "value")[0]);
  std::vector<double> values = file.read_array(name).values;
  if (static_cast<std::int64_t>(values.size()) != count)
    refuse(file, fmt::format("{} has {} values, expected {}", name, values.size(), count));
  return values;
}

/// A constant component states a count with no data to prove it. Where no other one does: at most a gigabyte.
constexpr std::int64_t most_constant = std::int64_t{1} << 27;

/// Throws if a number of a component is not finite.
void check_finite(const hdf5::File& file, const std::string& name, const std::vector<double>& values) {
  const auto bad = std::find_if(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
  if (bad != values.end())
    refuse(file,
           fmt::format("{} of particle {} is {}, expected a finite number", name, bad - values.begin(), to_text(*bad)));
}

/// The rows of the first component of a species that is not constant.
std::optional<std::int64_t> stored_count(const hdf5::File& file, const std::string& species) {
  for (const char* record : {"/position", "/momentum", "/weighting", "/id"}) {
    const std::string name = species + record;
    if (!file.is_group(name)) {
      if (file.has(name)) return file.dataset(name).rows;
      continue;
    }
    for (const std::string& member : file.members(name))
      if (!file.is_group(name + "/" + member)) return file.dataset(name + "/" + member).rows;
  }
  return std::nullopt;
}

std::int64_t particle_count(const hdf5::File& file, const std::string& species) {
  const std::string position = species + "/position";
  if (!file.is_group(position) || file.members(position).empty())
    refuse(file, fmt::format("{} is missing, expected the particles' positions", position));
  const std::string first = position + "/" + file.members(position)[0];
  if (!is_constant(file, first)) return file.dataset(first).rows;
  const std::int64_t count = file.integers(first, "shape")[0];
  const auto stored = stored_count(file, species);
  if (stored && count != *stored) refuse(file, fmt::format("{}/shape is {}, expected {}", first, count, *stored));
  if (count < 0 || (!stored && count > most_constant))
    refuse(file, fmt::format("{}/shape is {}, expected 0 to {}", first, count, most_constant));
  return count;
}

/// Of charge, mass and weighting the summary shows the first particle's; 0 if the record is missing.
double first_value(const hdf5::File& file, const std::string& name, bool in_si) {
  if (!file.has(name)) return 0;
  double value = 0;
  if (is_constant(file, name))
    value = file.reals(name, "value")[0];
  else
    file.read_rows(file.dataset(name), 0, 1, &value);
  return in_si && file.has_attribute(name, "unitSI") ? value * file.reals(name, "unitSI")[0] : value;
}

/// Lists all meshes. Cells, spacing and offset are those of the first mesh that is no constant.
void read_meshes(const hdf5::File& file, const std::string& group, OpenPmdSummary& summary) {
  for (const std::string& name : file.members(group)) {
    const std::string record = group + "/" + name;
    if (!file.has_attribute(record, "axisLabels")) continue;
    OpenPmdMesh mesh;
    mesh.name = name;
    mesh.unit = text_or(file, record, "comment", "");
    const bool vector = file.is_group(record) && !is_constant(file, record);
    if (vector) mesh.components = file.members(record);
    const std::string first = vector && !mesh.components.empty() ? record + "/" + mesh.components[0] : record;
    mesh.unit_si = file.reals(first, "unitSI")[0];
    summary.meshes.push_back(mesh);
    if (summary.dimensions > 0 || is_constant(file, first)) continue;
    const auto order = axis_order(stored_axes(file, record));
    const auto extent = file.array_extent(first);
    if (extent.size() != order.size())
      refuse(file, fmt::format("{} has {} dimensions, expected {} (axisLabels)", first, extent.size(), order.size()));
    summary.dimensions = static_cast<int>(order.size());
    for (const std::size_t place : order) summary.cells.push_back(extent[place]);
    summary.spacing = by_axis(file, record, "gridSpacing");
    summary.offset = by_axis(file, record, "gridGlobalOffset");
    summary.length_unit_si = file.reals(record, "gridUnitSI")[0];
  }
}

/// Charge and mass of one particle in SI units, and the weighting of the first.
void read_species(const hdf5::File& file, const std::string& group, OpenPmdSummary& summary) {
  for (const std::string& name : file.members(group)) {
    const std::string species = group + "/" + name;
    summary.species.push_back({name, particle_count(file, species), first_value(file, species + "/charge", true),
                               first_value(file, species + "/mass", true),
                               first_value(file, species + "/weighting", false)});
    if (summary.length_unit.empty()) summary.length_unit = text_or(file, species + "/position", "comment", "");
  }
}

}  // namespace

std::string OpenPmdSummary::velocity_unit() const { return velocity_unit_name(length_unit, time_unit); }

std::int64_t OpenPmdSummary::particle_count() const {
  std::int64_t count = 0;
  for (const Species& one : species) count += one.count;
  return count;
}

bool is_openpmd(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  {
    const InputFile file(path);
    std::array<unsigned char, 8> mark{};
    if (file.size() < 8) return false;
    file.read(0, mark.data(), mark.size());
    if (mark != hdf5::signature) return false;
  }
  return hdf5::File(path).has_attribute("/", "openPMD");
}

/// Reads attributes and sizes, and no array but the first values of species.
OpenPmdSummary inspect_openpmd(const std::filesystem::path& path) {
  const hdf5::File file(path);
  const Places places = places_of(file);
  OpenPmdSummary summary;
  summary.version = file.texts("/", "openPMD")[0];
  summary.software = text_or(file, "/", "software", "");
  const std::string number = places.base.substr(places.base.find('/') + 1);
  std::from_chars(number.data(), number.data() + number.size(), summary.step);
  if (file.has_attribute(places.base, "step")) summary.step = file.integers(places.base, "step")[0];
  summary.time = file.reals(places.base, "time")[0];
  summary.time_unit_si = file.reals(places.base, "timeUnitSI")[0];
  const std::string comment = text_or(file, places.base, "comment", ""), mark = "time in ";
  if (comment.starts_with(mark)) summary.time_unit = comment.substr(mark.size());
  if (!places.meshes.empty()) read_meshes(file, places.meshes, summary);
  if (!places.particles.empty()) read_species(file, places.particles, summary);
  return summary;
}

/// The values with x fastest, whatever order of axes the file has.
std::vector<double> read_openpmd_mesh(const std::filesystem::path& path, const std::string& name) {
  const hdf5::File file(path);
  const Places places = places_of(file);
  const std::string object = places.meshes + "/" + name, record = places.meshes + "/" + name.substr(0, name.find('/'));
  if (places.meshes.empty() || !file.has(object) || file.is_group(object))
    refuse(file, fmt::format("has no field {}", name));
  const auto order = axis_order(stored_axes(file, record));
  const hdf5::Array array = file.read_array(object);
  if (array.extent.size() != order.size())
    refuse(file, fmt::format("{} has {} dimensions, expected {}", object, array.extent.size(), order.size()));
  std::array<std::size_t, 3> size{1, 1, 1}, stride{0, 0, 0};
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    size[axis] = static_cast<std::size_t>(array.extent[order[axis]]);
    stride[axis] = 1;
    for (std::size_t d = order[axis] + 1; d < array.extent.size(); ++d)
      stride[axis] *= static_cast<std::size_t>(array.extent[d]);
  }
  std::vector<double> values;
  values.reserve(array.values.size());
  for (std::size_t z = 0; z < size[2]; ++z)
    for (std::size_t y = 0; y < size[1]; ++y)
      for (std::size_t x = 0; x < size[0]; ++x)
        values.push_back(array.values[x * stride[0] + y * stride[1] + z * stride[2]]);
  return values;
}

/// 1 for all if the file has no weighting.
std::vector<double> read_openpmd_weighting(const std::filesystem::path& path, const std::string& species) {
  const hdf5::File file(path);
  const std::string particles = places_of(file).particles, group = particles + "/" + species,
                    name = group + "/weighting";
  if (particles.empty() || !file.is_group(group)) refuse(file, fmt::format("has no particles {}", species));
  const std::int64_t count = particle_count(file, group);
  if (!file.has(name)) return std::vector<double>(static_cast<std::size_t>(count), 1.0);
  std::vector<double> values = component(file, name, count);
  check_finite(file, name, values);
  if (std::any_of(values.begin(), values.end(), [](double value) { return !(value > 0); }))
    refuse(file, fmt::format("{} has numbers that are not > 0", name));
  return values;
}

namespace {

/// Where a coordinate of a species is: "…/momentum/x" of vx.
std::string coordinate_component(const std::string& species, const std::string& coordinate) {
  return coordinate.starts_with("v") ? species + "/momentum/" + coordinate.substr(1)
                                     : species + "/position/" + coordinate;
}

}  // namespace

bool is_constant_openpmd_coordinate(const std::filesystem::path& path, const std::string& species,
                                    const std::string& coordinate) {
  const hdf5::File file(path);
  const std::string name = coordinate_component(places_of(file).particles + "/" + species, coordinate);
  return file.has(name) && is_constant(file, name);
}

/// Positions with their offset, in the grid's unit of length. Velocities are momentum over mass, in that unit per unit
/// of time. The momentum of a whole macro-particle is also divided by its weighting.
std::vector<double> read_openpmd_coordinate(const std::filesystem::path& path, const std::string& species,
                                            const std::string& coordinate) {
  const OpenPmdSummary summary = inspect_openpmd(path);
  const hdf5::File file(path);
  const Places places = places_of(file);
  const std::string group = places.particles + "/" + species;
  if (places.particles.empty() || !file.is_group(group)) refuse(file, fmt::format("has no particles {}", species));
  const bool velocity = coordinate.starts_with("v");
  const std::string axis = coordinate.substr(velocity ? 1 : 0);
  const std::string name = coordinate_component(group, coordinate);
  if (!file.has(name)) refuse(file, fmt::format("has no {} of {}", coordinate, species));
  const std::int64_t count = particle_count(file, group);
  std::vector<double> values = component(file, name, count);
  check_finite(file, name, values);
  const double unit_si = file.reals(name, "unitSI")[0];
  if (!velocity) {
    const std::string offset = group + "/positionOffset/" + axis;
    const std::vector<double> offsets =
        file.has(offset) ? component(file, offset, count) : std::vector<double>(values.size(), 0.0);
    const double offset_si = file.has(offset) ? file.reals(offset, "unitSI")[0] : 1;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = (values[i] * unit_si + offsets[i] * offset_si) / summary.length_unit_si;
    return values;
  }
  const std::vector<double> mass = component(file, group + "/mass", count);
  const double mass_si = file.reals(group + "/mass", "unitSI")[0];
  const std::string record = group + "/momentum";
  const bool of_macro_particle =
      file.has_attribute(record, "macroWeighted") && file.integers(record, "macroWeighted")[0] != 0;
  const std::vector<double> weighting =
      of_macro_particle ? component(file, group + "/weighting", count) : std::vector<double>(values.size(), 1.0);
  const double speed_si = summary.length_unit_si / summary.time_unit_si;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= unit_si / (mass[i] * mass_si * weighting[i] * speed_si);
  return values;
}

}  // namespace pergola
