// Checks of the options that `picture` and `movie` share, and their registration with the command.
//
// Values stay text until they are used, so that an error names the option and quotes what the user typed. Lengths and
// places are in the units of the file; angles are degrees; sizes are pixels.
#include "app/picture_options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "config/quantities.hpp"
#include "io/openpmd.hpp"
#include "io/snapshot_formats.hpp"
#include "picture/colormap.hpp"

namespace pergola::app {

namespace {

/// `count` finite numbers between commas; empty for any other text.
std::vector<double> numbers_in(const std::string& text, std::size_t count) {
  std::vector<double> numbers;
  std::string_view rest = text;
  while (numbers.size() < count) {
    const auto comma = rest.find(',');
    const auto number = parse_real(rest.substr(0, comma));
    const bool last = numbers.size() + 1 == count;
    if (!number || !std::isfinite(*number) || (comma == std::string_view::npos) != last) return {};
    numbers.push_back(*number);
    rest.remove_prefix(last ? rest.size() : comma + 1);
  }
  return numbers;
}

}  // namespace

Vec3<double> parse_triple(const std::string& option, const std::string& text, const std::string& otherwise) {
  const auto n = numbers_in(text, 3);
  if (n.empty())
    throw Error(ErrorKind::input,
                fmt::format("{}: expected {}three numbers such as 0,0,0.5, found \"{}\"", option, otherwise, text));
  return {n[0], n[1], n[2]};
}

namespace {

/// Numbers between commas, of which some have a unit, as plain numbers; any other text as it is.
std::string plain_lengths(const std::string& option, const std::string& text, const std::string& file) {
  std::optional<QuantityUnits> units;
  std::string plain;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::string part = text.substr(at, comma - at);
    if (!parse_real(part)) {
      part.erase(0, part.find_first_not_of(' '));
      if (!units) units = quantity_units(file, is_openpmd(file) ? SnapshotHeader{} : inspect_snapshot(file).header);
      const auto number = plain_number(part, dimension::length, *units, option);
      if (!number) return text;
      part = to_text(*number);
    }
    plain += (at > 0 ? "," : "") + part;
    at = comma + 1;
  }
  return plain;
}

}  // namespace

PictureOptions PictureOptions::in_units_of(const std::string& file) const {
  PictureOptions plain = *this;
  for (auto& [option, value] : {std::pair{"--camera", &plain.camera}, {"--target", &plain.target}})
    if (!value->empty()) *value = plain_lengths(option, *value, file);
  if (center != "auto" && center != "density") plain.center = plain_lengths("--center", center, file);
  if (width_given.empty()) return plain;
  const auto number = parse_real(plain_lengths("--width", width_given, file));
  if (!number) throw Error(ErrorKind::input, fmt::format("--width: expected a length above 0, found {}", width_given));
  plain.width = *number;
  return plain;
}

/// The option has been checked to be x, y or z.
SightLine PictureOptions::sight_line() const {
  return axis == "x" ? SightLine::x : axis == "y" ? SightLine::y : SightLine::z;
}

std::optional<std::pair<double, double>> PictureOptions::range_given() const {
  if (range.empty()) return std::nullopt;
  const auto n = numbers_in(range, 2);
  if (n.empty())
    throw Error(ErrorKind::input, fmt::format("--range: expected two numbers such as 0.01,10, found \"{}\"", range));
  if (!(n[0] < n[1]))
    throw Error(ErrorKind::input,
                fmt::format("--range: expected the lower number first and a higher one, found \"{}\"", range));
  return std::pair{n[0], n[1]};
}

/// Throws Error(input) for --target or --up without --camera. Without --up, +z is up, or +y for a camera that looks
/// along z.
std::optional<Camera> PictureOptions::camera_given(Vec3<double> target_otherwise) const {
  if (camera.empty()) {
    for (const auto& [name, value] : {std::pair{"--target", &target}, {"--up", &up}})
      if (!value->empty()) throw Error(ErrorKind::input, fmt::format("{}: expected --camera beside it", name));
    return std::nullopt;
  }
  Camera result;
  result.position = parse_triple("--camera", camera);
  result.target = target.empty() ? target_otherwise : parse_triple("--target", target);
  result.field_of_view_degrees = field_of_view;
  if (!up.empty()) {
    result.up = parse_triple("--up", up);
  } else {
    const Vec3<double> sight = result.target - result.position, side = cross(sight, result.up);
    if (dot(side, side) < 1e-12 * dot(sight, sight)) result.up = {0, 1, 0};  // the sight is along z
  }
  return result;
}

