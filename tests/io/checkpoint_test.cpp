#include "io/checkpoint.hpp"

#include <gtest/gtest.h>

#include "io/temporary_directory.hpp"

namespace pergola {
namespace {

class CheckpointFile : public FileTest {
 protected:
  static Checkpoint some_checkpoint(double time) {
    Checkpoint checkpoint;
    checkpoint.description = "{\"time\": " + std::to_string(time) + "}";
    checkpoint.blocks.put("x", std::vector<double>{time, 2 * time, 3 * time});
    checkpoint.blocks.put("id", std::vector<std::uint64_t>{1, 2, 3});
    checkpoint.blocks.put("empty", std::vector<float>{});
    checkpoint.blocks.put_value("steps", std::int64_t{42});
    return checkpoint;
  }
  static void expect_same(const Checkpoint& a, const Checkpoint& b) {
    EXPECT_EQ(a.description, b.description);
    EXPECT_EQ(a.blocks.blocks(), b.blocks.blocks());
  }
  std::optional<Checkpoint> newest() {
    warnings_.clear();
    return read_newest_checkpoint(directory_, [this](const std::string& text) { warnings_.push_back(text); });
  }
  std::vector<std::string> warnings_;
};

TEST_F(CheckpointFile, GivesTheSameBytesBack) {
  const auto path = write_checkpoint(directory_ / "made" / "here", some_checkpoint(0.5));
  EXPECT_EQ(path.filename(), "checkpoint_000001.pgc");
  expect_same(read_checkpoint(path), some_checkpoint(0.5));
  EXPECT_TRUE(is_checkpoint(path));
}

TEST_F(CheckpointFile, TheTwoNewestAreKept) {
  for (int k = 1; k <= 5; ++k) write_checkpoint(directory_, some_checkpoint(k));
  EXPECT_EQ(files_in_directory(), 2u);
  EXPECT_TRUE(std::filesystem::exists(at("checkpoint_000004.pgc")));
  expect_same(*newest(), some_checkpoint(5));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(CheckpointFile, NothingIsFoundWhereThereIsNone) {
  EXPECT_FALSE(newest().has_value());
  EXPECT_FALSE(read_newest_checkpoint(at("nowhere"), nullptr).has_value());
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(CheckpointFile, EveryFlippedByteIsFoundAndTheOneBeforeIsTaken) {
  write_checkpoint(directory_, some_checkpoint(1));
  const auto path = write_checkpoint(directory_, some_checkpoint(2));
  const std::string good = read_bytes(path);
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const int bit : {0, 7}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      write_bytes(path, bad);
      const auto found = newest();
      ASSERT_TRUE(found.has_value());
      ASSERT_EQ(found->description, some_checkpoint(1).description) << "byte " << at << " bit " << bit;
      ASSERT_EQ(warnings_.size(), 1u);
      ASSERT_NE(warnings_[0].find("checkpoint_000002.pgc"), std::string::npos);
    }
}

TEST_F(CheckpointFile, EveryTruncationIsFound) {
  write_checkpoint(directory_, some_checkpoint(1));
  const auto path = write_checkpoint(directory_, some_checkpoint(2));
  const std::string good = read_bytes(path);
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    write_bytes(path, good.substr(0, bytes));
    const auto found = newest();
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(found->description, some_checkpoint(1).description) << "cut to " << bytes;
    ASSERT_EQ(warnings_.size(), 1u);
  }
  write_bytes(path, good + "x");
  EXPECT_EQ(newest()->description, some_checkpoint(1).description);
}

TEST_F(CheckpointFile, AllDamagedMeansNothingFoundWithAWarningEach) {
  for (int k = 1; k <= 2; ++k) write_bytes(write_checkpoint(directory_, some_checkpoint(k)), "PERGOLAC");
  EXPECT_FALSE(newest().has_value());
  EXPECT_EQ(warnings_.size(), 2u);
}

TEST_F(CheckpointFile, ADamagedOneIsNotKeptInPlaceOfACompleteOne) {
  for (int k = 1; k <= 2; ++k) write_checkpoint(directory_, some_checkpoint(k));
  write_bytes(at("checkpoint_000002.pgc"), "PERGOLAC and no more");
  write_checkpoint(directory_, some_checkpoint(3));
  EXPECT_TRUE(std::filesystem::exists(at("checkpoint_000001.pgc")));
  EXPECT_TRUE(std::filesystem::exists(at("checkpoint_000003.pgc")));
  EXPECT_EQ(files_in_directory(), 2u);
}

TEST_F(CheckpointFile, WhatAKilledWriterLeftIsRemoved) {
  write_bytes(at(".checkpoint_000001.pgc.pergola-tmp-77-0"), "half");
  write_checkpoint(directory_, some_checkpoint(1));
  EXPECT_EQ(files_in_directory(), 1u);
}

TEST_F(CheckpointFile, SummaryNamesTheBlocks) {
  const auto summary = inspect_checkpoint(write_checkpoint(directory_, some_checkpoint(1)));
  EXPECT_EQ(summary.format_version, 1u);
  EXPECT_EQ(summary.description, some_checkpoint(1).description);
  ASSERT_EQ(summary.blocks.size(), 4u);
  EXPECT_EQ(summary.blocks[3].name, "x");
  EXPECT_EQ(summary.blocks[3].bytes, 24u);
}

TEST_F(CheckpointFile, ADirectoryThatCannotBeMadeIsRefused) {
  write_bytes(at("file"), "");
  error_of(ErrorKind::input, [&] { write_checkpoint(at("file") / "checkpoint", some_checkpoint(1)); });
}

}  // namespace
}  // namespace pergola
