#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "io/snapshot.hpp"
#include "io/snapshot_writer.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// The particles of a snapshot, in pieces: nobody needs all of them in memory (CSV, which has no places to look up, is
/// kept as a whole). Heads and shapes of all files are checked when it is made; numbers and ids by check().
class PERGOLA_API SnapshotSource final : public ParticleSource {
 public:
  /// `path` as for read_snapshot(); threads = 0: all cores that this process may use.
  explicit SnapshotSource(const std::filesystem::path& path, int threads = 0);
  ~SnapshotSource() override;

  const SnapshotSummary& summary() const { return summary_; }
  int threads() const { return threads_; }
  std::int64_t count() const override;
  void read(std::int64_t first, std::int64_t n, Particles& to) override;
  std::string name() const override { return name_; }
  /// Reads everything once, a piece at a time, and throws Error(input) for numbers that are not finite, masses below 0
  /// and ids that occur twice. What it saw is what a writer must know.
  SnapshotContents check();

 private:
  struct Files;
  std::string name_;
  int threads_;
  SnapshotSummary summary_;
  std::unique_ptr<Files> files_;
};

}  // namespace pergola
