#include "picture/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "analysis/radii.hpp"
#include "app/command.hpp"
#include "app/plasma_pictures.hpp"
#include "app/print_for_files.hpp"
#include "app/trails.hpp"
#include "app/unit_text.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "io/openpmd.hpp"
#include "io/snapshot.hpp"
#include "picture/colormap.hpp"

namespace pergola::app {

namespace {

struct PictureOptions {
  std::string file, output;
  std::string axis = "z";
  std::string center = "auto";
  double width = 0;  // 0: automatic
  int pixels = 900;
  std::string colormap;              // empty: the one that suits
  std::vector<std::string> species;  // empty: all
  bool color_species = false;
  std::string title;
  bool title_given = false;
  bool no_legend = false;
  bool no_trails = false;
  std::string phase, field;  // of an openPMD file
};

SightLine sight_line(const std::string& axis) {
  return axis == "x" ? SightLine::x : axis == "y" ? SightLine::y : SightLine::z;
}

Vec3<double> parse_center(const std::string& text) {
  std::array<double, 3> value{};
  std::string_view rest = text;
  for (std::size_t k = 0; k < 3; ++k) {
    const auto comma = rest.find(',');
    const auto number = parse_real(rest.substr(0, comma));
    const bool last = k == 2;
    if (!number || !std::isfinite(*number) || (comma == std::string_view::npos) != last)
      throw Error(ErrorKind::input,
                  fmt::format("--center: expected auto, density or three numbers such as 0,0,0.5, found \"{}\"", text));
    value[k] = *number;
    rest.remove_prefix(last ? rest.size() : comma + 1);
  }
  return {value[0], value[1], value[2]};
}

/// The particles of these species only.
Particles of_species(const Particles& all, const std::vector<std::string>& names) {
  Particles some;
  for (std::size_t i = 0; i < all.id.size(); ++i) {
    if (std::find(names.begin(), names.end(), species_names[all.species[i]]) == names.end()) continue;
    some.id.push_back(all.id[i]), some.species.push_back(all.species[i]), some.mass.push_back(all.mass[i]);
    some.x.push_back(all.x[i]), some.y.push_back(all.y[i]), some.z.push_back(all.z[i]);
    some.vx.push_back(all.vx[i]), some.vy.push_back(all.vy[i]), some.vz.push_back(all.vz[i]);
  }
  return some;
}

Particles chosen(const Particles& all, const PictureOptions& options) {
  if (options.species.empty()) return all;
  const std::vector<std::string> known(species_names.begin(), species_names.end());
  for (const auto& name : options.species)
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string near = nearest_name(name, known);
      throw Error(ErrorKind::input, fmt::format("--species: expected {}, found {}{}", fmt::join(known, ", "), name,
                                                near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
  Particles some = of_species(all, options.species);
  if (some.size() == 0)
    throw Error(ErrorKind::input, fmt::format("{}: expected particles of the species {}, found none", options.file,
                                              fmt::join(options.species, ", ")));
  return some;
}

/// Of gas, halo, disc, bulge, stars and boundary: dark matter is dim, old stars are warm, young ones blue.
constexpr std::array<Color, species_count> species_colors{
    {{90, 220, 140}, {90, 60, 150}, {110, 180, 255}, {255, 170, 80}, {190, 210, 255}, {150, 150, 150}}};

std::vector<RenderLayer> layers_by_species(const Particles& particles, const ProjectionOptions& projection) {
  std::vector<RenderLayer> layers;
  for (std::size_t k = 0; k < species_names.size(); ++k) {
    const std::string name(species_names[k]);
    const Particles part = of_species(particles, {name});
    if (part.size() > 0) layers.push_back({project(part, projection), species_colors[k], name});
  }
  return layers;
}

/// A periodic box is shown whole; otherwise the frame follows the particles and their trails. What the user gives goes
/// before.
Frame choose_frame(const PictureOptions& options, const Snapshot& snapshot, const Trails& trails) {
  Frame frame = trails.frame(snapshot.particles, sight_line(options.axis));
  if (trails.empty() || !(frame.width > 0)) frame = automatic_frame(snapshot.particles, sight_line(options.axis));
  const double box = snapshot.header.box_size;
  if (box > 0) frame = {{box / 2, box / 2, box / 2}, box};
  if (options.center == "density")
    frame.center = density_center(snapshot.particles);
  else if (options.center != "auto")
    frame.center = parse_center(options.center);
  if (options.width > 0) frame.width = options.width;
  return frame;
}

std::string grouped(std::int64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

RenderOptions labels(const PictureOptions& options, const Snapshot& snapshot) {
  RenderOptions render;
  if (!options.colormap.empty()) render.colormap = options.colormap;
  render.legend = !options.no_legend;
  render.title = options.title_given
                     ? options.title
                     : fmt::format("{} · N = {}", std::filesystem::path(options.file).filename().string(),
                                   grouped(snapshot.particles.size()));
  render.note = time_text(snapshot.header);
  const UnitTexts units = unit_texts(snapshot.header);
  render.length_unit = units.length;
  render.density_unit = units.surface_density;
  return render;
}

nlohmann::json description(const PictureOptions& options, const Projection& map, double time) {
  const auto& c = map.frame.center;
  return {{"file", options.output},   {"pixels", map.pixels},       {"axis", options.axis}, {"center", {c.x, c.y, c.z}},
          {"width", map.frame.width}, {"particles", map.particles}, {"shown", map.shown},   {"time", time}};
}

void picture_plasma(const Context& context, const PictureOptions& options) {
  PlasmaPictureOptions plasma{options.file,    options.phase,
                              options.species, options.field,
                              options.axis,    options.colormap,
                              options.title,   options.title_given,
                              options.pixels,  Device::open("cpu", context.threads).threads()};
  auto [figure, description] = plasma_picture(plasma);
  write_drawing(options.output, figure);
  description["file"] = options.output;
  description["width"] = figure.width();
  description["height"] = figure.height();
  print_for_files(context, options.output + "\n", description, {options.output});
}

void make_picture(const Context& context, const PictureOptions& options) {
  if (!context.speaks()) return;
  drawing_format(options.output, "--output");
  if (is_openpmd(options.file)) return picture_plasma(context, options);
  for (const auto& [name, value] : {std::pair{"--phase", &options.phase}, {"--field", &options.field}})
    if (!value->empty())
      throw Error(ErrorKind::input, fmt::format("{}: {}: expected an openPMD file, found a snapshot of another kind",
                                                options.file, name));
  if (options.width < 0 || !std::isfinite(options.width))
    throw Error(ErrorKind::input, fmt::format("--width: expected a length above 0, found {}", to_text(options.width)));
  auto snapshot = read_snapshot(options.file);
  snapshot.particles = chosen(snapshot.particles, options);
  ProjectionOptions projection{
      sight_line(options.axis), {}, options.pixels, Device::open("cpu", context.threads).threads()};
  const Trails trails = options.no_trails ? Trails{} : find_trails(options.file, snapshot);
  if (snapshot.particles.size() > 0) projection.frame = choose_frame(options, snapshot, trails);
  const auto map = project(snapshot.particles, projection);
  const bool layers = options.color_species && snapshot.particles.size() > 0;
  RenderOptions look = labels(options, snapshot);
  look.trails = trails.on(map);
  write_drawing(options.output,
                layers ? render_layers(layers_by_species(snapshot.particles, projection), look) : render(map, look));
  const std::string unit = unit_texts(snapshot.header).length;
  print_for_files(context,
                  fmt::format("{}: {} of {} particles, {:.4g}{} wide\n", options.output, grouped(map.shown),
                              grouped(map.particles), map.frame.width, unit.empty() ? "" : fmt::format(" {}", unit)),
                  description(options, map, snapshot.header.time), {options.output});
}

}  // namespace

void add_picture(Command program, Context& context) {
  auto options = std::make_shared<PictureOptions>();
  auto command =
      program.add_subcommand("picture", "Render a snapshot: surface density, or a plasma's phase space or field");
  command->add_option("file", options->file, "Snapshot, in any format that Pergola reads, or an openPMD file")
      ->required();
  command->add_option("-o,--output", options->output, "File to write: a name that ends in .png, .svg or .pdf")
      ->required();
  command->add_option("--axis", options->axis, "Line of sight; right and up are then y z, x z or x y")
      ->one_of({"x", "y", "z"})
      ->capture_default_str();
  command->add_option("--width", options->width, "Length from left to right; default: shows most particles");
  command->add_option("--center", options->center, "auto, density (the densest place) or X,Y,Z")->capture_default_str();
  command->add_option("--size", options->pixels, "Pixels from left to right and from top to bottom")
      ->between(64, 4096)
      ->capture_default_str();
  auto colormaps = colormap_names();
  colormaps.emplace_back(diverging_colormap);
  command
      ->add_option("--colormap", options->colormap,
                   "Colours; default: magma, and coolwarm for a field of both signs, with 0 in the middle")
      ->one_of(colormaps);
  command
      ->add_option("--species", options->species,
                   "Show these only: gas, halo, disc, bulge, stars, boundary; openPMD: by their names in the file")
      ->delimiter(',')
      ->type_name("NAMES");
  command->add_flag("--color-species", options->color_species, "Each species in a colour of its own");
  command->add_option("--title", options->title, "Text in the upper left corner; default: file and number")
      ->each([options](const std::string&) { options->title_given = true; });
  command->add_flag("--no-legend", options->no_legend, "The bare picture, without text and scales");
  command->add_flag("--no-trails", options->no_trails,
                    "Of up to 16 bodies: without their paths through the earlier snapshots of the run");
  command->add_option("--phase", options->phase, "openPMD: the plane of phase space, such as x,vx; the default");
  command->add_option("--field", options->field,
                      "openPMD: rho, phi, Ex, Ey or Ez; 3D: the slice in the middle of --axis");
  command->footer(
      "Examples:\n  pergola picture cluster/snap_004.hdf5 -o cluster.png --axis x --width 4 --center density\n"
      "  pergola picture two-stream/plasma_004.h5 -o vortices.png --phase x,vx");
  command->callback([&context, options] { make_picture(context, *options); });
}

}  // namespace pergola::app
