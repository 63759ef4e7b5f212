#include "io/state_hash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "io/temporary_directory.hpp"

namespace pergola {

namespace {

std::string hash_of(const Particles& particles, int threads = 1) {
  StateHash hash;
  hash.add(particles, threads);
  return hash.text();
}

Particles reversed(Particles p) {
  for (auto* values : {&p.mass, &p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz}) std::reverse(values->begin(), values->end());
  std::reverse(p.id.begin(), p.id.end());
  std::reverse(p.species.begin(), p.species.end());
  return p;
}

}  // namespace

TEST(StateHash, DoesNotDependOnOrderPiecesOrThreads) {
  const Particles first = some_particles(5000);
  Particles second = some_particles(4100);
  for (auto& id : second.id) id += 100000;
  Particles all = first;
  all.append(second);
  const std::string expected = hash_of(all);
  EXPECT_EQ(expected.size(), 5u + 32u);
  EXPECT_EQ(hash_of(all, 3), expected);
  EXPECT_EQ(hash_of(reversed(all)), expected);
  StateHash pieces;
  pieces.add(second, 2);
  pieces.add(first, 1);
  EXPECT_EQ(pieces.text(), expected);
}

TEST(StateHash, SeesEveryBitOfEveryParticle) {
  const Particles all = some_particles(100);
  const std::string expected = hash_of(all);
  Particles other = all;
  for (auto* values : {&other.mass, &other.x, &other.y, &other.z, &other.vx, &other.vy, &other.vz}) {
    const double before = std::exchange((*values)[99], std::nextafter((*values)[99], 1e9));
    EXPECT_NE(hash_of(other), expected);
    (*values)[99] = before;
  }
  other.id[7] += 1;
  EXPECT_NE(hash_of(other), expected);
  other = all;
  other.species[7] += 1;
  EXPECT_NE(hash_of(other), expected);
  other = all;
  std::swap(other.x[3], other.x[4]);  // the same numbers, with other particles
  EXPECT_NE(hash_of(other), expected);
  other = all;
  std::swap(other.x[3], other.vy[3]);  // the same numbers of one particle
  EXPECT_NE(hash_of(other), expected);
  other = all;
  other.append(all);
  EXPECT_NE(hash_of(other), expected);
}

TEST(StateHash, TellsSpeciesOfAPlasmaApart) {
  PlasmaParticles particles;
  particles.id = {1, 2};
  particles.x = {0.5, 1.5};
  particles.y = {0.25, 0.75};
  particles.vx = particles.vy = {0.0, 1.0};
  StateHash one, other;
  one.add(particles, 0, 1);
  other.add(particles, 1, 1);
  EXPECT_NE(one.text(), other.text());
}

using HashOfAFile = FileTest;

TEST_F(HashOfAFile, IsThatOfItsTextWhateverItsLength) {
  const auto path = at("text");
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, (std::size_t{1} << 20) + 1}) {
    const std::string text(length, 'p');
    write_bytes(path, text);
    EXPECT_EQ(hash_of_file(path), hash_of_text(text)) << length;
  }
  EXPECT_NE(hash_of_text("pergola"), hash_of_text("pergolb"));
  error_of(ErrorKind::input, [&] { hash_of_file(at("none")); });
}

}  // namespace pergola
