// `pergola merge A B`: puts two snapshots on a Kepler orbit about each other, e.g. for a collision of galaxies.
//
// Steps: (1) both snapshots; they must state the same units and no periodic box, (2) G from these units, (3) tilts of
// the discs and the orbit of two points with the masses of A and B (models: merge_on_orbit), (4) one snapshot, with the
// centre of mass at rest at the origin. Rank 0 works alone. Lengths and times are in the units of the files, angles in
// degrees.
#include <fmt/format.h>

#include <array>

#include "app/command.hpp"
#include "app/written_files.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "comm/agreement.hpp"
#include "config/quantities.hpp"
#include "io/snapshot.hpp"
#include "io/snapshot_formats.hpp"
#include "models/merge.hpp"

namespace pergola::app {

namespace {

struct MergeRequest {
  std::string first, second, output;
  std::string pericentre, separation;  // as typed: lengths of the files, or with a unit
  MergeOptions merge;
  bool overwrite = false, full = false;
};

/// G in the units of a file: from cgs factors, or 1 if the file states none.
double gravitational_constant(const std::optional<FileUnits>& units) {
  if (!units) return 1;
  constexpr double newton_g_cm3_per_g_s2 = newton_g_m3_per_kg_s2 * 1e3;
  return newton_g_cm3_per_g_s2 * units->mass_g /
         (units->length_cm * units->velocity_cm_per_s * units->velocity_cm_per_s);
}

/// Units in words; equal words mean equal units.
std::string units_text(const std::optional<FileUnits>& units) {
  if (!units) return "none (G = 1)";
  return fmt::format("{} cm, {} g, {} cm/s", to_text(units->length_cm), to_text(units->mass_g),
                     to_text(units->velocity_cm_per_s));
}

/// Throws Error(input) for an empty file and for a periodic box, in which no orbit has a meaning.
Snapshot read_system(const std::string& path) {
  Snapshot snapshot = read_snapshot(path);
  snapshot.particles.validate(path);
  if (snapshot.particles.size() == 0)
    throw Error(ErrorKind::input, fmt::format("{}: expected at least one particle, found none", path));
  if (snapshot.header.box_size != 0)
    throw Error(ErrorKind::input, fmt::format("{}: expected a system in open space, found a periodic box of side {}",
                                              path, to_text(snapshot.header.box_size)));
  return snapshot;
}

/// A length above 0 in the units of the files.
double length_of(const std::string& option, const std::string& text, const QuantityUnits& units) {
  auto length = parse_real(text);
  if (!length) length = plain_number(text, dimension::length, units, option);
  const Range range = Range::above(0);
  if (!length || !range.contains(*length))
    throw Error(ErrorKind::input, fmt::format("{}: expected {}, found {}", option, range.text(), text));
  return *length;
}

/// Throws an error of the library with the option's name as on the command line.
[[noreturn]] void as_option(const Error& error) {
  const std::string message = error.what();
  throw Error(error.kind(), message.starts_with("separation") ? "--" + message : message);
}

/// Errors in options and files come before any particle is moved; the output appears whole or not at all.
void merge(const Context& context, MergeRequest request) {
  check_output_file(request.output, request.overwrite);
  WriteOptions write;
  write.format = format_from_name(request.output);
  const SnapshotFormatEntry& format = snapshot_format(write.format);
  write.single_precision = format.single_precision.value_or(false) && !request.full;
  write.threads = context.threads;
  if (context.device_given) context.open_device();
  Snapshot first = read_system(request.first), second = read_system(request.second);
  const std::string units_1 = units_text(first.header.units), units_2 = units_text(second.header.units);
  if (units_1 != units_2)
    throw Error(ErrorKind::input, fmt::format("{}: expected the units of {}, {}, found {}", request.second,
                                              request.first, units_1, units_2));
  request.merge.gravitational_constant = gravitational_constant(first.header.units);
  const QuantityUnits units = quantity_units(request.first, first.header);
  request.merge.pericentre = length_of("--pericentre", request.pericentre, units);
  request.merge.separation = length_of("--separation", request.separation, units);
  const std::array masses{total_mass(first.particles), total_mass(second.particles)};
  Snapshot merged;
  merged.header.units = first.header.units;
  try {
    merged.particles = merge_on_orbit(std::move(first.particles), std::move(second.particles), request.merge,
                                      Device::open("cpu", context.threads).threads());
  } catch (const Error& error) {
    as_option(error);
  }
  WrittenFiles files({request.output});
  write_snapshot(request.output, merged, write);
  const auto& orbit = request.merge;
  const double time = physics::kepler_time_to_pericentre(orbit.gravitational_constant * (masses[0] + masses[1]),
                                                         orbit.pericentre, orbit.eccentricity, orbit.separation);
  context.remark(fmt::format("{}: {} particles, two points would be at the pericentre after {:.4g}", request.output,
                             merged.particles.size(), time));
  const std::vector<std::string> lost = not_carried(merged.header, false, format);
  note_lost(context, lost, merged.header, request.first);
  files.print_and_keep(context, "",
                       {{"file", request.output},
                        {"n", merged.particles.size()},
                        {"not_carried", lost},
                        {"masses", masses},
                        {"pericentre", orbit.pericentre},
                        {"eccentricity", orbit.eccentricity},
                        {"separation", orbit.separation},
                        {"time_to_pericentre", time}});
}

/// The two angles of one disc: towards the orbit's axis, and within the orbit's plane.
void add_tilt(Command command, const std::string& number, const std::string& name, DiscTilt& tilt) {
  command
      .add_option(
          "--inclination-" + number, tilt.inclination,
          fmt::format("Degrees from the axis of {} to that of the orbit: 0 turns with it, 180 against it (0)", name))
      ->transform(number_in(Range::between(-360, 360)))
      ->type_name("DEGREES");
  command
      .add_option("--argument-" + number, tilt.argument,
                  fmt::format("Degrees in the orbit from where the other one rises through the disc of {} to the "
                              "pericentre (0)",
                              name))
      ->transform(number_in(Range::between(-360, 360)))
      ->type_name("DEGREES");
}

}  // namespace

void add_merge(Command program, Context& context) {
  auto command = program.add_subcommand("merge", "Put two snapshots on an orbit about each other");
  auto request = std::make_shared<MergeRequest>();
  auto& orbit = request->merge;
  command->add_option("A", request->first, "Snapshot in any format")->required();
  command->add_option("B", request->second, "Another one, or the same, in the same units")->required();
  command
      ->add_option("--pericentre", request->pericentre,
                   "Closest distance of two points with the masses of A and B, \"5 kpc\" if the files have units")
      ->required()
      ->type_name("LENGTH");
  command->add_option("--separation", request->separation, "Distance at the start, on the way in")
      ->required()
      ->type_name("LENGTH");
  command->add_option("--eccentricity", orbit.eccentricity, "0 circle, < 1 ellipse, 1 parabola, > 1 hyperbola (1)")
      ->transform(number_in(Range::at_least(0)))
      ->type_name("NUMBER");
  add_tilt(command, "1", "A", orbit.first);
  add_tilt(command, "2", "B", orbit.second);
  command->add_option("-o,--output", request->output, "File to write; .hdf5 and .csv, .g2 for GADGET format 2, else 1")
      ->required()
      ->type_name("FILE");
  command->add_flag("--overwrite", request->overwrite, "Replace an existing file");
  command->add_flag("--double", request->full, "Write a GADGET binary file in double precision (other files are)");
  command->footer(
      "The orbit lies in the plane z = 0 and turns about +z, the pericentre is on the +x axis, and the common centre "
      "of\n"
      "mass rests at the origin. A disc turns about +z in its own file.\n\n"
      "Example:\n  pergola merge galaxy.hdf5 galaxy.hdf5 --pericentre 2 --separation 20 --inclination-2 60 -o "
      "collision.hdf5");
  command->callback([&context, request] { on_root(*context.communicator, [&] { merge(context, *request); }); });
}

}  // namespace pergola::app
