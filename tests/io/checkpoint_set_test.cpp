#include "io/checkpoint_writer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "io/checkpoint.hpp"
#include "io/checkpoint_reader.hpp"

namespace pergola {
namespace {

namespace fs = std::filesystem;

class CheckpointSets : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("pergola-sets-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Particles first … first + count − 1 of a run: their numbers, as words and as bytes; and the time of the run.
  static StateSource stretch(std::int64_t first, std::int64_t count, double time) {
    StateSource state;
    const auto put = [&]<class T>(const char* name, T /*of the type*/) {
      std::vector<T> values(static_cast<std::size_t>(count));
      std::iota(values.begin(), values.end(), static_cast<T>(first));
      state.put_range(
          name, sizeof(T), count,
          [values](std::int64_t from, std::int64_t n, void* to) {
            std::copy_n(values.begin() + from, n, static_cast<T*>(to));
          },
          true);
    };
    put("id", std::uint64_t{});
    put("species", std::uint8_t{});
    state.put_value("time", time);
    return state;
  }
  static constexpr std::int64_t total = 100;

  /// A set with these numbers of particles.
  fs::path write(const std::vector<std::int64_t>& counts, double time = 0.5) const {
    const fs::path first = next_checkpoint(folder_);
    std::vector<CheckpointPart> parts;
    std::int64_t begin = 0;
    for (const std::int64_t count : counts) {
      parts.push_back(
          write_checkpoint_part(first, static_cast<std::int64_t>(parts.size()), stretch(begin, count, time)));
      begin += count;
    }
    write_checkpoint_set(first, "what it is", stretch(0, total, time), parts);
    return first;
  }
  std::string reason() const {
    const auto search = search_checkpoints(folder_);
    return search.found.empty() ? "" : search.found.front().reason;
  }
  static void change_byte(const fs::path& path, std::int64_t from_end) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-from_end, std::ios::end);
    const char old = static_cast<char>(file.get());
    file.seekp(-from_end, std::ios::end);
    file.put(static_cast<char>(old ^ 1));
  }

  fs::path folder_;
};

TEST_F(CheckpointSets, AreReadAsOneFileWhateverTheirParts) {
  const StateBlocks whole = stretch(0, total, 0.5).blocks();
  for (const auto& counts : std::vector<std::vector<std::int64_t>>{{100}, {50, 50}, {0, 33, 0, 66, 1}, {1, 99, 0}}) {
    const fs::path path = write(counts);
    const Checkpoint read = read_checkpoint(path);
    EXPECT_EQ(read.description, "what it is");
    EXPECT_TRUE(read.blocks.blocks() == whole.blocks());
    CheckpointReader reader(path);
    EXPECT_EQ(reader.format_version(), 5u);
    for (std::uint64_t first = 0; first < total; first += 7)
      for (const std::uint64_t count : {std::uint64_t{1}, total - first}) {
        std::vector<std::uint64_t> ids(count);
        reader.read("id", 8 * first, ids.data(), 8 * count);
        EXPECT_EQ(ids.front(), first);
        EXPECT_EQ(ids.back(), first + count - 1);
      }
    std::uint64_t beyond[2];
    EXPECT_THROW(reader.read("id", 8 * (total - 1), beyond, 16), Error);
  }
}

TEST_F(CheckpointSets, AreNoneUntilTheFileThatNamesThePartsIsThere) {
  const fs::path first = next_checkpoint(folder_);
  write_checkpoint_part(first, 0, stretch(0, total, 0.5));
  EXPECT_EQ(search_checkpoints(folder_).state, CheckpointSearch::State::never_written);
  EXPECT_EQ(write({60, 40}), first);
  EXPECT_EQ(search_checkpoints(folder_).state, CheckpointSearch::State::usable);
}

TEST_F(CheckpointSets, WithAMissingOrDamagedPartAreNotUsedAndTheOneBeforeIs) {
  const fs::path older = write({50, 50}, 0.25), newer = write({50, 50}, 0.5);
  change_byte(checkpoint_part(newer, 1), 20);
  EXPECT_EQ(search_checkpoints(folder_).usable(), older);
  EXPECT_NE(reason().find("checksum"), std::string::npos) << reason();
  fs::remove(checkpoint_part(newer, 1));
  EXPECT_EQ(search_checkpoints(folder_).usable(), older);
  EXPECT_NE(reason().find("part_00001.pgp is missing"), std::string::npos) << reason();
}

TEST_F(CheckpointSets, DoNotTakeThePartOfAnotherOne) {
  const fs::path older = write({50, 50}, 0.25), newer = write({40, 60}, 0.5);
  fs::copy_file(checkpoint_part(older, 0), checkpoint_part(newer, 0), fs::copy_options::overwrite_existing);
  EXPECT_NE(reason().find("belongs to another"), std::string::npos) << reason();
}

TEST_F(CheckpointSets, GoWithTheirPartsAndSoDoPartsThatWereLeft) {
  const fs::path first = write({50, 50});
  write_checkpoint_part(folder_ / "checkpoint_000099.pgc", 5, stretch(0, 3, 0));
  write({100}), write({30, 30, 40});
  EXPECT_FALSE(fs::exists(first));
  EXPECT_FALSE(fs::exists(checkpoint_part(first, 0)));
  EXPECT_FALSE(fs::exists(checkpoint_part(folder_ / "checkpoint_000099.pgc", 5)));
  const auto files = std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  EXPECT_EQ(files, 2 + 1 + 3);
}

}  // namespace
}  // namespace pergola
