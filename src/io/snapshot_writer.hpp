#pragma once
// Writes snapshots in pieces.
//
// `make_snapshot_writer` makes the writer of a format, or one for a set of files that shares the particles of each
// species among them. A writer gets the counts first (`SnapshotContents`), so that every array has its place; then
// pieces come in the order of the input. `complete()` ends the file, `commit()` gives it its name; a set gets that of
// its first file last.
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "io/snapshot.hpp"
#include "io/write_queue.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// Looks at all particles, a piece at a time.
PERGOLA_API SnapshotContents contents_of(ParticleSource& source);

/// Writes a snapshot in pieces, with one piece in memory at a time. Calls may come from different threads,
/// one at a time. The file does not depend on the sizes of the pieces. Without commit() nothing is left behind.
class PERGOLA_API SnapshotWriter {
 public:
  virtual ~SnapshotWriter() = default;
  /// The next n particles: from `first` on of `from`.
  void append(const Particles& from, std::int64_t first, std::int64_t n);
  /// All particles are there: ends what is written. The file still waits for its name.
  void complete();
  /// The same, and gives the file its name.
  void commit();

 protected:
  SnapshotWriter(const std::filesystem::path& path, const SnapshotContents& contents)
      : path_(path), contents_(contents) {}
  /// The same with the number that the first of them has among all.
  virtual void take(const Particles& from, std::int64_t first, std::int64_t n, std::int64_t number) = 0;
  virtual void close() {}
  virtual void give_name() = 0;

  std::filesystem::path path_;
  SnapshotContents contents_;

 private:
  std::int64_t taken_ = 0;
  bool closed_ = false;
};

PERGOLA_API std::unique_ptr<SnapshotWriter> make_snapshot_writer(const std::filesystem::path& path,
                                                                 const SnapshotHeader& header,
                                                                 const SnapshotContents& contents,
                                                                 const WriteOptions& options = {});

/// Writes all particles of a source with a piece of them in memory at a time.
PERGOLA_API void write_snapshot(const std::filesystem::path& path, const SnapshotHeader& header, ParticleSource& source,
                                const SnapshotContents& contents, const WriteOptions& options = {});
PERGOLA_API void write_snapshot(const std::filesystem::path& path, const SnapshotHeader& header, ParticleSource& source,
                                const WriteOptions& options = {});

/// Reads the source piece by piece and has the queue write it: when this returns the source may change. The queue's
/// bound is what may wait. done() is called on the queue's thread once the file has its name.
PERGOLA_API void queue_snapshot(WriteQueue& queue, const std::filesystem::path& path, const SnapshotHeader& header,
                                ParticleSource& source, const SnapshotContents& contents, WriteOptions options = {},
                                std::function<void()> done = nullptr);

}  // namespace pergola
