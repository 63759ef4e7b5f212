#include "io/snapshot_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "io/hdf5_chunks.hpp"
#include "io/temporary_directory.hpp"

namespace pergola {
namespace {

/// Gives pieces only; nobody can take the whole.
class OnlyPieces final : public ParticleSource {
 public:
  explicit OnlyPieces(const Particles& particles) : inner_(particles) {}
  std::int64_t count() const override { return inner_.count(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override { inner_.read(first, n, to); }

 private:
  HostParticles inner_;
};

/// Species in no order, with potentials.
Particles mixed_particles(std::int64_t count) {
  Particles p = some_particles(count);
  p.potential.resize(p.x.size());
  for (std::int64_t i = 0; i < count; ++i) {
    p.species[i] = static_cast<std::uint8_t>((i / 7 + i / 1000) % 3 + 1);
    p.potential[i] = -p.mass[i];
  }
  return p;
}

struct FormatCase {
  std::string name;
  WriteOptions options;
};

class SnapshotPieces : public FileTest, public ::testing::WithParamInterface<FormatCase> {
 protected:
  std::string written_in_pieces(const Particles& particles, std::int64_t piece, int threads) {
    HostParticles source(particles);
    WriteOptions options = GetParam().options;
    options.threads = threads;
    const auto writer = make_snapshot_writer(at("pieces"), header_, contents_of(source), options);
    for (std::int64_t first = 0; first < particles.size(); first += piece)
      writer->append(particles, first, std::min(piece, particles.size() - first));
    writer->commit();
    return read_bytes(at("pieces"));
  }
  SnapshotHeader header_;
};

TEST_P(SnapshotPieces, OfAnySizeOnAnyThreadsMakeTheSameFile) {
  const Particles particles = mixed_particles(150000);
  const std::string once = written_in_pieces(particles, particles.size(), 1);
  EXPECT_TRUE(written_in_pieces(particles, 997, 3) == once);
  EXPECT_TRUE(written_in_pieces(particles, 65536, 1) == once);
  EXPECT_TRUE(written_in_pieces(particles, 100000, 3) == once);
}

TEST_P(SnapshotPieces, KeepEveryParticleWithItsNumbers) {
  const Particles particles = mixed_particles(70001);
  OnlyPieces source(particles);
  write_snapshot(at("snap"), header_, source, GetParam().options);
  const Particles back = read_snapshot(at("snap")).particles;
  ASSERT_EQ(back.size(), particles.size());
  for (std::int64_t i = 0; i < back.size(); ++i) {
    const std::int64_t k = static_cast<std::int64_t>(back.id[i] - 5) / 3;
    const auto as_written = [&](double value) {
      return GetParam().options.single_precision ? static_cast<double>(static_cast<float>(value)) : value;
    };
    ASSERT_EQ(back.species[i], particles.species[k]);
    ASSERT_EQ(back.x[i], as_written(particles.x[k]));
    ASSERT_EQ(back.vz[i], as_written(particles.vz[k]));
    ASSERT_EQ(back.mass[i], as_written(particles.mass[k]));
    if (!back.potential.empty()) {
      ASSERT_EQ(back.potential[i], as_written(particles.potential[k]));
    }
  }
}

TEST_P(SnapshotPieces, QueueWritesTheSameFile) {
  const Particles particles = mixed_particles(30000);
  OnlyPieces source(particles);
  write_snapshot(at("direct"), header_, source, GetParam().options);
  std::atomic<bool> named = false;
  WriteQueue queue(1 << 20);
  queue_snapshot(queue, at("queued"), header_, source, contents_of(source), GetParam().options,
                 [&] { named = std::filesystem::exists(at("queued")); });
  queue.drain();
  EXPECT_TRUE(named);
  EXPECT_TRUE(read_bytes(at("queued")) == read_bytes(at("direct")));
}

TEST_P(SnapshotPieces, TooFewOrTooManyParticlesAreRefusedAndNothingIsLeft) {
  const Particles particles = mixed_particles(100);
  HostParticles source(particles);
  const auto contents = contents_of(source);
  error_of(ErrorKind::input, [&] {
    const auto writer = make_snapshot_writer(at("x"), header_, contents, GetParam().options);
    writer->append(particles, 0, 99);
    writer->commit();
  });
  error_of(ErrorKind::input, [&] {
    const auto writer = make_snapshot_writer(at("x"), header_, contents, GetParam().options);
    writer->append(particles, 0, 100);
    writer->append(particles, 0, 1);
  });
  EXPECT_EQ(files_in_directory(), 0u);
}

std::vector<FormatCase> formats() {
  using F = SnapshotFormat;
  return {{"hdf5", {F::hdf5, false, false}},
          {"hdf5_single", {F::hdf5, true, false}},
          {"gadget1", {F::gadget1, false, false}},
          {"gadget2_big_endian", {F::gadget2, false, true}},
          {"gadget1_single", {F::gadget1, true, false}},
          {"csv", {F::csv, false, false}}};
}
INSTANTIATE_TEST_SUITE_P(Formats, SnapshotPieces, ::testing::ValuesIn(formats()),
                         [](const auto& tested) { return tested.param.name; });

class SnapshotSet : public SnapshotPieces {
 protected:
  int files(const std::string& name) {
    int found = 0;
    while (std::filesystem::exists(name_in_set(at(name), found))) ++found;
    return found;
  }
};

/// By species: how one file and how a set have them. Of a set the species stand file by file.
std::array<std::vector<std::uint64_t>, species_count> ids_by_species(const Particles& p) {
  std::array<std::vector<std::uint64_t>, species_count> ids;
  for (std::int64_t i = 0; i < p.size(); ++i) ids[p.species[i]].push_back(p.id[i]);
  return ids;
}

TEST_P(SnapshotSet, HoldsWhatOneFileHoldsInItsOrderWhateverThePieces) {
  const Particles particles = mixed_particles(20011);
  WriteOptions options = GetParam().options;
  OnlyPieces source(particles);
  write_snapshot(at("one"), header_, source, options);
  options.files = 4;
  const auto writer = make_snapshot_writer(at("set"), header_, contents_of(source), options);
  for (std::int64_t first = 0; first < particles.size(); first += 997)
    writer->append(particles, first, std::min<std::int64_t>(997, particles.size() - first));
  EXPECT_EQ(files("set"), 0) << "before commit()";
  writer->commit();
  EXPECT_EQ(files("set"), 4);
  const Snapshot one = read_snapshot(at("one")), set = read_snapshot(at("set"));
  EXPECT_EQ(set.header.files, 4);
  EXPECT_EQ(ids_by_species(set.particles), ids_by_species(one.particles));
  EXPECT_EQ(read_snapshot(name_in_set(at("set"), 2)).particles.size(), particles.size());
}

TEST_P(SnapshotSet, MayHaveMoreFilesThanParticles) {
  const Particles particles = mixed_particles(3);
  HostParticles source(particles);
  WriteOptions options = GetParam().options;
  options.files = 8;
  write_snapshot(at("set"), header_, source, options);
  EXPECT_EQ(files("set"), 8);
  EXPECT_EQ(read_snapshot(at("set")).particles.size(), 3);
}

TEST_P(SnapshotSet, LeavesNothingWhereOneOfItsNamesCannotBeHad) {
  const Particles particles = mixed_particles(100);
  HostParticles source(particles);
  WriteOptions options = GetParam().options;
  options.files = 3;
  std::filesystem::create_directories(name_in_set(at("set"), 0) / "in the way");
  EXPECT_THROW(write_snapshot(at("set"), header_, source, options), Error);
  EXPECT_EQ(files_in_directory(), 1u);
}
INSTANTIATE_TEST_SUITE_P(Formats, SnapshotSet,
                         ::testing::Values(FormatCase{"hdf5", {SnapshotFormat::hdf5, false, false}},
                                           FormatCase{"gadget1", {SnapshotFormat::gadget1, false, false}}),
                         [](const auto& tested) { return tested.param.name; });

using SnapshotQueue = FileTest;

TEST_F(SnapshotQueue, ASetOfTextIsRefused) {
  const Particles particles = mixed_particles(10);
  HostParticles source(particles);
  WriteOptions options;
  options.format = SnapshotFormat::csv;
  options.files = 2;
  error_of(ErrorKind::input, [&] { write_snapshot(at("x.csv"), {}, source, options); });
  EXPECT_EQ(files_in_directory(), 0u);
}

TEST(SnapshotSetNames, AreTakenApartAsTheyArePut) {
  EXPECT_EQ(name_in_set("a/snap_003.hdf5", 12), "a/snap_003.12.hdf5");
  EXPECT_EQ(name_in_set("cluster.dat", 0), "cluster.dat.0");
  EXPECT_EQ(part_name("a/snap_003.12.hdf5")->whole, "a/snap_003.hdf5");
  EXPECT_EQ(part_name("a/snap_003.12.hdf5")->number, 12);
  EXPECT_EQ(part_name("snapshot_005.1")->whole, "snapshot_005");
  EXPECT_FALSE(part_name("snap_003.hdf5"));
  EXPECT_FALSE(part_name("energy.csv"));
}

TEST_F(SnapshotQueue, AnAbandonedFileLeavesNothingAndHdf5IsFreeForOthers) {
  const Particles particles = mixed_particles(1000);
  HostParticles source(particles);
  const auto contents = contents_of(source);
  {
    const auto writer = std::make_shared<std::unique_ptr<SnapshotWriter>>();
    WriteQueue queue(1 << 20);
    queue.push(0, [&, writer] {
      *writer = make_snapshot_writer(at("x.hdf5"), {}, contents);
      (*writer)->append(particles, 0, 500);
    });
    queue.drain();
    EXPECT_EQ(files_in_directory(), 1u);
    writer->reset();  // here, and not on the thread that opened it
  }
  EXPECT_EQ(files_in_directory(), 0u);
  WriteQueue other(1 << 20);
  queue_snapshot(other, at("y.hdf5"), {}, source, contents);
  other.drain();
  EXPECT_EQ(read_snapshot(at("y.hdf5")).particles.size(), 1000);
}

/// The sums as HDF5 forms them (H5checksum.c), word by word.
std::uint32_t plain_fletcher32(const std::vector<unsigned char>& bytes) {
  std::uint64_t one = 0, two = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    one += static_cast<std::uint64_t>(bytes[i]) << 8 | bytes[i + 1];
    one = (one & 0xffff) + (one >> 16);
    two += one;
    two = (two & 0xffff) + (two >> 16);
  }
  return static_cast<std::uint32_t>(two << 16 | one);
}

TEST(Fletcher32, IsThatOfHdf5ForAnyBytes) {
  for (const std::size_t bytes : {4, 64, 68, 16384, 16388, 100000}) {
    std::vector<unsigned char> data(bytes);
    EXPECT_EQ(hdf5::fletcher32(data.data(), bytes), 0u);
    std::fill(data.begin(), data.end(), static_cast<unsigned char>(0xff));
    EXPECT_EQ(hdf5::fletcher32(data.data(), bytes), plain_fletcher32(data));
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(Philox(3, 1, i).uniform() * 256);
    EXPECT_EQ(hdf5::fletcher32(data.data(), bytes), plain_fletcher32(data));
  }
}

}  // namespace
}  // namespace pergola
