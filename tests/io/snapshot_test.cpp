#include "io/snapshot.hpp"

#include <gtest/gtest.h>

#include "io/temporary_directory.hpp"

namespace pergola {
namespace {

struct FormatCase {
  std::string name;
  WriteOptions options;
  std::string format;
};

class SnapshotRoundTrip : public FileTest, public ::testing::WithParamInterface<FormatCase> {};

Snapshot some_snapshot(std::int64_t count) {
  Snapshot snapshot;
  snapshot.particles = some_particles(count);
  snapshot.header.time = 0.1;
  snapshot.header.redshift = 0.25;
  snapshot.header.box_size = 100.5;
  return snapshot;
}

Snapshot in_single(Snapshot snapshot) {
  auto& p = snapshot.particles;
  for (auto* values : {&p.mass, &p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz, &p.potential})
    for (auto& value : *values) value = static_cast<double>(static_cast<float>(value));
  return snapshot;
}

TEST_P(SnapshotRoundTrip, GivesTheSameBitsBack) {
  const auto& [name, options, format] = GetParam();
  for (const std::int64_t count : {1, 7, 1000, 70000}) {
    Snapshot snapshot = some_snapshot(count);
    if (options.single_precision) snapshot = in_single(snapshot);
    const auto path = at("snap");
    write_snapshot(path, snapshot, options);
    Snapshot back = read_snapshot(path);
    if (format == "csv" && options.single_precision) back = in_single(back);  // the shortest text of a float
    expect_same(back.particles, snapshot.particles);
    EXPECT_EQ(back.header.format, format);
    EXPECT_EQ(back.header.files, 1);
    if (format == "csv") continue;
    EXPECT_EQ(back.header.time, snapshot.header.time);
    EXPECT_EQ(back.header.redshift, snapshot.header.redshift);
    EXPECT_EQ(back.header.box_size, snapshot.header.box_size);
    EXPECT_FALSE(back.header.hubble_param.has_value());
    EXPECT_EQ(back.header.byte_swapped, options.big_endian);
    EXPECT_EQ(back.header.single_precision, options.single_precision);
  }
  EXPECT_EQ(files_in_directory(), 1u);
}

TEST_P(SnapshotRoundTrip, KeepsIdsOf64Bits) {
  Snapshot snapshot = in_single(some_snapshot(3));
  snapshot.particles.id = {0, 1, 0xfffffffffffffff7u};
  write_snapshot(at("snap"), snapshot, GetParam().options);
  EXPECT_EQ(read_snapshot(at("snap")).particles.id, snapshot.particles.id);
}

TEST_P(SnapshotRoundTrip, TheSameParticlesMakeTheSameBytes) {
  const Snapshot snapshot = some_snapshot(100);
  write_snapshot(at("a"), snapshot, GetParam().options);
  write_snapshot(at("b"), snapshot, GetParam().options);
  EXPECT_EQ(read_bytes(at("a")), read_bytes(at("b")));
}

TEST_P(SnapshotRoundTrip, SummaryTellsCountsWithoutTheParticles) {
  const Snapshot snapshot = some_snapshot(600);
  write_snapshot(at("snap"), snapshot, GetParam().options);
  const auto summary = inspect_snapshot(at("snap"));
  for (const auto count : summary.counts) EXPECT_EQ(count, 100);
  EXPECT_EQ(summary.header.format, GetParam().format);
  EXPECT_GE(summary.fields.size(), 4u);
}

std::vector<FormatCase> all_formats() {
  using F = SnapshotFormat;
  return {{"hdf5", {F::hdf5, false, false}, "hdf5"},
          {"hdf5_single", {F::hdf5, true, false}, "hdf5"},
          {"gadget1", {F::gadget1, false, false}, "gadget1"},
          {"gadget1_big_endian", {F::gadget1, false, true}, "gadget1"},
          {"gadget1_single", {F::gadget1, true, false}, "gadget1"},
          {"gadget2", {F::gadget2, false, false}, "gadget2"},
          {"gadget2_big_endian", {F::gadget2, false, true}, "gadget2"},
          {"gadget2_big_endian_single", {F::gadget2, true, true}, "gadget2"},
          {"csv", {F::csv, false, false}, "csv"},
          {"csv_single", {F::csv, true, false}, "csv"}};
}

INSTANTIATE_TEST_SUITE_P(Formats, SnapshotRoundTrip, ::testing::ValuesIn(all_formats()),
                         [](const auto& tested) { return tested.param.name; });

using SnapshotFile = FileTest;

TEST_F(SnapshotFile, PotentialCosmologyAndUnitsSurviveHdf5) {
  Snapshot snapshot = some_snapshot(50);
  snapshot.particles.potential.assign(50, -1.25);
  snapshot.header.omega0 = 0.3;
  snapshot.header.omega_lambda = 0.7;
  snapshot.header.hubble_param = 0.68;
  snapshot.header.units = FileUnits{3.085678e21, 1.989e43, 1e5};
  write_snapshot(at("snap.hdf5"), snapshot);
  const auto back = read_snapshot(at("snap.hdf5"));
  expect_same(back.particles, snapshot.particles);
  EXPECT_EQ(back.header.omega0, 0.3);
  EXPECT_EQ(back.header.omega_lambda, 0.7);
  EXPECT_EQ(back.header.hubble_param, 0.68);
  ASSERT_TRUE(back.header.units.has_value());
  EXPECT_EQ(back.header.units->mass_g, 1.989e43);
}

TEST_F(SnapshotFile, PotentialSurvivesGadget2) {
  Snapshot snapshot = some_snapshot(50);
  snapshot.particles.potential.assign(50, -1.25);
  write_snapshot(at("snap"), snapshot, {SnapshotFormat::gadget2, false, false});
  expect_same(read_snapshot(at("snap")).particles, snapshot.particles);
}

TEST_F(SnapshotFile, FormatFollowsFromTheName) {
  EXPECT_EQ(format_from_name("a/b.hdf5"), SnapshotFormat::hdf5);
  EXPECT_EQ(format_from_name("b.h5"), SnapshotFormat::hdf5);
  EXPECT_EQ(format_from_name("b.csv"), SnapshotFormat::csv);
  EXPECT_EQ(format_from_name("b.g2"), SnapshotFormat::gadget2);
  EXPECT_EQ(format_from_name("snapshot_005"), SnapshotFormat::gadget1);
}

}  // namespace
}  // namespace pergola
