#pragma once
// The fields of an openPMD file, written plane by plane.
//
// Steps for a field: begin() makes its array, append() collects planes until a chunk is full, end() adds attributes.
// The next field then begins, in the order of plasma_field_parts(). A plane is all y (and z) at one x.
// Values are computed with x fastest and stored with x slowest, in the units of the file.
// Always: chunks are written whole, so that the file does not depend on the sizes of the pieces.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "io/hdf5_file.hpp"
#include "io/openpmd.hpp"

namespace pergola {

/// Powers of length, mass, time, current, temperature, amount and luminous intensity.
using OpenPmdDimension = std::vector<double>;

inline constexpr std::array<const char*, 3> openpmd_axes{"x", "y", "z"};

/// The meshes of an openPMD file, the parts of the field solver, one after the other. Each comes in
/// pieces of any number of columns, so that only a piece is in memory. A uniform magnetic field stands beside those of
/// a solver that has none.
class OpenPmdMeshes {
 public:
  /// Writes what all of them have in common, into a new group. `head` and `file` live longer than this.
  OpenPmdMeshes(hdf5::File& file, const PlasmaSnapshot& head, std::string group, hid_t real_type);
  /// The next columns of a field: as many planes with all y (and z) as there are values for, x fastest.
  void append(PlasmaFieldPart part, const std::vector<double>& columns);
  bool complete() const { return next_ == parts_.size(); }
  /// Throws Error(input) if something of them has not come.
  void check_complete() const;

 private:
  /// The field that is being written; `slab` holds planes that wait for a full chunk.
  struct OpenField {
    hdf5::Dataset dataset;
    PlasmaUnits::Factor unit;
    std::int64_t written = 0, waiting = 0;  // planes
    std::vector<double> slab;               // planes not written yet, x slowest
  };
  void begin(PlasmaFieldPart part);
  void write_waiting();
  void end(PlasmaFieldPart part);
  /// The record of a part; `axis` −1: it is an array, without components.
  struct Record {
    const char* name;
    int axis;
    OpenPmdDimension dimension;
    PlasmaUnits::Factor unit;
    std::string unit_name;
  };
  std::string name(PlasmaFieldPart part) const;
  Record record_of(PlasmaFieldPart part) const;
  void write_magnetic_field();
  std::vector<std::int64_t> extent() const;
  void write_component(const std::string& component, PlasmaUnits::Factor unit, const std::vector<double>& position);
  void write_attributes(const std::string& record, const OpenPmdDimension& dimension, const std::string& comment,
                        bool smoothed = true);
  std::string smoothing_text() const;

  hdf5::File& file_;
  const PlasmaSnapshot& head_;
  std::string group_;
  hid_t real_type_;
  std::vector<std::string> axes_;
  std::vector<PlasmaFieldPart> parts_;
  std::size_t next_ = 0;  // of the parts: is being written, or comes next
  std::optional<OpenField> open_;
};

}  // namespace pergola
