#include "io/spread_snapshot.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "comm/shares.hpp"
#include "io/snapshot_formats.hpp"

// Who sends what to whom follows from the counts of all ranks, which FilePlan gathers once: no rank asks another one
// later. In each round every writer gets at most delivery_particles of one file. The particles of a file come rank by
// rank, each rank's in its own order. For a species that is the order in which one process would write them.
// A message holds the arrays of a piece one after the other: ids, species, and reals of 8 bytes.
namespace pergola {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t delivery_particles = std::int64_t{1} << 18;  // that a file gets at a time

/// What the other ranks must know of a rank's particles.
struct RankContents {
  SpeciesCounts counts{};
  std::uint64_t largest_id = 0;
  std::int64_t potentials = 0;  // particles that have one
};

/// Particles of a rank that go to a file: `place` … `place` + count − 1 of its own.
struct PlaceRun {
  std::int64_t place = 0, count = 0;
};

/// What a rank sends to a file in one round: its next `count` particles of that file.
struct Delivery {
  int file = 0, rank = 0;
  std::int64_t count = 0;
};

/// Which particles of which rank stand in which file. The same on all ranks.
class FilePlan {
 public:
  FilePlan(Communicator& ranks, const RankContents& own, int files)
      : files_(files), of_rank_(static_cast<std::size_t>(ranks.size())), first_row_(of_rank_.size()) {
    of_rank_[static_cast<std::size_t>(ranks.rank())] = own;
    ranks.all_gather_in_place(of_rank_.data(), std::vector<std::size_t>(of_rank_.size(), sizeof(RankContents)));
    std::int64_t potentials = 0;
    for (std::size_t r = 0; r < of_rank_.size(); ++r) {
      first_row_[r] = all_.counts;
      for (int s = 0; s < species_count; ++s) all_.counts[s] += of_rank_[r].counts[s];
      all_.largest_id = std::max(all_.largest_id, of_rank_[r].largest_id);
      potentials += of_rank_[r].potentials;
    }
    all_.potential = potentials > 0 && potentials == all_.total();
  }

  int ranks() const { return static_cast<int>(of_rank_.size()); }
  int files() const { return files_; }
  const SnapshotContents& all() const { return all_; }
  /// The rank that writes it: about where its particles are.
  int writer(int file) const { return static_cast<int>(std::int64_t{ranks()} * file / files_); }

  /// Rows of a species that a rank has of a file, counted from the first of its own.
  struct Rows {
    std::int64_t begin = 0, end = 0;
  };
  /// The rows of a species are shared out evenly over the files; a rank has those that lie in its own range.
  Rows rows(int rank, int file, int species) const {
    const auto r = static_cast<std::size_t>(rank);
    const Shares shares{all_.counts[species], files_};
    const auto own = [&](std::int64_t row) {
      return std::clamp<std::int64_t>(row - first_row_[r][species], 0, of_rank_[r].counts[species]);
    };
    return {own(shares.first(file)), own(shares.first(file + 1))};
  }
  std::int64_t count(int rank, int file) const {
    std::int64_t sum = 0;
    for (int s = 0; s < species_count; ++s) sum += rows(rank, file, s).end - rows(rank, file, s).begin;
    return sum;
  }

 private:
  int files_;
  std::vector<RankContents> of_rank_;
  std::vector<SpeciesCounts> first_row_;  // by rank and species
  SnapshotContents all_;
};

/// What a writer gets, round by round: its files one after the other, each from the first rank to the last.
class Deliveries {
 public:
  Deliveries(const FilePlan& plan, int writer) : plan_(&plan) {
    while (file_ < plan.files() && plan.writer(file_) < writer) ++file_;
    end_ = file_;
    while (end_ < plan.files() && plan.writer(end_) == writer) ++end_;
  }

  /// The next piece of a file; nothing when all are complete.
  std::vector<Delivery> next() {
    std::vector<Delivery> round;
    for (std::int64_t left = delivery_particles; file_ < end_ && left > 0;) {
      if (!round.empty() && round.back().file != file_) break;
      const std::int64_t n = std::min(left, plan_->count(rank_, file_) - given_);
      if (n > 0) round.push_back({file_, rank_, n});
      left -= n;
      given_ += n;
      if (given_ < plan_->count(rank_, file_)) continue;
      given_ = 0;
      if (++rank_ == plan_->ranks()) rank_ = 0, ++file_;
    }
    return round;
  }