/// First errors of any file, then those of openPMD files, then those of snapshots.
void PictureOptions::check(bool openpmd, const std::string& file) const {
  const auto limits = range_given();
  camera_given({0, 0, 0});
  if (!(optical_depth > 0) || !std::isfinite(optical_depth))
    throw Error(ErrorKind::input, fmt::format("--depth: expected a number > 0, found {}", to_text(optical_depth)));
  if (color == "dispersion" && style != "volume")
    throw Error(ErrorKind::input, "--color: dispersion: expected --style volume beside it");
  if (openpmd) {
    if (style == "volume")
      throw Error(ErrorKind::input, fmt::format("{}: --style volume: expected a snapshot, found openPMD", file));
    if (!camera.empty())
      throw Error(ErrorKind::input, fmt::format("{}: --camera: expected a snapshot of stars, found openPMD", file));
    return;
  }
  for (const auto& [name, value] : {std::pair{"--phase", &phase}, {"--field", &field}})
    if (!value->empty())
      throw Error(ErrorKind::input,
                  fmt::format("{}: {}: expected an openPMD file, found a snapshot of another kind", file, name));
  if (width < 0 || !std::isfinite(width))
    throw Error(ErrorKind::input, fmt::format("--width: expected a length above 0, found {}", to_text(width)));
  if (limits && !(limits->first > 0))
    throw Error(ErrorKind::input,
                fmt::format("--range: expected values above 0, whose logarithm is shown, found \"{}\"", range));
  if (center != "auto" && center != "density") parse_triple("--center", center, "auto, density or ");
}

/// Default values and help are those of PictureOptions; --camera excludes the options of a plain frame.
void add_picture_options(Command command, PictureOptions& options) {
  auto axis = command.add_option("--axis", options.axis, "Line of sight; right and up are then y z, x z or x y");
  axis->one_of({"x", "y", "z"})->capture_default_str();
  auto width = command.add_option("--width", options.width_given,
                                  "Length from left to right, \"5 kpc\" if the file has units; default: shows most "
                                  "particles");
  command.add_option("--center", options.center, "auto, density (the densest place) or X,Y,Z")->capture_default_str();
  command.add_option("--camera", options.camera, "X,Y,Z: the place of a camera with perspective")
      ->type_name("X,Y,Z")
      ->excludes(axis)
      ->excludes(width);
  command.add_option("--target", options.target, "What the camera looks at; default: the middle of the particles")
      ->type_name("X,Y,Z");
  command.add_option("--up", options.up, "The camera's direction up; default: 0,0,1")->type_name("X,Y,Z");
  command.add_option("--fov", options.field_of_view, "The camera's field of view from left to right in degrees")
      ->capture_default_str()
      ->needs("--camera");
  command.add_option("--range", options.range, "Lowest and highest value of the colours; default: as the data need")
      ->type_name("LO,HI");
  command.add_option("--size", options.pixels, "Pixels from left to right and from top to bottom")
      ->between(64, 4096)
      ->capture_default_str();
  auto colormaps = colormap_names();
  colormaps.emplace_back(diverging_colormap);
  command
      .add_option("--colormap", options.colormap,
                  "Colours; default: magma, and coolwarm for a field of both signs, with 0 in the middle")
      ->one_of(colormaps);
  command
      .add_option("--species", options.species,
                  "Show these only: gas, halo, disc, bulge, stars, boundary; openPMD: by their names in the file")
      ->delimiter(',')
      ->type_name("NAMES");
  command
      .add_option(
          "--style", options.style,
          "projection: surface density; volume: smoothed particles that shine and absorb, ray by ray, seen by a "
          "camera")
      ->one_of({"projection", "volume"})
      ->capture_default_str();
  command
      .add_option("--color", options.color,
                  "What the colours mean: density, species, or (volume) dispersion of velocities among neighbours")
      ->one_of({"density", "dispersion", "species"})
      ->capture_default_str();
  command.add_option("--depth", options.optical_depth, "Volume: optical depth, the mean over the picture")
      ->capture_default_str();
  command.add_flag("--color-species", options.color_species, "Each species in a colour of its own: --color species");
  command.add_option("--title", options.title, "Text in the upper left corner; default: file and number")
      ->each([&options](const std::string&) { options.title_given = true; });
  command.add_flag("--no-legend", options.no_legend, "The bare picture, without text and scales");
  command.add_flag("--no-trails", options.no_trails,
                   "Of up to 16 bodies: without their paths through the earlier snapshots of the run");
  command.add_option("--phase", options.phase, "openPMD: the plane of phase space, such as x,vx; the default");
  command.add_option("--field", options.field,
                     "openPMD: rho, phi, Ex, Ey or Ez; 3D: the slice in the middle of --axis");
}

}  // namespace pergola::app
