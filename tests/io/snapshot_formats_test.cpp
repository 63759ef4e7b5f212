#include "io/snapshot_formats.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace pergola {
namespace {

TEST(SnapshotFormats, NameAndSuffixesLeadToTheEntry) {
  for (const SnapshotFormatEntry& entry : snapshot_formats()) {
    EXPECT_EQ(find_snapshot_format(entry.name), &entry);
    EXPECT_EQ(&snapshot_format(entry.format), &entry);
    EXPECT_FALSE(entry.suffixes.empty()) << entry.name;
    for (const std::string& suffix : entry.suffixes) EXPECT_EQ(format_from_name("a" + suffix), entry.format) << suffix;
  }
  EXPECT_EQ(find_snapshot_format("swift"), nullptr);
  EXPECT_EQ(format_from_name("A.HDF5"), SnapshotFormat::hdf5);
  EXPECT_THROW(format_from_name("a.txt"), Error);
}

TEST(SnapshotFormats, RowsOfAPieceFollowTheirSpecies) {
  Particles particles;
  particles.resize(5);
  particles.species = {1, 1, 4, 1, 4};
  SpeciesCounts next{0, 10, 0, 0, 20, 0};
  const PieceRows rows = find_rows(particles, 1, 4, next);
  EXPECT_EQ(next, (SpeciesCounts{0, 12, 0, 0, 22, 0}));
  ASSERT_EQ(rows[1].size(), 2u);
  EXPECT_EQ(rows[1][1].row, 11);
  EXPECT_EQ(rows[1][1].place, 3);
  ASSERT_EQ(rows[4].size(), 2u);
  EXPECT_EQ(rows[4][0].place, 2);
}

}  // namespace
}  // namespace pergola