 private:
  const FilePlan* plan_;
  int file_ = 0, end_ = 0, rank_ = 0;
  std::int64_t given_ = 0;  // of what rank_ gives to file_
};

/// A rank's own particles, by the files that they go to.
class OwnParticles {
 public:
  /// Looks at all of them once.
  explicit OwnParticles(ParticleSource& source) : source_(source) {
    SpeciesCounts next_row{};
    for (std::int64_t first = 0; first < source.count(); first += delivery_particles) {
      show(first);
      const Particles& p = *shown_;
      check_to_write(p, begin_, size_, source.name());
      const PieceRows found = find_rows(p, begin_, size_, next_row);
      for (int s = 0; s < species_count; ++s)
        for (RowRun run : found[s]) {
          run.place += first - begin_;
          auto& runs = runs_[s];
          if (!runs.empty() && runs.back().place + runs.back().count == run.place)
            runs.back().count += run.count;
          else
            runs.push_back(run);
        }
      for (std::int64_t i = begin_; i < begin_ + size_; ++i)
        contents_.largest_id = std::max(contents_.largest_id, p.id[static_cast<std::size_t>(i)]);
      if (!p.potential.empty()) contents_.potentials += size_;
    }
    contents_.counts = next_row;
  }

  const RankContents& contents() const { return contents_; }

  /// The next `count` particles of a file.
  void take(const FilePlan& plan, int rank, int file, std::int64_t count, Particles& to) {
    for_each_array([](auto& values) { values.clear(); }, to);
    Going& going = going_.try_emplace(file, *this, plan, rank, file).first->second;
    while (count > 0) {
      PlaceRun& run = going.runs[going.next];
      show(run.place);
      const std::int64_t n = std::min({count, run.count, first_ + size_ - run.place});
      copy(begin_ + run.place - first_, n, to);
      count -= n;
      run = {run.place + n, run.count - n};
      if (run.count == 0) ++going.next;
    }
    if (going.next == going.runs.size()) going_.erase(file);
  }

 private:
  /// The particles of a file that have not been sent yet.
  struct Going {
    Going(const OwnParticles& own, const FilePlan& plan, int rank, int file) {
      for (int s = 0; s < species_count; ++s) {
        const auto [begin, end] = plan.rows(rank, file, s);
        for_rows(own.runs_[s], begin, end, [&](std::int64_t, std::int64_t place, std::int64_t n) {
          runs.push_back({place, n});
        });
      }
      std::sort(runs.begin(), runs.end(), [](const PlaceRun& a, const PlaceRun& b) { return a.place < b.place; });
    }
    std::vector<PlaceRun> runs;
    std::size_t next = 0;
  };

  /// The block of the source that has particle `place`: *shown_ from begin_ on, size_ of them.
  void show(std::int64_t place) {
    const std::int64_t first = place / delivery_particles * delivery_particles;
    if (shown_ && first == first_) return;
    first_ = first;
    size_ = std::min(delivery_particles, source_.count() - first);
    shown_ = source_.whole();
    begin_ = shown_ ? first : 0;
    if (shown_) return;
    source_.read(first, size_, block_);
    shown_ = &block_;
  }

  void copy(std::int64_t from, std::int64_t n, Particles& to) const {
    const auto append = [&](const auto& values, auto& out) {
      if (!values.empty()) out.insert(out.end(), values.begin() + from, values.begin() + from + n);
    };
    for_each_array(append, *shown_, to);
  }

  ParticleSource& source_;
  RankContents contents_;
  std::array<std::vector<RowRun>, species_count> runs_;
  std::map<int, Going> going_;  // by file
  Particles block_;
  const Particles* shown_ = nullptr;
  std::int64_t first_ = 0, begin_ = 0, size_ = 0;
};

/// One rank's part of the work. All ranks go through the same rounds.
class DistributedWriter {
 public:
  DistributedWriter(Communicator& ranks, std::string path, const SnapshotHeader& header, OwnParticles& own,
                    const WriteOptions& options)
      : ranks_(ranks),
        path_(std::move(path)),
        header_(header),
        options_(options),
        own_(own),
        plan_(ranks, own.contents(), options.files) {
    options_.files = 1;
    for (int rank = 0; rank < ranks.size(); ++rank) deliveries_.emplace_back(plan_, rank);
  }

  /// Collective: rounds until nothing is left, then the files are ended, then named.
  void write() {
    while (next_round()) {
    }
    on_all(ranks_, [&] {
      for (int file = 0; file < plan_.files(); ++file)
        if (is_own(file)) part(file).complete();
    });
    give_names();
  }

 private:
  bool is_own(int file) const { return plan_.writer(file) == ranks_.rank(); }
  fs::path name(int file) const { return plan_.files() == 1 ? path_ : name_in_set(path_, file); }
  /// Of a message with `count` particles.
  std::size_t bytes(std::int64_t count) const {
    const std::size_t numbers = 7 + (plan_.all().potential ? 1 : 0);
    return static_cast<std::size_t>(count) * (sizeof(std::uint64_t) + numbers * sizeof(double) + 1);
  }

