#include "models/drawn_model.hpp"

#include <algorithm>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/shares.hpp"
#include "device/parallel.hpp"

namespace pergola {

namespace {

constexpr std::int64_t chunk = 4096;  // of sums, as in centre()

std::array<double, 6> numbers_of(const PhaseSpacePoint& p) { return {p.x.x, p.x.y, p.x.z, p.v.x, p.v.y, p.v.z}; }

}  // namespace

Particles make_drawn(const DrawnModel& model, int threads) {
  Particles particles = equal_masses(model.n, model.total_mass);
  draw_particles(particles, model.seed, threads, model.draw);
  if (model.centred) centre(particles, threads);
  return particles;
}

DrawnSource::DrawnSource(DrawnModel model, int threads)
    : model_(std::move(model)),
      threads_(threads),
      mass_(model_.total_mass / static_cast<double>(model_.n)),
      mean_known_(!model_.centred) {}

PhaseSpacePoint DrawnSource::drawn(std::int64_t i) const {
  Philox random(model_.seed, 0, static_cast<std::uint64_t>(i));
  return model_.draw(random);
}

/// The sums of centre(): per chunk, added in the order of the chunks.
void DrawnSource::find_mean(Communicator& ranks) {
  struct Sums {
    double mass = 0;
    std::array<double, 6> weighted{};
  };
  const Shares chunks{(model_.n + chunk - 1) / chunk, ranks.size()};
  const std::int64_t first = chunks.first(ranks.rank()) * chunk;
  const std::int64_t last = std::min(model_.n, chunks.first(ranks.rank() + 1) * chunk);
  std::vector<Sums> own(static_cast<std::size_t>(chunks.count(ranks.rank())));
  parallel_chunks(threads_, last - first, chunk, [&](std::int64_t begin, std::int64_t end) {
    Sums sums;
    for (std::int64_t i = first + begin; i < first + end; ++i) {
      const auto numbers = numbers_of(drawn(i));
      sums.mass += mass_;
      for (std::size_t c = 0; c < numbers.size(); ++c) sums.weighted[c] += mass_ * numbers[c];
    }
    own[static_cast<std::size_t>(begin / chunk)] = sums;
  });
  const std::vector<Sums> partial = gather_on_all(ranks, chunks, own.data());
  Sums total;
  for (const Sums& sums : partial) {
    total.mass += sums.mass;
    for (std::size_t c = 0; c < mean_.size(); ++c) total.weighted[c] += sums.weighted[c];
  }
  for (std::size_t c = 0; c < mean_.size(); ++c) mean_[c] = total.weighted[c] / total.mass;
  mean_known_ = true;
}

void DrawnSource::read(std::int64_t first, std::int64_t n, Particles& to) {
  if (!mean_known_) find_mean(*serial_communicator());
  const auto room = static_cast<std::size_t>(n);
  to.id.resize(room);
  to.species.assign(room, species_halo);
  to.mass.assign(room, mass_);
  to.potential.clear();
  const std::array<std::vector<double>*, 6> columns{&to.x, &to.y, &to.z, &to.vx, &to.vy, &to.vz};
  for (auto* column : columns) column->resize(room);
  parallel_chunks(threads_, n, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      to.id[i] = static_cast<std::uint64_t>(first + i) + 1;
      const auto numbers = numbers_of(drawn(first + i));
      for (std::size_t c = 0; c < numbers.size(); ++c)
        (*columns[c])[i] = model_.centred ? numbers[c] - mean_[c] : numbers[c];
    }
  });
}

}  // namespace pergola
