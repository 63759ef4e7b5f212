#include "domain/spread_ids.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

/// What all ranks say of ids that are dealt out to them one by one; empty: nothing.
std::string complaint(int ranks, const std::vector<std::uint64_t>& ids) {
  std::vector<std::string> said(static_cast<std::size_t>(ranks));
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    std::vector<std::uint64_t> own;
    for (std::size_t k = rank; k < ids.size(); k += said.size()) own.push_back(ids[k]);
    try {
      check_distributed_ids(communicator, "file", own);
    } catch (const Error& error) {
      said[rank] = error.what();
    }
  });
  for (const auto& words : said) EXPECT_EQ(words, said[0]);
  return said[0];
}

TEST(DistributedIds, ThatOccurTwiceAreFoundOnWhateverRanksTheyAre) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t k = 0; k < 50; ++k) ids.push_back(k * k * 1000003 + 7);
  for (const int ranks : {1, 2, 3, 7, 64}) EXPECT_EQ(complaint(ranks, ids), "");
  ids.push_back(ids[30]), ids.push_back(ids[20]);
  for (const int ranks : {1, 2, 3, 7, 64})
    EXPECT_EQ(complaint(ranks, ids), "file: particle id 400001207 occurs twice, expected every id once") << ranks;
}

}  // namespace
}  // namespace pergola
