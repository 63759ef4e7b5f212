#include "io/spread_snapshot.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "domain/share_source.hpp"
#include "io/temporary_directory.hpp"

namespace pergola {
namespace {

/// With potentials; species by blocks or in no order.
Particles particles_of(std::int64_t count, bool mixed) {
  Particles p = some_particles(count);
  p.potential.resize(p.x.size());
  for (std::int64_t i = 0; i < count; ++i) {
    if (mixed) p.species[i] = static_cast<std::uint8_t>((i / 7 + i / 1000) % 3 + 1);
    p.potential[i] = -p.mass[i];
  }
  return p;
}

class DistributedSnapshot : public FileTest {
 protected:
  std::vector<std::filesystem::path> names(const std::string& name, int files) const {
    if (files == 1) return {at(name)};
    std::vector<std::filesystem::path> all;
    for (int k = 0; k < files; ++k) all.push_back(name_in_set(at(name), k));
    return all;
  }

  void write_by(int ranks, const std::string& name, const Particles& particles, const WriteOptions& options) {
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      HostParticles all(particles);
      const Shares shares{particles.size(), ranks};
      ShareSource own(all, shares.first(communicator.rank()), shares.count(communicator.rank()));
      write_distributed_snapshot(communicator, at(name), header_, own, options);
    });
  }

  /// The reference is the writer of one process, which has all particles.
  void expect_files_of_one(const Particles& particles, WriteOptions options, const std::vector<int>& rank_counts,
                           const std::vector<int>& file_counts) {
    options.threads = 1;
    for (const int files : file_counts) {
      options.files = files;
      HostParticles all(particles);
      write_snapshot(at("one"), header_, all, options);
      for (const int ranks : rank_counts) {
        write_by(ranks, "several", particles, options);
        for (std::size_t k = 0; k < names("one", files).size(); ++k)
          EXPECT_TRUE(read_bytes(names("several", files)[k]) == read_bytes(names("one", files)[k]))
              << "file " << k << " of " << files << ", " << ranks << " ranks, " << particles.size() << " particles";
        for (const auto& file : names("several", files)) EXPECT_TRUE(std::filesystem::remove(file));
      }
      for (const auto& file : names("one", files)) std::filesystem::remove(file);
      EXPECT_EQ(files_in_directory(), 0u);
    }
  }

  SnapshotHeader header_;
};

TEST_F(DistributedSnapshot, HasTheFilesOfOneProcess) {
  for (const bool mixed : {false, true})
    expect_files_of_one(particles_of(3001, mixed), {}, {1, 2, 3, 4, 7}, {1, 3, 5, 8});
}

TEST_F(DistributedSnapshot, HasTheFilesOfOneProcessInOtherFormats) {
  const Particles particles = particles_of(2011, true);
  WriteOptions options;
  options.format = SnapshotFormat::gadget2;
  options.single_precision = true;
  expect_files_of_one(particles, options, {2, 7}, {1, 3});
  options.format = SnapshotFormat::csv;
  expect_files_of_one(particles, options, {3}, {1});
}

TEST_F(DistributedSnapshot, TakesSeveralRoundsForALargeFile) {
  WriteOptions options;
  options.format = SnapshotFormat::gadget1;
  expect_files_of_one(particles_of(300001, true), options, {1, 3}, {1});
}

TEST_F(DistributedSnapshot, MayHaveMoreRanksOrFilesThanParticles) {
  expect_files_of_one(particles_of(3, true), {}, {2, 7}, {1, 8});
}

TEST_F(DistributedSnapshot, IsReadAsOne) {
  const Particles particles = some_particles(3001, false);
  WriteOptions options;
  options.files = 4;
  write_by(3, "set", particles, options);
  expect_same(read_snapshot(at("set")).particles, particles);
}

// A rank's file cannot get its name: no rank leaves one, and all say the same.
TEST_F(DistributedSnapshot, LeavesNothingWhereOneRankCannotWrite) {
  const Particles particles = particles_of(1000, true);
  WriteOptions options;
  options.files = 3;
  for (const int in_the_way : {0, 1, 2}) {
    const auto folder = name_in_set(at("set"), in_the_way);
    std::filesystem::create_directories(folder / "in the way");
    std::vector<std::string> said(3);
    run_on_thread_ranks(3, [&](Communicator& communicator) {
      HostParticles all(particles);
      const Shares shares{particles.size(), 3};
      const int rank = communicator.rank();
      ShareSource own(all, shares.first(rank), shares.count(rank));
      try {
        write_distributed_snapshot(communicator, at("set"), header_, own, options);
      } catch (const Error& error) {
        said[static_cast<std::size_t>(rank)] = error.what();
      }
    });
    EXPECT_NE(said[0].find(folder.filename().string()), std::string::npos) << said[0];
    EXPECT_EQ(said[1], said[0]);
    EXPECT_EQ(said[2], said[0]);
    EXPECT_EQ(files_in_directory(), 1u);
    std::filesystem::remove_all(folder);
  }
}

}  // namespace
}  // namespace pergola
