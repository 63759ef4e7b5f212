#include "particles/sample.hpp"
#include "device/parallel.hpp"
#include "device/sort.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

namespace pergola {

namespace {

constexpr std::int64_t sample_piece = std::int64_t{1} << 20, sample_chunk = 65536;
constexpr std::uint64_t all_hashes = std::uint64_t{1} << 32;  // no hash is as large

/// Hashes are spread evenly: with few exceptions at least `most` of `count` are below this.
std::uint64_t likely_limit(std::int64_t count, std::int64_t most) {
  const double wanted = static_cast<double>(most) + 6 * std::sqrt(static_cast<double>(most)) + 32;
  const double share = wanted / static_cast<double>(count);
  return share < 1 ? static_cast<std::uint64_t>(share * static_cast<double>(all_hashes)) + 1 : all_hashes;
}

/// Of the ids of one piece, on the CPU.
void find_cpu(int threads, std::int64_t n, const std::uint64_t* id, std::int64_t first, std::uint64_t limit,
              std::vector<SampleCandidate>& found) {
  std::vector<std::vector<SampleCandidate>> parts(static_cast<std::size_t>((n + sample_chunk - 1) / sample_chunk));
  parallel_chunks(threads, n, sample_chunk, [&](std::int64_t begin, std::int64_t end) {
    auto& part = parts[static_cast<std::size_t>(begin / sample_chunk)];
    for (std::int64_t k = begin; k < end; ++k)
      if (sample_hash(id[k]) < limit) part.push_back({id[k], static_cast<std::uint32_t>(first + k)});
  });
  for (const auto& part : parts) found.insert(found.end(), part.begin(), part.end());
}

/// The same on a GPU: what is found comes back, and nothing else.
class FinderOnGpu {
 public:
  FinderOnGpu(const Device& device, std::int64_t size)
      : device_(device), places_(device, size), count_(device, 1), picked_(device, size) {}

  void find(std::int64_t n, const std::uint64_t* id, std::int64_t first, std::uint64_t limit,
            std::vector<SampleCandidate>& found) {
    count_.zero();
    if constexpr (cuda_built) find_sample_cuda(device_, n, id, limit, places_.data(), count_.data());
    std::uint32_t count = 0;
    count_.to_host(&count);
    if (count == 0) return;
    permute(device_, std::int64_t{count}, std::as_const(places_).data(), id, picked_.data());
    std::vector<std::uint32_t> places(count);
    std::vector<std::uint64_t> ids(count);
    device_.memory().to_host(places.data(), places_.data(), count * sizeof(std::uint32_t));
    device_.memory().to_host(ids.data(), picked_.data(), count * sizeof(std::uint64_t));
    for (std::size_t k = 0; k < count; ++k)
      found.push_back({ids[k], static_cast<std::uint32_t>(first + std::int64_t{places[k]})});
  }

