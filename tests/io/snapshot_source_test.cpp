#include "io/snapshot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "io/temporary_directory.hpp"

namespace pergola {
namespace {

struct SourceFormat {
  std::string name;
  WriteOptions options;
};

class SnapshotSourceFormats : public FileTest, public ::testing::WithParamInterface<SourceFormat> {};

void expect_range(const Particles& part, const Particles& whole, std::int64_t first) {
  const auto same = [&](const auto& a, const auto& b) {
    return a.size() == static_cast<std::size_t>(part.size()) && std::equal(a.begin(), a.end(), b.begin() + first);
  };
  EXPECT_TRUE(same(part.id, whole.id));
  EXPECT_TRUE(same(part.species, whole.species));
  EXPECT_TRUE(same(part.mass, whole.mass));
  EXPECT_TRUE(same(part.x, whole.x) && same(part.y, whole.y) && same(part.z, whole.z));
  EXPECT_TRUE(same(part.vx, whole.vx) && same(part.vy, whole.vy) && same(part.vz, whole.vz));
  if (!whole.potential.empty()) {
    EXPECT_TRUE(same(part.potential, whole.potential));
  }
}

TEST_P(SnapshotSourceFormats, AnyRangeOnAnyThreadsHoldsTheParticlesOfTheFile) {
  Snapshot snapshot;
  snapshot.particles = some_particles(200000);
  snapshot.particles.potential.assign(200000, -2.0);
  for (std::size_t i = 0; i < 200000; ++i) snapshot.particles.potential[i] -= static_cast<double>(i);
  write_snapshot(at("snap"), snapshot, GetParam().options);
  const Particles whole = read_snapshot(at("snap")).particles;
  ASSERT_EQ(whole.size(), 200000);
  EXPECT_EQ(whole.id, snapshot.particles.id);
  const std::vector<std::pair<std::int64_t, std::int64_t>> ranges{{0, 200000},    {0, 1},      {33332, 3},
                                                                  {65535, 70001}, {199999, 1}, {5, 0}};
  for (const int threads : {1, 3}) {
    SnapshotSource source(at("snap"), threads);
    ASSERT_EQ(source.count(), 200000);
    Particles part;
    for (const auto& [first, n] : ranges) {
      source.read(first, n, part);
      ASSERT_EQ(part.size(), n);
      expect_range(part, whole, first);
    }
    const SnapshotContents seen = source.check();
    EXPECT_EQ(seen.largest_id, 199999u * 3 + 5);
    EXPECT_EQ(seen.total(), 200000);
  }
}

std::vector<SourceFormat> source_formats() {
  using F = SnapshotFormat;
  return {{"hdf5", {F::hdf5, false, false}},
          {"hdf5_single", {F::hdf5, true, false}},
          {"gadget1_single", {F::gadget1, true, false}},
          {"gadget2_big_endian", {F::gadget2, false, true}},
          {"csv", {F::csv, false, false}}};
}
INSTANTIATE_TEST_SUITE_P(Formats, SnapshotSourceFormats, ::testing::ValuesIn(source_formats()),
                         [](const auto& tested) { return tested.param.name; });

using SnapshotSourceTest = FileTest;

TEST_F(SnapshotSourceTest, WhatAnHdf5FileKeepsElseIsNamed) {
  Snapshot snapshot;
  snapshot.particles = some_particles(10, false);
  WriteOptions with_acceleration;
  for (auto& values : with_acceleration.acceleration) values.assign(10, 1.0);
  write_snapshot(at("a.hdf5"), snapshot, with_acceleration);
  EXPECT_EQ(inspect_snapshot(at("a.hdf5")).not_carried, std::vector<std::string>{"PartType1/Acceleration"});
}

TEST_F(SnapshotSourceTest, UnknownEndingsAreRefused) {
  for (const char* name : {"c.vtk", "x.txt", "y.fits"})
    EXPECT_NE(error_of(ErrorKind::input, [&] { format_from_name(name); }).find("ending"), std::string::npos);
  for (const char* name : {"snap", "snap_001.0", "a.dat", "a.gadget"})
    EXPECT_EQ(format_from_name(name), SnapshotFormat::gadget1);
}

}  // namespace
}  // namespace pergola
