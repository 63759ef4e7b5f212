#include "io/snapshot_writer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "device/device.hpp"
#include "io/snapshot_formats.hpp"
#include "io/spares.hpp"

namespace pergola {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t piece_particles = std::int64_t{1} << 20;

/// Calls body(particles, first, n) for pieces of the source, without a copy where it lies on the host.
template <class Body>
void for_pieces(ParticleSource& source, const Body& body) {
  const Particles* whole = source.whole();
  Particles piece;
  for (std::int64_t first = 0; first < source.count(); first += piece_particles) {
    const std::int64_t n = std::min(piece_particles, source.count() - first);
    if (whole) {
      body(*whole, first, n);
    } else {
      source.read(first, n, piece);
      body(piece, 0, n);
    }
  }
}

void check_arrays(const Particles& p, const fs::path& path) {
  const std::size_t n = p.id.size();
  bool right = p.species.size() == n && (p.potential.empty() || p.potential.size() == n);
  for (const auto* values : {&p.mass, &p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz}) right = right && values->size() == n;
  if (!right)
    throw Error(ErrorKind::input,
                fmt::format("{}: the particles to write have arrays of unequal length", path.string()));
}

}  // namespace

void check_to_write(const Particles& p, std::int64_t first, std::int64_t n, const fs::path& path) {
  check_arrays(p, path);
  const auto begin = p.species.begin() + first, end = begin + n;
  const auto unknown = std::find_if(begin, end, [](std::uint8_t s) { return s >= species_count; });
  if (unknown != end)
    throw Error(ErrorKind::input, fmt::format("{}: a particle to write has species {}, expected 0 to {}", path.string(),
                                              *unknown, species_count - 1));
}

std::int64_t SnapshotContents::total() const { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }

SnapshotContents contents_of(ParticleSource& source) {
  SnapshotContents contents;
  contents.potential = source.count() > 0;
  for_pieces(source, [&](const Particles& p, std::int64_t first, std::int64_t n) {
    check_to_write(p, first, n, source.name());
    for (std::int64_t i = first; i < first + n; ++i) {
      ++contents.counts[p.species[i]];
      contents.largest_id = std::max(contents.largest_id, p.id[i]);
    }
    contents.potential = contents.potential && !p.potential.empty();
  });
  return contents;
}

void SnapshotWriter::append(const Particles& from, std::int64_t first, std::int64_t n) {
  check_to_write(from, first, n, path_);
  if (n > contents_.total() - taken_)
    throw Error(ErrorKind::input, fmt::format("{}: more than the {} particles that were to be written", path_.string(),
                                              contents_.total()));
  if (contents_.potential && from.potential.empty() && n > 0)
    throw Error(ErrorKind::input,
                fmt::format("{}: a particle to write has no potential, expected one for all", path_.string()));
  take(from, first, n, taken_);
  taken_ += n;
}

void SnapshotWriter::complete() {
  if (closed_) return;
  if (taken_ != contents_.total())
    throw Error(ErrorKind::input,
                fmt::format("{}: {} particles to write, expected {}", path_.string(), taken_, contents_.total()));
  close();
  closed_ = true;
}

void SnapshotWriter::commit() {
  complete();
  give_name();
}

std::unique_ptr<SnapshotWriter> make_snapshot_writer(const fs::path& path, const SnapshotHeader& header,
                                                     const SnapshotContents& contents, const WriteOptions& options) {
  WriteOptions chosen = options;
  if (chosen.threads == 0) chosen.threads = available_cores();
  if (chosen.files > 1) return make_set_writer(path, header, contents, std::move(chosen));
  switch (options.format) {
    case SnapshotFormat::hdf5:
      return make_hdf5_writer(path, header, contents, std::move(chosen));
    case SnapshotFormat::gadget1:
    case SnapshotFormat::gadget2:
      return make_gadget_writer(path, header, contents, std::move(chosen));
    case SnapshotFormat::csv:
      break;
  }
  return make_csv_writer(path, header, contents, std::move(chosen));
}

void write_snapshot(const fs::path& path, const SnapshotHeader& header, ParticleSource& source,
                    const SnapshotContents& contents, const WriteOptions& options) {
  const auto writer = make_snapshot_writer(path, header, contents, options);
  for_pieces(source, [&](const Particles& p, std::int64_t first, std::int64_t n) { writer->append(p, first, n); });
  writer->commit();
}

void write_snapshot(const fs::path& path, const SnapshotHeader& header, ParticleSource& source,
                    const WriteOptions& options) {
  if (const Particles* whole = source.whole()) check_arrays(*whole, path);
  write_snapshot(path, header, source, contents_of(source), options);
}

void write_snapshot(const fs::path& path, const Snapshot& snapshot, const WriteOptions& options) {
  HostParticles source(snapshot.particles, path.string());
  write_snapshot(path, snapshot.header, source, options);
}

void queue_snapshot(WriteQueue& queue, const fs::path& path, const SnapshotHeader& header, ParticleSource& source,
                    const SnapshotContents& contents, WriteOptions options, std::function<void()> done) {
  const auto writer = std::make_shared<std::unique_ptr<SnapshotWriter>>();
  queue.push(0, [writer, path, header, contents, options = std::move(options)] {
    *writer = make_snapshot_writer(path, header, contents, options);
  });
  const auto spares = std::make_shared<Spares<Particles>>();
  for (std::int64_t first = 0; first < source.count(); first += piece_particles) {
    auto piece = spares->take();
    const std::int64_t n = std::min(piece_particles, source.count() - first);
    source.read(first, n, *piece);
    const std::int64_t reals = 7 + (piece->potential.empty() ? 0 : 1);
    queue.push(n * (9 + 8 * reals), [writer, spares, piece = std::move(piece), n]() mutable {
      (*writer)->append(*piece, 0, n);
      spares->give(std::move(piece));
    });
  }
  queue.push(0, [writer, done = std::move(done)] {
    (*writer)->commit();
    writer->reset();
    if (done) done();
  });
}

}  // namespace pergola
