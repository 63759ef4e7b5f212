#include "app/scene.hpp"
#include "analysis/local_structure.hpp"
#include "base/error.hpp"
#include "comm/collectives.hpp"
#include "config/config.hpp"
#include "domain/slabs_by_count.hpp"
#include "physics/cosmology.hpp"
#include "physics/mesh_weights.hpp"
#include "picture/colormap.hpp"
#include "picture/render.hpp"
#include "picture/volume.hpp"
#include "sim/unit_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>


namespace pergola::app {

namespace {

constexpr int neighbours = 32;
constexpr double darkest = 0.12;  // place in the colour map: what is there is never black

/// Opacity falls with the root of the density, so that filaments show beside halos that are 10⁵ times as dense.
constexpr double opacity_power = -0.5;

/// What is shown, with what is near it; of several ranks each has a slab of it.
struct Surrounded {
  Particles particles;
  LocalStructure local;
};

Surrounded structure_of(const SnapshotHeader& header, Particles own, Communicator& ranks, int threads) {
  const double side = header.box_size;
  const Box box{{0, 0, 0}, {side, side, side}, side > 0 ? Boundary::periodic : Boundary::isolated};
  Surrounded found{ranks.size() > 1 ? in_slabs_by_count(ranks, std::move(own), threads) : std::move(own), {}};
  found.local = local_structure(found.particles, box, neighbours, threads, ranks);
  if (is_cosmological(header))
    for (double& dispersion : found.local.dispersion)
      dispersion *= std::sqrt(physics::peculiar_over_file_energy(header.time));
  return found;
}

const std::vector<double>& colored_by(const PictureOptions& options, const LocalStructure& local) {
  return options.color == "dispersion" ? local.dispersion : local.density;
}

double largest_of(const std::vector<double>& mass, Communicator& ranks) {
  double largest = 0;
  for (const double one : mass) largest = std::max(largest, one);
  ranks.all_reduce(&largest, 1, Reduction::maximum);
  return largest;
}

/// The values between which most of the mass lies, or of the particles where they are massless; of all ranks, which
/// have so many.
DensityRange range_of(const std::vector<double>& values, const std::vector<double>& mass, std::int64_t count,
                      Communicator& ranks) {
  const double largest = largest_of(mass, ranks);
  const double quantum = physics::mass_quantum(static_cast<double>(count) * largest, largest);
  std::vector<double> known;
  std::vector<std::int64_t> weights;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] > 0 && std::isfinite(values[i])) {
      known.push_back(values[i]);
      weights.push_back(largest > 0 ? physics::quanta(mass[i], 1 / quantum) : 1);
    }
  const RankedValues ranked(ranks, known, weights);
  if (ranked.total() == 0) return {};
  const auto part = [&](double of) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(of * static_cast<double>(ranked.total()))));
  };
  const std::vector<double> found = ranked.reaching({part(0.02), part(0.995)});
  return {std::min(found[0], found[1] / 10), found[1]};
}

Color color_at(const Colormap& colors, const DensityRange& range, double value) {
  if (!(value > range.low)) return colors(darkest);
  return colors(darkest + (1 - darkest) * std::log(value / range.low) / std::log(range.high / range.low));
}

std::vector<VolumeParticle> shining(const PictureOptions& options, const Particles& p, const LocalStructure& local,
                                    const DensityRange& range, const std::string& colormap, bool massless) {
  const Colormap colors(colormap);
  const auto& values = colored_by(options, local);
  std::vector<VolumeParticle> all(p.id.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double density = local.density[i], mass = massless ? 1 : p.mass[i];
    const double opacity = density > 0 && std::isfinite(density) ? std::pow(density, opacity_power) : 0;
    all[i] = {{p.x[i], p.y[i], p.z[i]},
              local.length[i],
              mass * (opacity > 0 ? opacity : 1),
              options.by_species() ? species_color(p.species[i]) : color_at(colors, range, values[i]),
              p.id[i]};
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

DensityRange volume_range(const PictureOptions& options, ShownSnapshot shown, int threads) {
  const Surrounded found =
      structure_of(shown.snapshot.header, std::move(shown.snapshot.particles), *shown.ranks, threads);
  return range_of(colored_by(options, found.local), found.particles.mass, shown.count, *shown.ranks);
}

Panel draw_volume(const PictureOptions& options, ShownSnapshot shown, const Look& look, const RenderOptions& labels,
                  int threads) {
  Communicator& ranks = *shown.ranks;
  Surrounded found = structure_of(shown.snapshot.header, std::move(shown.snapshot.particles), ranks, threads);
  LocalStructure& local = found.local;
  const Particles& particles = found.particles;
  const double least = 1e-3 * look.frame.width;
  if (shown.count == 1) std::fill(local.length.begin(), local.length.end(), 10 * least);
  const DensityRange range =
      labels.range ? *labels.range : range_of(colored_by(options, local), particles.mass, shown.count, ranks);
  const Camera camera =
      look.camera ? *look.camera : camera_before(look.frame, options.sight_line(), options.field_of_view);
  const bool massless = largest_of(particles.mass, ranks) == 0;
  const Frame frame = CameraView(camera).frame();
  Projection plane{options.pixels, SightLine::z, frame, {}, {}, shown.count, 0};
  std::vector<RenderLayer> names;
  if (options.by_species()) names = species_present(particles, plane, ranks);
  auto lights = shining(options, particles, local, range, labels.colormap, massless);
  found = {};
  const VolumePicture picture =
      render_volume(std::move(lights), {camera, options.pixels, threads, options.optical_depth}, ranks);
  if (picture.ahead == 0)
    throw Error(ErrorKind::input,
                fmt::format("{}: --camera: expected particles in front of the camera, found none", shown.file));
  const auto side = static_cast<double>(options.pixels);
  Drawing figure(options.pixels, options.pixels, {});
  figure.pixels({0, 0, side, side}, picture.image);
  plane.shown = picture.shown;
  if (labels.legend) {
    draw_labels(figure, plane, labels);
    if (options.by_species())
      draw_names(figure, names);
    else if (labels.color_bar)
      draw_color_bar(figure, plane,
                     {Colormap(labels.colormap), range, 1, 1, options.color == "dispersion" ? "σ" : "ρ", darkest},
                     unit_of(options, shown.snapshot.header));
  }
  return {figure, look.camera ? frame : look.frame, shown.count, picture.shown};
}

}  // namespace pergola::app
