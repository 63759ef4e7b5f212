#include "io/openpmd_meshes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "plasma/units.hpp"

namespace pergola {

namespace {

const OpenPmdDimension charge_density_dimension{-3, 0, 1, 1, 0, 0, 0};
const OpenPmdDimension potential_dimension{2, 1, -3, -1, 0, 0, 0};
const OpenPmdDimension electric_dimension{1, 1, -3, -1, 0, 0, 0};
const OpenPmdDimension magnetic_dimension{0, 1, -2, -1, 0, 0, 0};
const OpenPmdDimension current_density_dimension{-2, 0, 0, 1, 0, 0, 0};

}  // namespace

OpenPmdMeshes::OpenPmdMeshes(hdf5::File& file, const PlasmaSnapshot& head, std::string group, hid_t real_type)
    : file_(file),
      head_(head),
      group_(std::move(group)),
      real_type_(real_type),
      axes_(openpmd_axes.begin(), openpmd_axes.begin() + head.options.dimensions),
      parts_(plasma_field_parts(head.options)) {
  file_.create_group(group_);
  const PlasmaFieldEntry& entry = plasma_field_entry(head.options);
  file_.write_attribute(group_, "fieldSolver", entry.openpmd_name);
  file_.write_attribute(group_, "fieldSolverParameters", entry.openpmd_parameters);
  file_.write_attribute(group_, "fieldSolverOrder", -1.0);
  const std::vector<std::string> periodic(2 * axes_.size(), "periodic");
  file_.write_attribute(group_, "fieldBoundary", periodic);
  file_.write_attribute(group_, "particleBoundary", periodic);
  file_.write_attribute(group_, "currentSmoothing", "none");
  file_.write_attribute(group_, "chargeCorrection", "none");
  if (std::find(parts_.begin(), parts_.end(), magnetic_part(0)) == parts_.end()) write_magnetic_field();
}

/// The uniform field, where there is one: three arrays that take no space. As constant components, which openPMD has
/// too, they would hide all fields from yt.
void OpenPmdMeshes::write_magnetic_field() {
  const Vec3<double>& field = head_.options.magnetic_field;
  if (dot(field, field) == 0) return;
  const PlasmaUnits::Factor unit = head_.units.magnetic_field();
  const std::string record = group_ + "/B";
  file_.create_group(record);
  for (const auto& [axis, value] : {std::pair{"/x", field.x}, std::pair{"/y", field.y}, std::pair{"/z", field.z}}) {
    file_.create_uniform(record + axis, real_type_, extent(), value * unit.file);
    write_component(record + axis, unit, std::vector<double>(axes_.size(), 0.0));
  }
  write_attributes(record, magnetic_dimension, magnetic_field_unit_name(head_.units), false);
}

/// Cells along each axis.
std::vector<std::int64_t> OpenPmdMeshes::extent() const {
  const auto& cells = head_.options.cells;
  return {cells.begin(), cells.begin() + head_.options.dimensions};
}

/// Attributes of an array; `position`: of its values, in cells above the grid points.
void OpenPmdMeshes::write_component(const std::string& component, PlasmaUnits::Factor unit,
                                    const std::vector<double>& position) {
  file_.write_attribute(component, "position", position);
  file_.write_attribute(component, "unitSI", unit.si);
}

/// From x fastest, as computed, to x slowest: openPMD leaves the choice, but yt takes the first dimension for x. Whole
/// chunks go to the file, so that it does not depend on the pieces; what is left waits.
void OpenPmdMeshes::append(PlasmaFieldPart part, const std::vector<double>& columns) {
  const auto& cells = head_.options.cells;
  const auto ny = static_cast<std::size_t>(cells[1]), nz = static_cast<std::size_t>(cells[2]), plane = ny * nz;
  if (complete() || part != parts_[next_] || columns.size() % plane != 0)
    throw Error(ErrorKind::input,
                fmt::format("{}: {} values of field {}, expected whole planes of {} of field {}", file_.path().string(),
                            columns.size(), static_cast<int>(part), plane, next_));
  if (!open_) begin(part);
  OpenField& open = *open_;
  const auto count = static_cast<std::int64_t>(columns.size() / plane);
  if (count > cells[0] - open.written - open.waiting)
    throw Error(ErrorKind::input,
                fmt::format("{}: more than the {} planes of {}", file_.path().string(), cells[0], open.dataset.name));
  for (std::int64_t first = 0; first < count;) {
    const std::int64_t n = std::min(open.dataset.slab_rows - open.waiting, count - first);
    open.slab.resize(static_cast<std::size_t>(open.waiting + n) * plane);
    double* const to = open.slab.data() + static_cast<std::size_t>(open.waiting) * plane;
    for (std::size_t z = 0; z < nz; ++z)
      for (std::size_t y = 0; y < ny; ++y) {
        const double* const from = columns.data() + static_cast<std::size_t>(count) * (y + ny * z) + first;
        for (std::size_t x = 0; x < static_cast<std::size_t>(n); ++x)
          to[(x * ny + y) * nz + z] = from[x] * open.unit.file;
      }
    open.waiting += n;
    first += n;
    if (open.waiting == open.dataset.slab_rows || open.written + open.waiting == cells[0]) write_waiting();
  }
  if (open.written == cells[0]) end(part);
}

void OpenPmdMeshes::check_complete() const {
  if (complete()) return;
  const std::int64_t planes = open_ ? open_->written + open_->waiting : 0;
  throw Error(ErrorKind::input, fmt::format("{}: {} planes of {} to write, expected {}", file_.path().string(), planes,
                                            name(parts_[next_]), head_.options.cells[0]));
}

/// E, B and J are groups with an array per axis; charge density (rho) and potential (phi) are arrays.
void OpenPmdMeshes::begin(PlasmaFieldPart part) {
  const Record record = record_of(part);
  if (record.axis == 0) {
    file_.create_group(group_ + record.name);
    write_attributes(group_ + record.name, record.dimension, record.unit_name);
  }
  open_.emplace(OpenField{file_.create_array(name(part), real_type_, extent()), record.unit, 0, 0, {}});
}

void OpenPmdMeshes::write_waiting() {
  OpenField& open = *open_;
  file_.write_planes(open.dataset, open.written, open.waiting, open.slab.data());
  open.written += std::exchange(open.waiting, 0);
}

void OpenPmdMeshes::end(PlasmaFieldPart part) {
  file_.close(open_->dataset);
  const Record record = record_of(part);
  std::vector<double> position;
  for (int a = 0; a < head_.options.dimensions; ++a)
    position.push_back(is_displaced(head_.options, part, a) ? 0.5 : 0.0);
  write_component(name(part), open_->unit, position);
  if (record.axis < 0) write_attributes(name(part), record.dimension, record.unit_name);
  open_.reset();
  ++next_;
}

/// The path of the array in the file.
std::string OpenPmdMeshes::name(PlasmaFieldPart part) const {
  const Record record = record_of(part);
  return group_ + record.name +
         (record.axis < 0 ? "" : std::string("/") + openpmd_axes[static_cast<std::size_t>(record.axis)]);
}

OpenPmdMeshes::Record OpenPmdMeshes::record_of(PlasmaFieldPart part) const {
  const PlasmaUnits& units = head_.units;
  if (part == PlasmaFieldPart::density)
    return {"/rho", -1, charge_density_dimension, units.charge_density(), charge_density_unit_name(units)};
  if (part == PlasmaFieldPart::potential)
    return {"/phi", -1, potential_dimension, units.potential(), potential_unit_name(units)};
  const int axis = axis_of(part);
  if (part < magnetic_part(0))
    return {"/E", axis, electric_dimension, units.electric_field(), electric_field_unit_name(units)};
  if (part < current_part(0))
    return {"/B", axis, magnetic_dimension, units.magnetic_field(), magnetic_field_unit_name(units)};
  return {"/J", axis, current_density_dimension, units.current_density(), current_density_unit_name(units)};
}

/// Attributes that openPMD asks of every mesh. Spacing and offset are lengths: gridUnitSI leads to meters.
void OpenPmdMeshes::write_attributes(const std::string& record, const OpenPmdDimension& dimension,
                                     const std::string& comment, bool smoothed) {
  const PlasmaUnits& units = head_.units;
  smoothed = smoothed && head_.options.smoothing > 0;
  file_.write_attribute(record, "geometry", "cartesian");
  file_.write_attribute(record, "dataOrder", "C");
  file_.write_attribute(record, "axisLabels", axes_);
  file_.write_attribute(record, "gridSpacing", std::vector<double>(axes_.size(), units.length().file));
  file_.write_attribute(record, "gridGlobalOffset", std::vector<double>(axes_.size(), 0.0));
  file_.write_attribute(record, "gridUnitSI", units.length().si);
  file_.write_attribute(record, "unitDimension", dimension);
  file_.write_attribute(record, "timeOffset", 0.0);
  file_.write_attribute(record, "fieldSmoothing", smoothed ? "other" : "none");
  if (smoothed) file_.write_attribute(record, "fieldSmoothingParameters", smoothing_text());
  file_.write_attribute(record, "comment", comment);
}

/// The Gaussian filter, with its length a in the units of the file.
std::string OpenPmdMeshes::smoothing_text() const {
  return fmt::format("S(k) = exp(-(k a)^2/2) on charge and force, a = {} {}",
                     head_.options.smoothing * head_.units.length().file, head_.units.length_name());
}

}  // namespace pergola
