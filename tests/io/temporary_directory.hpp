#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// A test with an empty directory of its own.
class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "pergola-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path at(const std::string& name) const { return directory_ / name; }
  static std::string read_bytes(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
    std::filesystem::remove(path);  // some file systems wait for the disk when a file is written anew in place
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::size_t files_in_directory() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      static_cast<void>(entry);
      ++count;
    }
    return count;
  }

  std::filesystem::path directory_;
};

/// Calls `action` and returns the message of the Error it must throw, of the given kind.
template <class Action>
std::string error_of(ErrorKind kind, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

/// Particles with numbers of many sizes, sorted by species as files keep them.
inline Particles some_particles(std::int64_t count, bool several_species = true) {
  Particles p;
  p.resize(count);
  for (std::int64_t i = 0; i < count; ++i) {
    Philox random(7, 0, static_cast<std::uint64_t>(i));
    p.id[i] = static_cast<std::uint64_t>(i) * 3 + 5;
    p.mass[i] = random.uniform() / static_cast<double>(count);
    for (auto* values : {&p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz}) (*values)[i] = (random.uniform() - 0.5) * 1e3;
    if (several_species) p.species[i] = static_cast<std::uint8_t>(i * species_count / count);
  }
  return p;
}

inline void expect_same(const Particles& a, const Particles& b) {
  EXPECT_TRUE(a.id == b.id) << "id differs";
  EXPECT_TRUE(a.species == b.species) << "species differs";
  EXPECT_TRUE(a.mass == b.mass) << "mass differs";
  EXPECT_TRUE(a.x == b.x) << "x differs";
  EXPECT_TRUE(a.y == b.y) << "y differs";
  EXPECT_TRUE(a.z == b.z) << "z differs";
  EXPECT_TRUE(a.vx == b.vx) << "vx differs";
  EXPECT_TRUE(a.vy == b.vy) << "vy differs";
  EXPECT_TRUE(a.vz == b.vz) << "vz differs";
  EXPECT_TRUE(a.potential == b.potential) << "potential differs";
}

}  // namespace pergola