 private:
  Device device_;
  Buffer<std::uint32_t> places_, count_;
  Buffer<std::uint64_t> picked_;
};

std::vector<SampleCandidate> find_below(const ShownParticles& shown, std::uint64_t limit) {
  const Device& device = shown.device();
  const std::int64_t size = std::min(sample_piece, shown.count());
  Buffer<std::uint64_t> id(device, size);
  FinderOnGpu finder(device, device.is_cuda() ? size : 0);
  ShownArrays<double> to;
  to.id = id.data();
  std::vector<SampleCandidate> found;
  for (std::int64_t first = 0; first < shown.count(); first += size) {
    const std::int64_t n = std::min(size, shown.count() - first);
    shown.show(first, n, to);
    if (device.is_cuda())
      finder.find(n, id.data(), first, limit, found);
    else
      find_cpu(device.threads(), n, id.data(), first, limit, found);
  }
  return found;
}

/// The `wanted` of `count` particles with the smallest hashes; below(limit) gives those whose hash is below a limit.
template <class Below>
std::vector<SampleCandidate> smallest_hashes(std::int64_t count, std::int64_t wanted, const Below& below) {
  std::uint64_t limit = likely_limit(count, wanted);
  std::vector<SampleCandidate> found = below(limit);
  while (std::ssize(found) < wanted) {
    limit = std::min(2 * limit, all_hashes);
    found = below(limit);
  }
  choose_sample(found, wanted);
  return found;
}

/// Rising places in the input.
std::vector<std::uint32_t> sample_places_of(const ShownParticles& shown, std::int64_t most) {
  const std::int64_t wanted = std::min(shown.count(), most);
  std::vector<std::uint32_t> places(static_cast<std::size_t>(wanted));
  if (wanted == shown.count()) {
    std::iota(places.begin(), places.end(), 0u);
    return places;
  }
  const auto found =
      smallest_hashes(shown.count(), wanted, [&](std::uint64_t limit) { return find_below(shown, limit); });
  std::transform(found.begin(), found.end(), places.begin(), [](const SampleCandidate& one) { return one.place; });
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace

void choose_sample(std::vector<SampleCandidate>& candidates, std::int64_t most) {
  if (std::ssize(candidates) <= most) return;
  const auto comes_before = [](const SampleCandidate& a, const SampleCandidate& b) {
    return std::tuple(sample_hash(a.id), a.id) < std::tuple(sample_hash(b.id), b.id);
  };
  std::nth_element(candidates.begin(), candidates.begin() + most, candidates.end(), comes_before);
  candidates.resize(static_cast<std::size_t>(most));
}

std::vector<std::uint64_t> ids_of_sample(int threads, std::int64_t count, std::int64_t most) {
  const std::int64_t wanted = std::min(count, most), size = std::min(sample_piece, count);
  std::vector<std::uint64_t> ids(static_cast<std::size_t>(size));
  const auto below = [&](std::uint64_t limit) {
    std::vector<SampleCandidate> found;
    for (std::int64_t first = 0; first < count; first += size) {
      std::iota(ids.begin(), ids.end(), static_cast<std::uint64_t>(first + 1));
      find_cpu(threads, std::min(size, count - first), ids.data(), first, limit, found);
    }
    return found;
  };
  const auto found = smallest_hashes(count, wanted, below);
  ids.resize(static_cast<std::size_t>(wanted));
  std::transform(found.begin(), found.end(), ids.begin(), [](const SampleCandidate& one) { return one.id; });
  std::sort(ids.begin(), ids.end());
  return ids;
}

ParticleSample::ParticleSample(const ShownParticles& shown, std::int64_t most)
    : places_(shown.device(), sample_places_of(shown, most)) {}

Particles ParticleSample::read(const ShownParticles& shown) {
  if (!piece_) piece_.emplace(shown.device(), size());
  const ShownArrays<double> from = piece_->arrays();
  shown.show_at(std::as_const(places_).data(), size(), from);
  shown.device().synchronize();
  Particles to;
  to.resize(size());
  const auto copy = [&](const auto* values, auto& list) { std::copy(values, values + size(), list.begin()); };
  copy(from.x, to.x), copy(from.y, to.y), copy(from.z, to.z);
  copy(from.vx, to.vx), copy(from.vy, to.vy), copy(from.vz, to.vz);
  copy(from.mass, to.mass), copy(from.species, to.species), copy(from.id, to.id);
  return to;
}

SampledPoints ParticleSample::points(const ShownParticles& shown) {
  const Device& device = shown.device();
  if (!drawn_) {
    drawn_.emplace();
    for (auto& one : drawn_->place) one = Buffer<double>(device, size());
    drawn_->species = Buffer<std::uint8_t>(device, size());
    for (auto& one : drawn_->number) one = SharedBuffer<float>(device, size());
    drawn_->kind = SharedBuffer<std::uint8_t>(device, size());
    SharedBuffer<std::uint64_t> id(device, size());
    ShownArrays<double> ids_only;
    ids_only.id = id.data();
    shown.show_at(std::as_const(places_).data(), size(), ids_only);
    device.synchronize();
    id_.assign(id.data(), id.data() + size());
  }
  Drawn& at = *drawn_;
  DrawPoint body;
  body.from.x = at.place[0].data(), body.from.y = at.place[1].data(), body.from.z = at.place[2].data();
  body.from.vx = at.place[3].data(), body.from.vy = at.place[4].data(), body.from.vz = at.place[5].data();
  body.from.species = at.species.data();
  body.to.x = at.number[0].data(), body.to.y = at.number[1].data(), body.to.z = at.number[2].data();
  body.to.vx = at.number[3].data();
  body.to.species = at.kind.data();
  shown.show_at(std::as_const(places_).data(), size(), body.from);
  if (device.is_cuda()) {
    if constexpr (cuda_built) draw_points_cuda(device, size(), body);
  } else {
    parallel_chunks(device.threads(), size(), sample_chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(i);
    });
  }
  device.synchronize();
  const auto copy = [&](const auto* values, auto& list) { list.assign(values, values + size()); };
  SampledPoints points;
  copy(body.to.x, points.x), copy(body.to.y, points.y), copy(body.to.z, points.z);
  copy(body.to.vx, points.speed), copy(body.to.species, points.species);
  points.id = id_;
  return points;
}

}  // namespace pergola
