#include "app/bench_boxes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "base/units.hpp"
#include "device/parallel.hpp"
#include "io/snapshot.hpp"
#include "models/model.hpp"

namespace pergola::app {

namespace {

/// Numbers that are floats, within the box: every precision starts from the same ones.
double within(double x) { return static_cast<double>(static_cast<float>(x - std::floor(x)) * 0.999999f); }

}  // namespace

BoxCase clustered_box(std::int64_t n, int threads) {
  Particles p;
  p.resize(n);
  const std::int64_t clumps = std::max<std::int64_t>(1, n / 800);
  const auto draw = [&](std::size_t i) {
    Philox random(12, 0, i);
    double at[3] = {random.uniform(), random.uniform(), random.uniform()};
    if (random.uniform() > 0.25) {
      // The clump at the part s of their list has a mass ∝ (1 − s)³, and is drawn in proportion to it.
      const double s = 1 - std::pow(random.uniform(), 1.0 / 4);
      const auto c = static_cast<std::int64_t>(s * static_cast<double>(clumps));
      const double part = 4 * std::pow(1 - s, 3) / static_cast<double>(clumps);
      const double a = 0.1 * std::cbrt(part / (200 * 4.18879));
      const double q = std::sqrt(0.8 * random.uniform()), r = a * q / (1 - q);
      const double cosine = 2 * random.uniform() - 1, angle = 6.283185307179586 * random.uniform();
      const double sine = std::sqrt(1 - cosine * cosine);
      Philox place(12, 1, static_cast<std::uint64_t>(c));
      at[0] = place.uniform() + r * sine * std::cos(angle);
      at[1] = place.uniform() + r * sine * std::sin(angle);
      at[2] = place.uniform() + r * cosine;
    }
    p.x[i] = within(at[0]), p.y[i] = within(at[1]), p.z[i] = within(at[2]);
    p.mass[i] = 1 / static_cast<double>(n);
    p.id[i] = i;
  };
  parallel_chunks(threads, n, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) draw(static_cast<std::size_t>(i));
  });
  return {"clustered", std::move(p)};
}

BoxCase early_box(std::int64_t n, int threads) {
  const auto per_side = std::max<std::int64_t>(2, std::lround(std::cbrt(static_cast<double>(n))));
  ModelOptions options;
  options.n = per_side * per_side * per_side;
  options.values = {{"box", 50.0}, {"redshift", 63.0}};
  options.gravitational_constant = find_unit_system("cosmology")->gravitational_constant;
  BoxCase box{"early", make_model("cosmology", options, threads), true};
  Particles& p = box.particles;
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    p.x[i] = within(p.x[i] / 50), p.y[i] = within(p.y[i] / 50), p.z[i] = within(p.z[i] / 50);
    p.mass[i] = 1 / static_cast<double>(options.n);
  }
  return box;
}

Particles tiled(const Particles& from, int tiles) {
  const std::size_t n = from.x.size(), t = static_cast<std::size_t>(tiles), copies = t * t * t;
  Particles p;
  p.resize(static_cast<std::int64_t>(n * copies));
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    const std::size_t copy = i / n, k = i % n;
    const auto place = [&](double x, std::size_t of) { return within((x + static_cast<double>(of)) / tiles); };
    p.x[i] = place(from.x[k], copy % t), p.y[i] = place(from.y[k], copy / t % t);
    p.z[i] = place(from.z[k], copy / t / t);
    p.mass[i] = from.mass[k] / static_cast<double>(copies);
    p.id[i] = i;
  }
  return p;
}

BoxCase box_of_file(const std::string& file) {
  Snapshot snapshot = read_snapshot(file);
  const double side = snapshot.header.box_size;
  if (!(side > 0))
    throw Error(ErrorKind::input, fmt::format("{}: expected a box with periodic sides, found none", file));
  Particles& p = snapshot.particles;
  const double mass = std::accumulate(p.mass.begin(), p.mass.end(), 0.0);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    p.x[i] = within(p.x[i] / side), p.y[i] = within(p.y[i] / side), p.z[i] = within(p.z[i] / side);
    p.mass[i] /= mass;
  }
  return {"file", std::move(p)};
}

}  // namespace pergola::app
