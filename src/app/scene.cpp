// Pictures of particles: reads a snapshot, chooses a look, draws a panel. See scene.hpp for the order of calls.
//
// Parts, in this order: trails of few bodies; choice of species; surface density by projection; frames and ranges of
// colours of a series; volume pictures of smoothed particles; the functions of the header. Over ranks: each has a range
// of the particles, sums of counts and maps go over all, and rank 0 has the picture. Lengths are in the units of the
// file; angles are degrees; colours are logarithmic in density or dispersion.
#include "app/scene.hpp"
#include "analysis/local_structure.hpp"
#include "analysis/radii.hpp"
#include "app/run_files.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "config/config.hpp"
#include "domain/slabs_by_count.hpp"
#include "io/hdf5_walk.hpp"
#include "io/openpmd.hpp"
#include "physics/cosmology.hpp"
#include "physics/mesh_weights.hpp"
#include "picture/colormap.hpp"
#include "picture/render.hpp"
#include "picture/volume.hpp"
#include "sim/unit_text.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

namespace pergola::app {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_earlier_files = 500;
constexpr int path_pieces = 12;  // of a path between two snapshots

/// Snapshots before this one, the oldest first.
std::vector<fs::path> earlier_files(const fs::path& file) {
  auto files = series_of(file);
  files.erase(std::find(files.begin(), files.end(), file), files.end());
  if (files.size() > most_earlier_files)
    files.erase(files.begin(), files.end() - static_cast<std::ptrdiff_t>(most_earlier_files));
  return files;
}

/// One body at one snapshot.
struct Place {
  double time = 0;
  Vec3<double> x, v;
};

/// The body with this id in a snapshot, if it is there.
std::optional<Place> place_of(const Snapshot& snapshot, std::uint64_t id) {
  const Particles& p = snapshot.particles;
  const auto found = std::find(p.id.begin(), p.id.end(), id);
  if (found == p.id.end()) return std::nullopt;
  const auto i = static_cast<std::size_t>(found - p.id.begin());
  return Place{snapshot.header.time, {p.x[i], p.y[i], p.z[i]}, {p.vx[i], p.vy[i], p.vz[i]}};
}

double length(const Vec3<double>& v) { return std::sqrt(dot(v, v)); }

/// Whether two places determine the path between them: the speeds must not imply a much longer path.
bool determine_path(const Place& a, const Place& b) {
  const double time = b.time - a.time, way = length(b.x - a.x), promised = 0.5 * (length(a.v) + length(b.v)) * time;
  return time > 0 && promised < 3 * way;
}

/// The cubic through two places with their velocities (Hermite's interpolation), at the fraction s of the time between.
Vec3<double> between(const Place& a, const Place& b, double s) {
  const double time = b.time - a.time, r = 1 - s;
  return (r * r * (1 + 2 * s)) * a.x + (s * s * (3 - 2 * s)) * b.x + (s * r * r * time) * a.v -
         (s * s * r * time) * b.v;
}

/// Points along a path, oldest first. A gap is a point that is not a number.
std::vector<Vec3<double>> path_through(const std::vector<Place>& places) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  std::vector<Vec3<double>> path{places[0].x};
  for (std::size_t k = 1; k < places.size(); ++k) {
    if (determine_path(places[k - 1], places[k]))
      for (int piece = 1; piece < path_pieces; ++piece)
        path.push_back(between(places[k - 1], places[k], static_cast<double>(piece) / path_pieces));
    else
      path.push_back({none, none, none});
    path.push_back(places[k].x);
  }
  return path;
}

double across(const Vec3<double>& x, SightLine axis) { return axis == SightLine::x ? x.y : x.x; }
double up(const Vec3<double>& x, SightLine axis) { return axis == SightLine::z ? x.y : x.z; }

}  // namespace

