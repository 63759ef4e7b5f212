#include "io/hdf5_dialects.hpp"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola {

namespace {

std::optional<double> read_real(const hdf5::File& file, const std::string& name, const char* group = "Header") {
  if (!file.has_attribute(group, name)) return std::nullopt;
  return file.reals(group, name)[0];
}

/// Of the header; GADGET-4 has them among the parameters of its run, that of a static one too, and GIZMO under names of
/// its own.
void read_universe(const hdf5::File& file, SnapshotHeader& header) {
  const bool expands = read_real(file, "ComovingIntegrationOn", "Parameters").value_or(1) != 0 &&
                       read_real(file, "Omega0", "Parameters").value_or(0) > 0;
  const bool gizmo = read_real(file, "ComovingIntegrationOn").value_or(1) != 0;
  const auto read = [&](const char* name, const char* gizmo_name) {
    auto value = read_real(file, name);
    if (!value && gizmo) value = read_real(file, gizmo_name);
    return value || !expands ? value : read_real(file, name, "Parameters");
  };
  header.omega0 = read("Omega0", "Omega_Matter");
  header.omega_lambda = read("OmegaLambda", "Omega_Lambda");
  header.omega_baryon = read("OmegaBaryon", "Omega_Baryon");
  header.hubble_param = read("HubbleParam", "HubbleParam");
}

/// One side; SWIFT states three, which must be equal.
double read_box(const hdf5::File& file) {
  if (!file.has_attribute("Header", "BoxSize")) return 0;
  const auto sides = file.reals("Header", "BoxSize");
  for (const double side : sides)
    if (side != sides[0])
      throw Error(ErrorKind::input, fmt::format("{}: Header/BoxSize has sides {} and {}, expected equal ones",
                                                file.path().string(), to_text(sides[0]), to_text(side)));
  return sides[0];
}

/// The names of GADGET-4, AREPO, OWLS (which pynbody reads) and GIZMO, Pergola's own, and SWIFT's, which has a unit of
/// time. All ones mean none.
std::optional<FileUnits> read_units(const hdf5::File& file) {
  struct Place {
    const char *group, *length, *mass, *velocity, *time;
  };
  const Place places[] = {
      {"Units", "UnitLength_in_cgs", "UnitMass_in_cgs", "UnitVelocity_in_cgs", nullptr},
      {"Units", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", nullptr},
      {"Units", "Unit length in cgs (U_L)", "Unit mass in cgs (U_M)", nullptr, "Unit time in cgs (U_t)"},
      {"Header", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", nullptr},
      {"Header", "UnitLength_In_CGS", "UnitMass_In_CGS", "UnitVelocity_In_CGS", nullptr},
      {"Parameters", "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", nullptr}};
  for (const auto& [group, length, mass, velocity, time] : places) {
    const auto l = read_real(file, length, group), m = read_real(file, mass, group),
               last = read_real(file, velocity ? velocity : time, group);
    if (!l || !m || !last) continue;
    const FileUnits units{*l, *m, velocity ? *last : *l / *last};
    if (units.length_cm == 1 && units.mass_g == 1 && units.velocity_cm_per_s == 1) return std::nullopt;
    return units;
  }
  return std::nullopt;
}

/// `Time` of a universe of SWIFT is its age.
GadgetFactors read_swift_universe(const hdf5::File& file, SnapshotHeader& header) {
  constexpr const char* group = "Cosmology";
  const auto read = [&](const char* name) {
    if (const auto value = read_real(file, name, group)) return *value;
    throw Error(ErrorKind::input, fmt::format("{}: {}/{} is missing, expected it in a universe of SWIFT",
                                              file.path().string(), group, name));
  };
  header.time = read("Scale-factor");
  header.redshift = read("Redshift");
  header.omega0 = read("Omega_m");
  header.omega_lambda = read("Omega_lambda");
  header.omega_baryon = read_real(file, "Omega_b", group);
  const double h = read("h");
  header.hubble_param = h;
  if (!(h > 0 && header.time > 0))
    throw Error(ErrorKind::input, fmt::format("{}: {} has h = {} at the scale factor {}, expected both above 0",
                                              file.path().string(), group, to_text(h), to_text(header.time)));
  header.box_size *= h;
  return {h, h, 1 / std::sqrt(header.time)};
}

}  // namespace

GadgetFactors read_dialect(const hdf5::File& file, SnapshotHeader& header) {
  header.format = "hdf5";
  header.time = read_real(file, "Time").value_or(0);
  header.redshift = read_real(file, "Redshift").value_or(0);
  header.box_size = read_box(file);
  read_universe(file, header);
  header.units = read_units(file);
  if (read_real(file, "Cosmological run", "Cosmology").value_or(0) == 0) return {};
  header.format = "swift";
  return read_swift_universe(file, header);
}

}  // namespace pergola
