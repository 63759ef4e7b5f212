// A snapshot in several files, as GADGET's: each holds a part of every species, and the parts of a species stand in the
// files one after the other. So the files together hold each species in the order of one file.
#include <fmt/core.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "comm/shares.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola {

namespace fs = std::filesystem;

namespace {

/// Particles `places` of `from`.
void pick(const Particles& from, const std::vector<std::int64_t>& places, Particles& to) {
  const auto each = [&](const auto& values, auto& out) {
    out.resize(values.empty() ? 0 : places.size());
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = values[static_cast<std::size_t>(places[k])];
  };
  each(from.id, to.id), each(from.species, to.species);
  each(from.mass, to.mass), each(from.potential, to.potential);
  each(from.x, to.x), each(from.y, to.y), each(from.z, to.z);
  each(from.vx, to.vx), each(from.vy, to.vy), each(from.vz, to.vz);
}

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
  if (options.format == SnapshotFormat::csv)
    throw Error(ErrorKind::input, fmt::format("{}: CSV is one file, found {} to write", path.string(), options.files));
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

std::unique_ptr<SnapshotWriter> make_set_writer(const fs::path& path, const SnapshotHeader& header,
                                                const SnapshotContents& contents, WriteOptions options) {
  return std::make_unique<SetWriter>(path, header, contents, std::move(options));
}

}  // namespace pergola
