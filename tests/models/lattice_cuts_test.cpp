#include "models/displaced_lattice.hpp"

#include <gtest/gtest.h>

namespace pergola {
namespace {

// Reference: particle by particle, whose slab and whose share it is in.
TEST(LatticeCuts, WhatSlabsGiveIsWhatSharesLack) {
  for (const int side : {1, 2, 5, 8, 15, 16})
    for (const int ranks : {1, 2, 3, 4, 7, 16, 64}) {
      SCOPED_TRACE(testing::Message() << side << "^3 on " << ranks << " ranks");
      const LatticeCuts cuts(side, ranks);
      const std::int64_t plane = std::int64_t{side} * side;
      const auto owner = [&](const std::vector<Stretch>& all, std::int64_t particle) {
        int found = -1;
        for (int rank = 0; rank < ranks; ++rank)
          if (all[static_cast<std::size_t>(rank)].common({particle, 1}).count > 0) {
            EXPECT_EQ(found, -1) << particle;
            found = rank;
          }
        return found;
      };
      bool any = false;
      for (std::int64_t particle = 0; particle < plane * side; ++particle) {
        const int made = owner(cuts.slabs, particle), kept = owner(cuts.shares, particle);
        ASSERT_GE(made, 0);
        ASSERT_GE(kept, 0);
        EXPECT_EQ(owner(cuts.given, particle), made != kept ? made : -1);
        EXPECT_EQ(owner(cuts.fetched, particle), made != kept ? kept : -1);
        any = any || made != kept;
      }
      EXPECT_EQ(cuts.any_given(), any);
      for (std::size_t rank = 0; rank < cuts.slabs.size(); ++rank) {
        EXPECT_EQ(cuts.slabs[rank].first % plane, 0);
        EXPECT_EQ(cuts.slabs[rank].count % plane, 0);
        if (cuts.slabs[rank].count == 0) continue;
        EXPECT_EQ(cuts.given[rank].first, cuts.slabs[rank].first);
        EXPECT_EQ(cuts.given[rank].end(), cuts.shares[rank].first);
        EXPECT_LT(cuts.given[rank].count, plane);
      }
    }
}

}  // namespace
}  // namespace pergola
