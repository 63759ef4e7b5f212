#include "app/scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <utility>

#include "analysis/radii.hpp"
#include "app/rank_snapshot.hpp"
#include "app/series.hpp"
#include "app/volume_scene.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "io/openpmd.hpp"
#include "sim/unit_text.hpp"

namespace pergola::app {

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

std::int64_t over_ranks(std::int64_t count, Communicator& ranks) {
  ranks.all_reduce(&count, 1, Reduction::sum);
  return count;
}

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

/// What is seen, and how it is put on the map.
struct Seen {
  Particles particles;
  Trails trails;
  ProjectionOptions projection;
};

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
struct Extent {
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

}  // namespace

Color species_color(std::size_t species) { return species_colors[species]; }

std::vector<RenderLayer> species_present(const Particles& particles, const Projection& plane, Communicator& ranks) {
  std::vector<RenderLayer> layers;
  for (std::size_t k = 0; k < species_names.size(); ++k)
    if (over_ranks(std::count(particles.species.begin(), particles.species.end(), static_cast<std::uint8_t>(k)),
                   ranks) > 0)
      layers.push_back({plane, species_colors[k], std::string(species_names[k])});
  return layers;
}

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

ShownSnapshot read_shown(const PictureOptions& options, const std::string& file, FewBodyFiles& earlier,
                         const std::shared_ptr<Communicator>& ranks) {
  ShownSnapshot shown{file, read_stretch(file, *ranks), 0, {}, ranks};
  shown.snapshot.particles = chosen(shown.snapshot.particles, options, file, *ranks);
  shown.count = over_ranks(shown.snapshot.particles.size(), *ranks);
  if (!options.no_trails && ranks->size() == 1) shown.trails = find_trails(file, shown.snapshot, earlier);
  return shown;
}

/// A periodic box is shown whole; otherwise the frame follows the particles and their trails. What the user gives goes
/// before.
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

Look common_look(const PictureOptions& options, const std::vector<std::string>& files, FewBodyFiles& earlier,
                 int threads, const std::shared_ptr<Communicator>& ranks) {
  Look look;
  Extent extent;
  double longest = 0;
  const auto some = spread_over(files);  // read twice: many large ones need not fit into memory together
  for (const auto& file : some) {
    const ShownSnapshot shown = read_shown(options, file, earlier, ranks);
    look = own_look(options, shown);
    extent.add(look.frame);
    longest = std::max(longest, std::abs(shown.snapshot.header.time));
  }
  look.longest_time = longest;
  look.frame = extent.frame(options.sight_line());
  if (options.width > 0) look.frame.width = options.width;
  look.camera = options.camera_given(look.frame.center);
  if (look.range) return look;
  for (const auto& file : some) {
    if (options.style == "volume") {
      if (!options.by_species())
        widen(look.range, volume_range(options, read_shown(options, file, earlier, ranks), threads));
      continue;
    }
    const Seen seen = seen_in(options, read_shown(options, file, earlier, ranks), look, threads);
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