const FewBodyFiles::File* FewBodyFiles::find(const fs::path& path) {
  const auto [place, is_new] = files_.try_emplace(path);
  std::optional<File>& file = place->second;
  if (is_new && !hdf5_without_checksums(path)) try {
      const auto summary = inspect_snapshot(path);
      if (std::accumulate(summary.counts.begin(), summary.counts.end(), std::int64_t{0}) <= most_with_trails)
        file = File{{summary.counts.begin(), summary.counts.end()}, read_snapshot(path)};
    } catch (const Error&) {  // no trail
    }
  return file ? &*file : nullptr;
}

/// Empty if there are no earlier snapshots.
Trails find_trails(const fs::path& file, const Snapshot& snapshot, FewBodyFiles& files) {
  const auto count = snapshot.particles.size();
  if (count == 0 || count > most_with_trails || has_universe(snapshot.header)) return {};
  const auto own = inspect_snapshot(file).counts;
  const std::vector<std::int64_t> counts(own.begin(), own.end());
  std::vector<Snapshot> moments;
  for (const auto& earlier : earlier_files(file))
    if (const auto* const found = files.find(earlier); found && found->counts == counts)
      moments.push_back(found->snapshot);
  if (moments.empty()) return {};
  moments.push_back(snapshot);
  Trails trails;
  for (const auto id : snapshot.particles.id) {
    std::vector<Place> places;
    for (const Snapshot& moment : moments)
      if (const auto place = place_of(moment, id)) places.push_back(*place);
    trails.paths.push_back(path_through(places));
  }
  return trails;
}

Frame Trails::frame(const Particles& particles, SightLine axis) const {
  constexpr double infinite = std::numeric_limits<double>::infinity(), room = 1.15;
  Vec3<double> low{infinite, infinite, infinite}, high{-infinite, -infinite, -infinite};
  const auto add = [&](const Vec3<double>& x) {
    if (!std::isfinite(x.x)) return;
    low = {std::min(low.x, x.x), std::min(low.y, x.y), std::min(low.z, x.z)};
    high = {std::max(high.x, x.x), std::max(high.y, x.y), std::max(high.z, x.z)};
  };
  for (const auto& path : paths)
    for (const auto& x : path) add(x);
  for (std::size_t i = 0; i < particles.id.size(); ++i) add({particles.x[i], particles.y[i], particles.z[i]});
  const Vec3<double> size = high - low;
  return {0.5 * (low + high), room * std::max(across(size, axis), up(size, axis))};
}

std::vector<std::vector<Point>> Trails::on(const Projection& map) const {
  const double scale = map.pixels / map.frame.width, middle = map.pixels / 2.0;
  std::vector<std::vector<Point>> lines;
  for (const auto& path : paths) {
    auto& line = lines.emplace_back();
    for (const auto& x : path) {
      const Vec3<double> away = x - map.frame.center;
      line.push_back({middle + scale * across(away, map.axis), middle - scale * up(away, map.axis)});
    }
  }
  return lines;
}