  /// Made when its first particle comes: of files that are filled in turn one has its buffers at a time.
  SnapshotWriter& part(int file) {
    auto& writer = parts_[file];
    if (!writer)
      writer = make_snapshot_writer(name(file), header_, contents_in_set(plan_.all(), plan_.files(), file), options_);
    return *writer;
  }

  /// False when there is nothing more to deliver.
  bool next_round() {
    std::vector<Delivery> given, taken;
    bool any = false;
    for (int writer = 0; writer < ranks_.size(); ++writer)
      for (const Delivery& one : deliveries_[static_cast<std::size_t>(writer)].next()) {
        any = true;
        if (one.rank == ranks_.rank()) given.push_back(one);
        if (writer == ranks_.rank()) taken.push_back(one);
      }
    if (!any) return false;
    std::vector<std::vector<std::byte>> sent(given.size()), got(taken.size());
    std::vector<Communicator::Outgoing> out;
    std::vector<Communicator::Incoming> in;
    on_all(ranks_, [&] {
      for (std::size_t k = 0; k < given.size(); ++k) {
        own_.take(plan_, ranks_.rank(), given[k].file, given[k].count, piece_);
        sent[k] = packed(piece_);
        out.push_back({plan_.writer(given[k].file), sent[k].data(), sent[k].size()});
      }
      for (std::size_t k = 0; k < taken.size(); ++k) {
        got[k].resize(bytes(taken[k].count));
        in.push_back({taken[k].rank, got[k].data(), got[k].size()});
      }
    });
    ranks_.exchange(out, in);
    on_all(ranks_, [&] {
      for (std::size_t k = 0; k < taken.size(); ++k) {
        unpack(got[k], taken[k].count, piece_);
        part(taken[k].file).append(piece_, 0, taken[k].count);
      }
    });
    return true;
  }

  /// Potentials are sent only if all particles of all ranks have one.
  std::vector<std::byte> packed(Particles& piece) const {
    if (!plan_.all().potential) piece.potential.clear();
    std::vector<std::byte> message(bytes(piece.size()));
    std::byte* at = message.data();
    const auto put = [&](const auto& values) {
      if (values.empty()) return;
      std::memcpy(at, values.data(), values.size() * sizeof values[0]);
      at += values.size() * sizeof values[0];
    };
    for_each_array(put, piece);
    return message;
  }

  /// The order of arrays is that of packed().
  void unpack(const std::vector<std::byte>& message, std::int64_t count, Particles& piece) const {
    piece.resize(count);
    piece.potential.resize(plan_.all().potential ? static_cast<std::size_t>(count) : 0);
    const std::byte* at = message.data();
    const auto get = [&](auto& values) {
      if (values.empty()) return;
      std::memcpy(values.data(), at, values.size() * sizeof values[0]);
      at += values.size() * sizeof values[0];
    };
    for_each_array(get, piece);
  }

  /// A set is found by its first file: that gets its name last.
  void give_names() {
    std::vector<fs::path> named;
    const auto name_own = [&](bool first) {
      for (auto& [file, writer] : parts_) {
        if ((file == 0) != first) continue;
        writer->commit();
        named.push_back(name(file));
      }
    };
    try {
      on_all(ranks_, [&] { name_own(false); });
      on_all(ranks_, [&] { name_own(true); });
    } catch (...) {
      for (const auto& path : named) {
        std::error_code ignored;
        fs::remove(path, ignored);
      }
      throw;
    }
  }

  Communicator& ranks_;
  fs::path path_;
  SnapshotHeader header_;
  WriteOptions options_;
  OwnParticles& own_;
  FilePlan plan_;
  std::vector<Deliveries> deliveries_;                    // by the writer's rank
  std::map<int, std::unique_ptr<SnapshotWriter>> parts_;  // of this rank
  Particles piece_;
};

}  // namespace

/// Ranks may work in different directories: all use rank 0's absolute path.
void write_distributed_snapshot(Communicator& ranks, const fs::path& path, const SnapshotHeader& header,
                                ParticleSource& own, const WriteOptions& options) {
  std::string name = fs::absolute(path).string();
  share(ranks, name);
  std::unique_ptr<OwnParticles> particles;
  on_all(ranks, [&] {
    if (options.files > 1) check_set(path, options);
    particles = std::make_unique<OwnParticles>(own);
  });
  DistributedWriter(ranks, name, header, *particles, options).write();
}

}  // namespace pergola
