#include "run/plan_sample.hpp"

#include <algorithm>
#include <cmath>

#include "io/snapshot.hpp"
#include "models/model_source.hpp"
#include "sim/open_particles.hpp"

namespace pergola {

namespace {

Count count_part(const RunConfig::ParticlesPart& part) {
  if (part.file.empty()) {
    const auto start = model_cosmology(part.model, part.options);
    return {model_count(find_model(part.model), part.options.n), start ? start->scale_factor : 0,
            model_box_side(part.model, part.options)};
  }
  const auto summary = inspect_snapshot(part.file);
  Count count{0, summary.header.time, summary.header.box_size};
  for (const std::int64_t species : summary.counts) count.n += species;
  return count;
}

}  // namespace

Count count_particles(const RunConfig& config) {
  if (config.particles.parts.empty()) return count_part(config.particles);
  Count count;  // two systems on an orbit begin at time 0
  for (const auto& part : config.particles.parts) count.n += count_part(part).n;
  return count;
}

bool thin_models(RunConfig& config, std::int64_t n) {
  const auto parts = config.particles.all();
  if (!std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part.file.empty(); })) return false;
  const double all = static_cast<double>(count_particles(config).n);
  for (auto& part : config.particles.all()) {  // each with its share of n
    const ModelInfo& model = find_model(part.model);
    if (!model.any_n) continue;
    const double share = static_cast<double>(model_count(model, part.options.n)) / all;
    const auto fewer = static_cast<std::int64_t>(std::llround(static_cast<double>(n) * share));
    const auto side = static_cast<std::int64_t>(std::cbrt(static_cast<double>(fewer)) + 1e-9);
    part.options.n = std::max(model.cube ? side * side * side : fewer, model.min_n);
  }
  return true;
}

Sample thinned(RunConfig& config, std::int64_t n, int threads) {
  if (thin_models(config, n)) {
    StartingPoint begin = open_particles(config, threads);
    Sample sample{{}, begin.time};
    begin.particles->read(0, begin.particles->count(), sample.particles);
    return sample;
  }
  StartingPoint begin = open_particles(config, threads);
  ParticleSource& all = *begin.particles;
  const std::int64_t stride = std::max<std::int64_t>(1, (all.count() + n - 1) / n), piece = std::int64_t{1} << 16;
  constexpr std::int64_t dense = 1024;  // beyond, single reads are cheaper than all of it
  Sample sample{{}, begin.time};
  Particles part, one;
  for (std::int64_t at = 0; at < all.count(); at += stride) {
    if (stride > dense || at / piece != (at - stride) / piece || at == 0) {
      const std::int64_t first = stride > dense ? at : at / piece * piece;
      all.read(first, std::min(stride > dense ? 1 : piece, all.count() - first), part);
    }
    const auto k = static_cast<std::size_t>(stride > dense ? 0 : at % piece);
    one.resize(1);
    one.id[0] = part.id[k], one.species[0] = part.species[k];
    one.mass[0] = part.mass[k] * static_cast<double>(stride);
    one.x[0] = part.x[k], one.y[0] = part.y[k], one.z[0] = part.z[k];
    one.vx[0] = part.vx[k], one.vy[0] = part.vy[k], one.vz[0] = part.vz[k];
    sample.particles.append(one);
  }
  return sample;
}

}  // namespace pergola