namespace {

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

/// The sum of a count over all ranks. Collective.
std::int64_t over_ranks(std::int64_t count, Communicator& ranks) {
  ranks.all_reduce(&count, 1, Reduction::sum);
  return count;
}

/// The particles of --species on this rank. Throws Error(input) on all ranks if no rank has any.
Particles chosen(const Particles& all, const PictureOptions& options, const std::string& file, Communicator& ranks) {
  if (options.species.empty()) return all;
  const std::vector<std::string> known(species_names.begin(), species_names.end());
  for (const auto& name : options.species)
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string near = nearest_name(name, known);
      throw Error(ErrorKind::input, fmt::format("--species: expected {}, found {}{}", fmt::join(known, ", "), name,
                                                near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
  Particles some = of_species(all, options.species);
  if (over_ranks(some.size(), ranks) == 0)
    throw Error(ErrorKind::input, fmt::format("{}: expected particles of the species {}, found none", file,
                                              fmt::join(options.species, ", ")));
  return some;
}

/// Of gas, halo, disc, bulge, stars and boundary: dark matter is dim, old stars are warm, young ones blue.
constexpr std::array<Color, species_count> species_colors{
    {{90, 220, 140}, {90, 60, 150}, {110, 180, 255}, {255, 170, 80}, {190, 210, 255}, {150, 150, 150}}};

/// A map per species that any rank has. Collective, as every rank walks the same list of species.
std::vector<RenderLayer> layers_by_species(const Particles& particles, const ProjectionOptions& projection,
                                           const Look& look, Communicator& ranks) {
  std::vector<RenderLayer> layers;
  for (std::size_t k = 0; k < species_names.size(); ++k) {
    const std::string name(species_names[k]);
    const Particles part = of_species(particles, {name});
    if (over_ranks(part.size(), ranks) == 0) continue;
    layers.push_back({project(part, projection, ranks), species_colors[k], name, look.species_ranges[k]});
  }
  return layers;
}

/// Title, time, units and colours as the options and the header say.
RenderOptions labels(const PictureOptions& options, const ShownSnapshot& shown, const Look& look) {
  RenderOptions render;
  const auto& header = shown.snapshot.header;
  if (!options.colormap.empty()) render.colormap = options.colormap;
  render.legend = !options.no_legend;
  render.title = options.title_given ? options.title
                                     : fmt::format("{} · N = {}", std::filesystem::path(shown.file).filename().string(),
                                                   grouped(shown.count));
  render.note = time_text(header, look.longest_time);
  const UnitTexts units = unit_texts(header);
  render.length_unit = units.length;
  render.density_unit = units.surface_density;
  render.range = look.range;
  return render;
}

/// The visible particles and trails, and their projection.
struct Seen {
  Particles particles;
  Trails trails;
  ProjectionOptions projection;
};

/// With a camera, particles behind it are removed and places become those in its view, along z.
Seen seen_in(const PictureOptions& options, const ShownSnapshot& shown, const Look& look, int threads) {
  Seen seen{{}, shown.trails, {options.sight_line(), look.frame, options.pixels, threads}};
  if (!look.camera) {
    seen.projection.periodic_side = shown.snapshot.header.box_size;
    seen.particles = shown.snapshot.particles;
    return seen;
  }
  const CameraView camera(*look.camera);
  on_all(*shown.ranks, [&] { seen.particles = camera.see(shown.snapshot.particles); });
  if (shown.count > 0 && over_ranks(seen.particles.size(), *shown.ranks) == 0)
    throw Error(ErrorKind::input,
                fmt::format("{}: --camera: expected particles in front of the camera, found none", shown.file));
  for (auto& path : seen.trails.paths)
    for (auto& x : path) x = camera.place(x);
  seen.projection.axis = SightLine::z;
  seen.projection.frame = camera.frame();
  return seen;
}

/// A box that grows.
struct FrameExtent {
  Vec3<double> low{HUGE_VAL, HUGE_VAL, HUGE_VAL}, high{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
  void add(const Frame& frame) {
    const double half = frame.width / 2;
    const Vec3<double> reach{half, half, half}, a = frame.center - reach, b = frame.center + reach;
    low = {std::min(low.x, a.x), std::min(low.y, a.y), std::min(low.z, a.z)};
    high = {std::max(high.x, b.x), std::max(high.y, b.y), std::max(high.z, b.z)};
  }
  Frame frame(SightLine axis) const {
    const Vec3<double> size = high - low;
    const double right = axis == SightLine::x ? size.y : size.x, up = axis == SightLine::z ? size.y : size.z;
    return {0.5 * (low + high), std::max(right, up)};
  }
};

void widen(std::optional<DensityRange>& range, const DensityRange& by) {
  if (!range) range = by;
  range->high = std::max(range->high, by.high);
  range->low = std::max(std::min(range->low, by.low), 1e-5 * range->high);
}

/// The species that any rank has, for a legend, each on a map of this frame.
std::vector<RenderLayer> species_present(const Particles& particles, const Projection& plane, Communicator& ranks) {
  std::vector<RenderLayer> layers;
  for (std::size_t k = 0; k < species_names.size(); ++k)
    if (over_ranks(std::count(particles.species.begin(), particles.species.end(), static_cast<std::uint8_t>(k)),
                   ranks) > 0)
      layers.push_back({plane, species_colors[k], std::string(species_names[k])});
  return layers;
}

constexpr int neighbours = 32;
constexpr double darkest = 0.12;  // in the colour map: particles are never black

/// Opacity falls with the root of the density, so that filaments are visible beside halos of 10⁵ times their density.
constexpr double opacity_power = -0.5;

/// Particles with their local structure; each rank has a slab.
struct Surrounded {
  Particles particles;
  LocalStructure local;
};

/// Neighbours need particles that are near on the same rank: several ranks exchange particles into slabs first.
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

/// The largest mass over all ranks. Collective.
double largest_of(const std::vector<double>& mass, Communicator& ranks) {
  double largest = 0;
  for (const double one : mass) largest = std::max(largest, one);
  ranks.all_reduce(&largest, 1, Reduction::maximum);
  return largest;
}

/// The values between which most of the mass lies, or most of massless particles, over all ranks with `count`
/// particles.
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

/// The colour of a value on the logarithmic range; values below the range have the darkest colour.
Color color_at(const Colormap& colors, const DensityRange& range, double value) {
  if (!(value > range.low)) return colors(darkest);
  return colors(darkest + (1 - darkest) * std::log(value / range.low) / std::log(range.high / range.low));
}

/// Particles as lights: colour by the options, opacity per mass by density^opacity_power.
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
              options.by_species() ? species_colors[p.species[i]] : color_at(colors, range, values[i]),
              p.id[i]};
  }
  return all;
}

/// The unit of the colours.
std::string colour_unit(const PictureOptions& options, const SnapshotHeader& header) {
  const AnalysisUnits units = plain_units(header);
  return drawn_unit(options.color == "dispersion" ? units.velocity : units.density());
}

/// The default camera of a volume picture: it looks along the axis and sees the frame.
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

/// The default range of colours of a volume picture: most of the mass.
DensityRange volume_range(const PictureOptions& options, ShownSnapshot shown, int threads) {
  const Surrounded found =
      structure_of(shown.snapshot.header, std::move(shown.snapshot.particles), *shown.ranks, threads);
  return range_of(colored_by(options, found.local), found.particles.mass, shown.count, *shown.ranks);
}

/// Smoothed particles that emit and absorb, in colours of their density, dispersion or species.
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
                     colour_unit(options, shown.snapshot.header));
  }
  return {figure, look.camera ? frame : look.frame, shown.count, picture.shown};
}

}  // namespace

