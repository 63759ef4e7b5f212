#include "io/checkpoint.hpp"

#include <gtest/gtest.h>

#include "io/checkpoint_reader.hpp"
#include "io/checkpoint_writer.hpp"
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
  EXPECT_EQ(summary.format_version, 4u);
  EXPECT_EQ(summary.description, some_checkpoint(1).description);
  ASSERT_EQ(summary.blocks.size(), 4u);
  EXPECT_EQ(summary.blocks[3].name, "x");
  EXPECT_EQ(summary.blocks[3].bytes, 24u);
}

TEST_F(CheckpointFile, ADirectoryThatCannotBeMadeIsRefused) {
  write_bytes(at("file"), "");
  error_of(ErrorKind::input, [&] { write_checkpoint(at("file") / "checkpoint", some_checkpoint(1)); });
}

/// A block of several segments, of no round length, and its neighbours.
Checkpoint large_checkpoint() {
  Checkpoint checkpoint;
  checkpoint.description = "{}";
  std::vector<std::uint32_t> values(2'700'001);
  for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = i * 2654435761u;
  checkpoint.blocks.put("large", values);
  checkpoint.blocks.put("no bytes", std::vector<int>{});
  checkpoint.blocks.put_value("small", 1.5);
  return checkpoint;
}

TEST_F(CheckpointFile, PiecesOfAnySizeOnAnyThreadsMakeTheSameFile) {
  const Checkpoint checkpoint = large_checkpoint();
  const std::string expected = read_bytes(write_checkpoint(at("whole"), checkpoint));
  std::string all;
  std::vector<CheckpointWriter::Block> blocks;
  for (const auto& [name, bytes] : checkpoint.blocks.blocks()) {
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    blocks.push_back({name, bytes.size()});
  }
  for (const int threads : {1, 3})
    for (const std::size_t piece : {std::size_t{1} << 22, std::size_t{999'999}, std::size_t{5'000'000}, all.size()}) {
      CheckpointWriter writer(at("pieces"), checkpoint.description, blocks, threads);
      for (std::size_t first = 0; first < all.size(); first += piece)
        writer.append(all.data() + first, std::min(piece, all.size() - first));
      EXPECT_TRUE(read_bytes(writer.commit()) == expected) << piece << " bytes, " << threads << " threads";
    }
}

TEST_F(CheckpointFile, AStateInPiecesMakesTheSameFileAlsoThroughAQueue) {
  const Checkpoint checkpoint = large_checkpoint();
  const std::string expected = read_bytes(write_checkpoint(at("whole"), checkpoint));
  StateSource state;
  state.put_blocks(checkpoint.blocks);
  for (const std::int64_t piece : {1 << 20, 1 << 26}) {
    EXPECT_TRUE(read_bytes(write_checkpoint(at("direct"), checkpoint.description, state, {1, 2, piece})) == expected);
    std::vector<std::filesystem::path> written;
    WriteQueue queue(3 << 20);
    for (int k = 0; k < 3; ++k)
      queue_checkpoint(queue, at("queued"), checkpoint.description, state, {2, 2, piece},
                       [&](const std::filesystem::path& path) {
                         written.push_back(path);
                         EXPECT_TRUE(read_bytes(path) == expected);
                       });
    queue.drain();
    EXPECT_EQ(written.size(), 3u);
  }
}

TEST_F(CheckpointFile, IsReadInPiecesOfAnySizeAndEachIsChecked) {
  const Checkpoint checkpoint = large_checkpoint();
  const auto path = write_checkpoint(directory_, checkpoint);
  const auto& block = checkpoint.blocks.blocks().at("large");
  for (const int threads : {1, 3})
    for (const std::size_t piece : {std::size_t{1} << 22, std::size_t{777'777}, std::size_t{9'000'000}, block.size()}) {
      CheckpointReader reader(path, threads);
      ASSERT_EQ(reader.bytes("large"), block.size());
      std::vector<std::byte> back(block.size());
      for (std::size_t first = 0; first < back.size(); first += piece)
        reader.read("large", first, back.data() + first, std::min(piece, back.size() - first));
      EXPECT_TRUE(back == block) << piece << " bytes, " << threads << " threads";
    }
  std::string bytes = read_bytes(path);
  bytes[bytes.size() - 3'000'000] =
      static_cast<char>(bytes[bytes.size() - 3'000'000] ^ 1);  // in the last segment but one
  write_bytes(path, bytes);
  CheckpointReader reader(path);
  std::vector<char> piece(1000);
  reader.read("large", 0, piece.data(), piece.size());
  EXPECT_NE(error_of(ErrorKind::input, [&] { reader.read("large", 7'000'000, piece.data(), piece.size()); })
                .find("checksum of block large"),
            std::string::npos);
  error_of(ErrorKind::input, [&] { reader.read("large", block.size(), piece.data(), 1); });
  error_of(ErrorKind::input, [&] { reader.read("none", 0, piece.data(), 1); });
  error_of(ErrorKind::input, [&] { reader.verify(); });
}

TEST_F(CheckpointFile, AWriterThatEndsEarlyOrLateLeavesNothing) {
  {
    CheckpointWriter writer(directory_, "{}", {{"a", 8}});
    writer.append("1234", 4);
    EXPECT_NE(error_of(ErrorKind::input, [&] { writer.commit(); }).find("ends after 4 bytes"), std::string::npos);
    error_of(ErrorKind::input, [&] { writer.append("56789", 5); });
  }
  EXPECT_EQ(files_in_directory(), 0u);
}

TEST_F(CheckpointFile, SearchTellsNeverWrittenOtherVersionAndDamageApart) {
  using State = CheckpointSearch::State;
  using Fault = CheckpointSearch::Fault;
  EXPECT_EQ(search_checkpoints(directory_).state, State::never_written);
  EXPECT_EQ(search_checkpoints(at("nowhere")).state, State::never_written);
  const auto old = write_checkpoint(directory_, some_checkpoint(1)),
             young = write_checkpoint(directory_, some_checkpoint(2));
  auto search = search_checkpoints(directory_);
  EXPECT_EQ(search.state, State::usable);
  EXPECT_EQ(search.usable(), young);

  std::string bytes = read_bytes(young);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(young, bytes);
  search = search_checkpoints(directory_);
  EXPECT_EQ(search.state, State::usable);
  EXPECT_EQ(search.usable(), old);
  ASSERT_EQ(search.found.size(), 2u);
  EXPECT_EQ(search.found[0].fault, Fault::damaged);
  EXPECT_NE(search.found[0].reason.find("checkpoint_000002.pgc"), std::string::npos);

  bytes = read_bytes(old);
  bytes[12] = 77;
  write_bytes(old, bytes);
  search = search_checkpoints(directory_);
  EXPECT_EQ(search.state, State::none_usable);
  ASSERT_EQ(search.found.size(), 2u);
  EXPECT_EQ(search.found[1].fault, Fault::other_version);
  EXPECT_NE(search.found[1].reason.find("format version 77, expected 4 or 5"), std::string::npos);
}

TEST_F(CheckpointFile, AsManyAreKeptAsAreAskedFor) {
  for (int k = 1; k <= 5; ++k) write_checkpoint(directory_, some_checkpoint(k), 1, 3);
  EXPECT_EQ(files_in_directory(), 3u);
  EXPECT_TRUE(std::filesystem::exists(at("checkpoint_000003.pgc")));
}

}  // namespace
}  // namespace pergola
