#include "io/snapshot_writer.hpp"
#include "base/error.hpp"
#include "comm/shares.hpp"
#include "device/device.hpp"
#include "io/snapshot_formats.hpp"
#include "io/write_queue.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <system_error>
#include <utility>

namespace pergola {

namespace fs = std::filesystem;

namespace {

// In memory at a time, if the source is not on the host as a whole.
constexpr std::int64_t piece_particles = std::int64_t{1} << 20;

/// Calls body(particles, first, n) for pieces of the source, without a copy if it lies on the host.
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

/// Potentials may be missing; all other arrays have a value per particle.
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

/// Goes through the whole source once, before the writer is made.
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

/// Checks what all formats ask for, and hands the piece to the format.
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

/// A file with fewer particles than announced is refused. May be called twice.
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

namespace {

/// Particles `places` of `from`.
void pick(const Particles& from, const std::vector<std::int64_t>& places, Particles& to) {
  const auto each = [&](const auto& values, auto& out) {
    out.resize(values.empty() ? 0 : places.size());
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = values[static_cast<std::size_t>(places[k])];
  };
  for_each_array(each, from, to);
}

/// A snapshot in several files, as GADGET's. Each file holds a part of every species. The parts of a species follow
/// each other in the order of the files, so that all files together hold a species in the order of one file.
class SetWriter final : public SnapshotWriter {
 public:
  SetWriter(const fs::path& path, const SnapshotHeader& header, const SnapshotContents& contents, WriteOptions options)
      : SnapshotWriter(path, contents), header_(header), options_(std::move(options)), files_(options_.files) {
    check_set(path, options_);
    options_.files = 1;
    parts_.resize(static_cast<std::size_t>(files_));
  }

 private:
  Shares shares(int species) const { return {contents_.counts[species], files_}; }

  /// Made when its first particle comes: of files that are filled in turn one has its buffers at a time.
  SnapshotWriter& part(int file) {
    auto& writer = parts_[static_cast<std::size_t>(file)];
    if (!writer)
      writer =
          make_snapshot_writer(name_in_set(path_, file), header_, contents_in_set(contents_, files_, file), options_);
    return *writer;
  }

  /// Of the next particle of a species.
  int next_file(int species) {
    int& file = file_of_[species];
    while (file + 1 < files_ && row_[species] >= shares(species).first(file + 1)) ++file;
    ++row_[species];
    return file;
  }

  void take(const Particles& from, std::int64_t first, std::int64_t n, std::int64_t) override {
    std::vector<std::vector<std::int64_t>> places(static_cast<std::size_t>(files_));
    for (std::int64_t i = first; i < first + n; ++i)
      places[static_cast<std::size_t>(next_file(from.species[static_cast<std::size_t>(i)]))].push_back(i);
    for (int file = 0; file < files_; ++file) {
      const auto& own = places[static_cast<std::size_t>(file)];
      if (std::ssize(own) == n) {
        part(file).append(from, first, n);
      } else if (!own.empty()) {
        pick(from, own, picked_);
        part(file).append(picked_, 0, std::ssize(own));
      }
      if (is_full(file)) part(file).complete();
    }
  }

  bool is_full(int file) const {
    for (int s = 0; s < species_count; ++s)
      if (row_[s] < shares(s).first(file + 1)) return false;
    return true;
  }

  void close() override {
    for (int file = 0; file < files_; ++file) part(file).complete();
  }

  /// A set is found by its first file: that gets its name last.
  void give_name() override {
    int named = files_;
    try {
      while (named > 0) parts_[static_cast<std::size_t>(named - 1)]->commit(), --named;
    } catch (...) {
      for (; named < files_; ++named) {
        std::error_code ignored;
        fs::remove(name_in_set(path_, named), ignored);
      }
      throw;
    }
  }

  SnapshotHeader header_;
  WriteOptions options_;
  int files_;
  std::vector<std::unique_ptr<SnapshotWriter>> parts_;
  std::array<std::int64_t, species_count> row_{};
  std::array<int, species_count> file_of_{};
  Particles picked_;
};

}  // namespace

void check_set(const fs::path& path, const WriteOptions& options) {
  if (const auto& format = snapshot_format(options.format); !format.can.sets)
    throw Error(ErrorKind::input,
                fmt::format("{}: {} is one file, found {} to write", path.string(), format.title, options.files));
  if (!options.acceleration[0].empty())
    throw Error(ErrorKind::input,
                fmt::format("{}: accelerations go to one file, found {}", path.string(), options.files));
}

SnapshotContents contents_in_set(const SnapshotContents& all, int files, int file) {
  SnapshotContents contents = all;
  contents.files = files;
  contents.in_set = all.counts;
  for (int s = 0; s < species_count; ++s) contents.counts[s] = Shares{all.counts[s], files}.count(file);
  return contents;
}

std::unique_ptr<SnapshotWriter> make_snapshot_writer(const fs::path& path, const SnapshotHeader& header,
                                                     const SnapshotContents& contents, const WriteOptions& options) {
  WriteOptions chosen = options;
  if (chosen.threads == 0) chosen.threads = available_cores();
  if (chosen.files > 1) return std::make_unique<SetWriter>(path, header, contents, std::move(chosen));
  return snapshot_format(chosen.format).make_writer(path, header, contents, std::move(chosen));
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