/// Counts come from the headers: no particles are read.
bool is_for_ranks(const std::vector<std::string>& files) {
  return std::all_of(files.begin(), files.end(), [](const std::string& file) {
    if (is_openpmd(file)) return false;
    const auto counts = inspect_snapshot(file).counts;
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) > most_with_trails;
  });
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

/// Trails are found by one rank alone: is_for_ranks() is false for few bodies.
ShownSnapshot read_shown(const PictureOptions& options, const std::string& file, FewBodyFiles& earlier,
                         const std::shared_ptr<Communicator>& ranks) {
  ShownSnapshot shown{file, read_stretch(file, *ranks), 0, {}, ranks};
  shown.snapshot.particles = chosen(shown.snapshot.particles, options, file, *ranks);
  shown.count = over_ranks(shown.snapshot.particles.size(), *ranks);
  if (!options.no_trails && ranks->size() == 1) shown.trails = find_trails(file, shown.snapshot, earlier);
  return shown;
}

/// A periodic box is shown whole; else the frame follows the particles and their trails. Options have priority.
Look own_look(const PictureOptions& options, const ShownSnapshot& shown) {
  Look look;
  const auto& particles = shown.snapshot.particles;
  if (shown.count > 0) {
    look.frame = shown.trails.frame(particles, options.sight_line());
    if (shown.trails.empty() || !(look.frame.width > 0))
      look.frame = automatic_frame(particles, options.sight_line(), *shown.ranks);
  }
  if (const double box = shown.snapshot.header.box_size; box > 0) look.frame = {{box / 2, box / 2, box / 2}, box};
  if (options.center == "density" && shown.count > 0)
    look.frame.center = density_center(particles, *shown.ranks);
  else if (options.center != "auto" && options.center != "density")
    look.frame.center = parse_triple("--center", options.center);
  if (options.width > 0) look.frame.width = options.width;
  look.camera = options.camera_given(look.frame.center);
  if (const auto range = options.range_given()) {
    look.range = DensityRange{range->first, range->second};
    look.species_ranges.fill(look.range);
  }
  return look;
}

