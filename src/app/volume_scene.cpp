#include "app/volume_scene.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "analysis/local_structure.hpp"
#include "base/error.hpp"
#include "config/config.hpp"
#include "physics/cosmology.hpp"
#include "picture/colormap.hpp"
#include "picture/render_legend.hpp"
#include "picture/volume.hpp"
#include "sim/unit_text.hpp"

namespace pergola::app {

namespace {

constexpr int neighbours = 32;
constexpr double darkest = 0.12;  // place in the colour map: what is there is never black

/// Opacity falls with the root of the density, so that filaments show beside halos that are 10⁵ times as dense.
constexpr double opacity_power = -0.5;

LocalStructure structure_of(const ShownSnapshot& shown, int threads) {
  const auto& [header, particles] = std::tie(shown.snapshot.header, shown.snapshot.particles);
  const double side = header.box_size;
  const Box box{{0, 0, 0}, {side, side, side}, side > 0 ? Boundary::periodic : Boundary::isolated};
  LocalStructure found = local_structure(particles, box, neighbours, threads);
  if (is_cosmological(header))
    for (double& dispersion : found.dispersion)
      dispersion *= std::sqrt(physics::peculiar_over_file_energy(header.time));
  return found;
}

const std::vector<double>& colored_by(const PictureOptions& options, const LocalStructure& local) {
  return options.color == "dispersion" ? local.dispersion : local.density;
}

/// The values between which most of the mass lies.
DensityRange range_of(const std::vector<double>& values, const std::vector<double>& mass) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] > 0 && std::isfinite(values[i])) order.push_back(i);
  if (order.empty()) return {};
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] != values[b] ? values[a] < values[b] : a < b; });
  const bool massless = std::all_of(mass.begin(), mass.end(), [](double m) { return m == 0; });
  const auto weight = [&](std::size_t i) { return massless ? 1 : mass[i]; };
  double total = 0;
  for (const std::size_t i : order) total += weight(i);
  const auto below = [&](double part) {
    double sum = 0;
    for (const std::size_t i : order)
      if ((sum += weight(i)) >= part * total) return values[i];
    return values[order.back()];
  };
  const double high = below(0.995);
  return {std::min(below(0.02), high / 10), high};
}

Color color_at(const Colormap& colors, const DensityRange& range, double value) {
  if (!(value > range.low)) return colors(darkest);
  return colors(darkest + (1 - darkest) * std::log(value / range.low) / std::log(range.high / range.low));
}

std::vector<VolumeParticle> shining(const PictureOptions& options, const Particles& p, const LocalStructure& local,
                                    const DensityRange& range, const std::string& colormap) {
  const Colormap colors(colormap);
  const bool massless = std::all_of(p.mass.begin(), p.mass.end(), [](double m) { return m == 0; });
  const auto& values = colored_by(options, local);
  std::vector<VolumeParticle> all(p.id.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double density = local.density[i], mass = massless ? 1 : p.mass[i];
    const double opacity = density > 0 && std::isfinite(density) ? std::pow(density, opacity_power) : 0;
    all[i] = {{p.x[i], p.y[i], p.z[i]},
              local.length[i],
              mass * (opacity > 0 ? opacity : 1),
              options.by_species() ? species_color(p.species[i]) : color_at(colors, range, values[i])};
  }
  return all;
}

/// Units of what the colours mean.
std::string unit_of(const PictureOptions& options, const SnapshotHeader& header) {
  const AnalysisUnits units = plain_units(header);
  return drawn_unit(options.color == "dispersion" ? units.velocity : units.density());
}

}  // namespace

Camera camera_before(const Frame& frame, SightLine axis, double field_of_view_degrees) {
  Camera camera;
  camera.target = frame.center;
  camera.field_of_view_degrees = field_of_view_degrees;
  const double away = frame.width / 2 / std::tan(field_of_view_degrees / 2 * std::numbers::pi / 180);
  camera.position = frame.center;
  if (axis == SightLine::x) camera.position.x += away;
  if (axis == SightLine::y) camera.position.y -= away;
  if (axis == SightLine::z) camera.position.z += away;
  camera.up = axis == SightLine::z ? Vec3<double>{0, 1, 0} : Vec3<double>{0, 0, 1};
  return camera;
}

DensityRange volume_range(const PictureOptions& options, const ShownSnapshot& shown, int threads) {
  return range_of(colored_by(options, structure_of(shown, threads)), shown.snapshot.particles.mass);
}

Panel draw_volume(const PictureOptions& options, const ShownSnapshot& shown, const Look& look,
                  const RenderOptions& labels, int threads) {
  const Particles& particles = shown.snapshot.particles;
  LocalStructure local = structure_of(shown, threads);
  const double least = 1e-3 * look.frame.width;
  if (particles.size() == 1) local.length[0] = 10 * least;
  const DensityRange range = labels.range.value_or(range_of(colored_by(options, local), particles.mass));
  const Camera camera =
      look.camera ? *look.camera : camera_before(look.frame, options.sight_line(), options.field_of_view);
  const VolumePicture picture = render_volume(shining(options, particles, local, range, labels.colormap),
                                              {camera, options.pixels, threads, options.optical_depth});
  if (picture.ahead == 0)
    throw Error(ErrorKind::input,
                fmt::format("{}: --camera: expected particles in front of the camera, found none", shown.file));
  const auto side = static_cast<double>(options.pixels);
  Drawing figure(options.pixels, options.pixels, {});
  figure.pixels({0, 0, side, side}, picture.image);
  const Frame frame = CameraView(camera).frame();
  Projection plane{options.pixels, SightLine::z, frame, {}, {}, particles.size(), picture.shown};
  if (labels.legend) {
    draw_labels(figure, plane, labels);
    if (options.by_species())
      draw_names(figure, species_present(particles, plane));
    else if (labels.color_bar)
      draw_color_bar(figure, plane,
                     {Colormap(labels.colormap), range, 1, 1, options.color == "dispersion" ? "σ" : "ρ", darkest},
                     unit_of(options, shown.snapshot.header));
  }
  return {figure, look.camera ? frame : look.frame, particles.size(), picture.shown};
}

}  // namespace pergola::app
