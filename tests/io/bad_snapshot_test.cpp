// Never trust a file: every unusable input is an Error(input) of one sentence that names the file; nothing else
// happens.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "io/snapshot.hpp"
#include "io/temporary_directory.hpp"

// HDF5 loses memory when it meets a damaged file; the leak sanitizer asks this function what to overlook.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace pergola {
namespace {

class BadSnapshot : public FileTest {
 protected:
  std::string good_bytes(const WriteOptions& options, bool several_species = true) {
    Snapshot snapshot;
    snapshot.particles = some_particles(20, several_species);
    write_snapshot(at("good"), snapshot, options);
    return read_bytes(at("good"));
  }
  /// The message for a file of these bytes, and that it names the file.
  std::string refusal(const std::string& bytes) {
    write_bytes(at("bad"), bytes);
    const auto message = error_of(ErrorKind::input, [&] { read_snapshot(at("bad")); });
    EXPECT_EQ(message.find(at("bad").string()), 0u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  void expect_refusal(const std::string& bytes, const std::string& words) {
    const auto message = refusal(bytes);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  }
  template <class T>
  static std::string with(std::string bytes, std::size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    return bytes;
  }
};

TEST_F(BadSnapshot, MissingFilesDirectoriesAndEmptyFilesAreRefused) {
  EXPECT_NE(error_of(ErrorKind::input, [&] { read_snapshot(at("none.hdf5")); }).find("No such file"),
            std::string::npos);
  EXPECT_NE(error_of(ErrorKind::input, [&] { read_snapshot(directory_); }).find("directory"), std::string::npos);
  EXPECT_NE(error_of(ErrorKind::input, [&] { read_snapshot("/dev/null"); }).find("device"), std::string::npos);
  expect_refusal("", "empty");
}

TEST_F(BadSnapshot, UnknownContentsAreRefused) {
  expect_refusal(std::string(1000, '\1'), "known format");
  expect_refusal("PERGOLAC and something", "checkpoint");
  expect_refusal("\x89HDF\r\n\x1a\n and nothing more", "HDF5");
  expect_refusal("hello, world\n", "column");
}

TEST_F(BadSnapshot, TruncationAnywhereIsFoundInBinaryFiles) {
  for (const auto format : {SnapshotFormat::gadget1, SnapshotFormat::gadget2})
    for (const bool big_endian : {false, true}) {
      const std::string good = good_bytes({format, false, big_endian});
      for (std::size_t bytes = 0; bytes < good.size(); bytes += 3) refusal(good.substr(0, bytes));
      refusal(good.substr(0, good.size() - 1));
      refusal(good + std::string(3, '\0'));
    }
}

TEST_F(BadSnapshot, TruncationAnywhereIsFoundInHdf5) {
  const std::string good = good_bytes({});
  for (std::size_t bytes = 1; bytes < good.size(); bytes += 37) refusal(good.substr(0, bytes));
}

TEST_F(BadSnapshot, DamageAnywhereInHdf5IsFoundOrHarmless) {
  const std::string good = good_bytes({SnapshotFormat::hdf5, true, false}, false);
  const Snapshot snapshot = read_snapshot(at("good"));
  int found = 0, harmless = 0;
  for (std::size_t place = 0; place < good.size(); place += 7)
    for (const int flip : {0x01, 0xff}) {
      std::string bad = good;
      bad[place] = static_cast<char>(bad[place] ^ flip);
      write_bytes(at("bad"), bad);
      try {
        const Snapshot back = read_snapshot(at("bad"));
        expect_same(back.particles, snapshot.particles);
        ASSERT_EQ(back.header.time, snapshot.header.time);
        ++harmless;  // a place that holds nothing
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), ErrorKind::input) << place;
        ++found;
      }
    }
  EXPECT_GT(found, harmless / 2);
}

TEST_F(BadSnapshot, TenBytesThatClaimABillionParticlesTakeNoMemory) {
  std::string start(10, '\0');
  expect_refusal(with(start, 0, std::uint32_t{256}), "truncated");
  // A whole header and nothing else.
  const std::string good = good_bytes({SnapshotFormat::gadget1, false, false});
  expect_refusal(with(good.substr(0, 264), 4, std::uint32_t{1000000000}), "claims 1000000016 particles");
}

TEST_F(BadSnapshot, CountsThatDoNotMatchAreRefused) {
  const std::string good = good_bytes({SnapshotFormat::gadget1, false, false});
  expect_refusal(with(good, 4, std::uint32_t{9}), "block POS has 480 bytes, expected");
  expect_refusal(with(good, 4 + 96, std::uint32_t{7}), "total in the header");
  expect_refusal(with(good, 4 + 168, std::uint32_t{1}), "total in the header");
  expect_refusal(with(good, 264, std::uint32_t{476}), "block POS");
  expect_refusal(with(good, 268 + 480, std::uint32_t{476}), "ends with length 476");
}

TEST_F(BadSnapshot, NumbersThatAreNoneAreRefused) {
  const std::string good = good_bytes({SnapshotFormat::gadget1, false, false});
  expect_refusal(with(good, 268, std::numeric_limits<double>::quiet_NaN()), "x is nan");
  expect_refusal(with(good, 276, std::numeric_limits<double>::infinity()), "y is inf");
  expect_refusal(with(good, 4 + 24, -1.0), "mass of type 0");
  expect_refusal(with(good, 4 + 128, std::numeric_limits<double>::quiet_NaN()), "box");
  expect_refusal("id,mass,x,y,z,vx,vy,vz\n3,1,nan,0,0,0,0,0\n", "particle id 3: x is nan");
}

TEST_F(BadSnapshot, WrongTextIsRefusedWithItsLine) {
  const std::string names = "id,mass,x,y,z,vx,vy,vz\n";
  expect_refusal(names, "no particles");
  expect_refusal(names + "1,1,0,0,0,0,0,0\n1,1,1,0,0,0,0,0\n", "id 1 occurs twice");
  expect_refusal(names + "1,1,0,0,0,0,0,0\n2,1,0,0\n", "line 3 has 4 columns, expected 8");
  expect_refusal(names + "1,1,abc,0,0,0,0,0\n", "line 2: x is \"abc\"");
  expect_refusal(names + "1,1,1e999,0,0,0,0,0\n", "line 2: x is \"1e999\"");
  expect_refusal(names + "-1,1,0,0,0,0,0,0\n", "line 2: id is \"-1\"");
  expect_refusal(names + "1,-1,0,0,0,0,0,0\n", "mass is -1");
  expect_refusal("id,mass,x,y,z,vx,vy\n", "no column vz");
  expect_refusal("id,mass,x,y,z,vx,vy,vz,colour\n", "colour");
  expect_refusal("id,mass,x,x,y,z,vx,vy,vz\n", "twice");
  expect_refusal("id,mass,x,y,z,vx,vy,vz,species\n1,1,0,0,0,0,0,0,9\n", "species is \"9\"");
}

TEST_F(BadSnapshot, TextOfOtherProgramsIsAccepted) {
  write_bytes(at("a.csv"),
              "\xEF\xBB\xBF"
              "# a comment\r\nspecies, x,y,z, vx,vy,vz, mass,id\r\ndisc, 1,2,3, 4,5,6, +7e0,8\r\n\r\n");
  const auto p = read_snapshot(at("a.csv")).particles;
  ASSERT_EQ(p.size(), 1);
  EXPECT_EQ(p.id[0], 8u);
  EXPECT_EQ(p.mass[0], 7.0);
  EXPECT_EQ(p.x[0], 1.0);
  EXPECT_EQ(p.vz[0], 6.0);
  EXPECT_EQ(p.species[0], 2);
}

TEST_F(BadSnapshot, WritingWhereItCannotBeLeavesNothing) {
  Snapshot snapshot;
  snapshot.particles = some_particles(3);
  for (const auto format : {SnapshotFormat::hdf5, SnapshotFormat::gadget1, SnapshotFormat::csv}) {
    const WriteOptions options{format, false, false};
    error_of(ErrorKind::input, [&] { write_snapshot(at("no/where"), snapshot, options); });
    error_of(ErrorKind::input, [&] { write_snapshot(directory_, snapshot, options); });
    error_of(ErrorKind::system, [&] { write_snapshot("/dev/full", snapshot, options); });
    auto large = snapshot;
    large.particles.vx[2] = 1e300;
    const WriteOptions single{format, true, false};
    EXPECT_NE(error_of(ErrorKind::input, [&] { write_snapshot(at("x"), large, single); }).find("single precision"),
              std::string::npos);
    auto unequal = snapshot;
    unequal.particles.z.pop_back();
    error_of(ErrorKind::input, [&] { write_snapshot(at("x"), unequal, options); });
  }
  EXPECT_EQ(files_in_directory(), 0u);
}

TEST_F(BadSnapshot, AFailedWriteKeepsTheFileThatWasThere) {
  Snapshot snapshot;
  snapshot.particles = some_particles(3);
  write_snapshot(at("a.hdf5"), snapshot);
  const std::string before = read_bytes(at("a.hdf5"));
  snapshot.particles.x[0] = 1e300;
  error_of(ErrorKind::input, [&] { write_snapshot(at("a.hdf5"), snapshot, {SnapshotFormat::hdf5, true, false}); });
  EXPECT_EQ(read_bytes(at("a.hdf5")), before);
  EXPECT_EQ(files_in_directory(), 1u);
}

}  // namespace
}  // namespace pergola