Look centred(const PictureOptions& options, Look look, const ShownSnapshot& shown) {
  look.frame.center = own_look(options, shown).frame.center;
  return look;
}

/// First pass: frames. Second pass: colours in the common frame, as these depend on it.
Look common_look(const PictureOptions& options, const std::vector<std::string>& files, FewBodyFiles& earlier,
                 int threads, const std::shared_ptr<Communicator>& ranks, bool own_centers) {
  Look look;
  FrameExtent extent;
  double longest = 0, widest = 0;
  const auto some = spread_over(files);  // read twice: together they may not fit into memory
  for (const auto& file : some) {
    const ShownSnapshot shown = read_shown(options, file, earlier, ranks);
    look = own_look(options, shown);
    extent.add(look.frame);
    widest = std::max(widest, look.frame.width);
    longest = std::max(longest, std::abs(shown.snapshot.header.time));
  }
  look.longest_time = longest;
  look.frame = extent.frame(options.sight_line());
  if (own_centers) look.frame.width = widest;
  if (options.width > 0) look.frame.width = options.width;
  look.camera = options.camera_given(look.frame.center);
  if (look.range) return look;
  for (const auto& file : some) {
    if (options.style == "volume") {
      if (!options.by_species())
        widen(look.range, volume_range(options, read_shown(options, file, earlier, ranks), threads));
      continue;
    }
    const ShownSnapshot shown = read_shown(options, file, earlier, ranks);
    const Seen seen = seen_in(options, shown, own_centers ? centred(options, look, shown) : look, threads);
    if (!options.by_species()) {
      widen(look.range, density_range(project(seen.particles, seen.projection, *ranks)));
      continue;
    }
    for (std::size_t k = 0; k < species_names.size(); ++k) {
      const Particles part = of_species(seen.particles, {std::string(species_names[k])});
      if (over_ranks(part.size(), *ranks) > 0)
        widen(look.species_ranges[k], density_range(project(part, seen.projection, *ranks)));
    }
  }
  return look;
}

/// Rank 0 has the figure; the other ranks take part in the sums.
Panel draw_shown(const PictureOptions& options, ShownSnapshot shown, const Look& look, int threads, bool color_bar) {
  RenderOptions render_options = labels(options, shown, look);
  if (options.style == "volume") {
    render_options.color_bar = color_bar;
    return draw_volume(options, std::move(shown), look, render_options, threads);
  }
  const Seen seen = seen_in(options, shown, look, threads);
  const Projection map = project(seen.particles, seen.projection, *shown.ranks);
  render_options.trails = seen.trails.on(map);
  render_options.color_bar = color_bar;
  const bool layers = options.by_species() && map.particles > 0;
  return {layers ? render_layers(layers_by_species(seen.particles, seen.projection, look, *shown.ranks), render_options)
                 : render(map, render_options),
          map.frame, shown.count, map.shown};
}

}  // namespace pergola::app
