#include "models/model_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/units.hpp"

namespace pergola {
namespace {

bool same_bits(const std::vector<double>& a, const std::vector<double>& whole, std::int64_t first) {
  return std::memcmp(a.data(), whole.data() + first, a.size() * sizeof(double)) == 0;
}

TEST(ModelSource, PiecesOfAnySizeOnAnyThreadsAreThoseOfTheModel) {
  for (const auto& info : models()) {
    SCOPED_TRACE(info.name);
    ModelOptions options;
    options.n = !info.any_n ? 0 : info.cube ? 21 * 21 * 21 : 9001;
    if (info.own_units) options.gravitational_constant = find_unit_system(info.units)->gravitational_constant;
    options.seed = 42;
    const Particles whole = make_model(info.name, options, 1);
    for (const int threads : {1, 3}) {
      const auto source = make_model_source(info.name, options, threads);
      ASSERT_EQ(source->count(), whole.size());
      for (const std::int64_t piece : {std::int64_t{1000}, std::int64_t{4097}, whole.size()}) {
        Particles part;
        for (std::int64_t first = 0; first < whole.size(); first += piece) {
          const std::int64_t n = std::min(piece, whole.size() - first);
          source->read(first, n, part);
          ASSERT_EQ(part.size(), n);
          EXPECT_TRUE(std::equal(part.id.begin(), part.id.end(), whole.id.begin() + first));
          EXPECT_TRUE(std::equal(part.species.begin(), part.species.end(), whole.species.begin() + first));
          EXPECT_TRUE(same_bits(part.mass, whole.mass, first));
          EXPECT_TRUE(same_bits(part.x, whole.x, first) && same_bits(part.y, whole.y, first));
          EXPECT_TRUE(same_bits(part.z, whole.z, first) && same_bits(part.vx, whole.vx, first));
          EXPECT_TRUE(same_bits(part.vy, whole.vy, first) && same_bits(part.vz, whole.vz, first));
        }
      }
    }
  }
}

TEST(ModelSource, SpheresAndCubesAreNeverThereAsAWhole) {
  ModelOptions options;
  options.n = 100;
  for (const char* name : {"plummer", "hernquist", "nfw", "king", "sphere", "cube"})
    EXPECT_EQ(make_model_source(name, options)->whole(), nullptr) << name;
}

}  // namespace
}  // namespace pergola
