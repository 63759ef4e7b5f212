// A solver that knows nothing of ranks, on three of them.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "gravity/wrapped_solver.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

/// A target is pulled by its number among all of them, sideways by the places of all sources; what must fail, throws.
class FailingSolver final : public Solver<double> {
 public:
  const SolverInfo& info() const override { return info_; }
  NeighbourLists neighbour_lists(const Targets&, double) override { return {}; }
  std::int64_t device_bytes(std::int64_t) const override { return 0; }
  void prepare(const Sources<double>& sources) override {
    if (in_prepare) in_prepare();
    sources_ = sources;
  }
  void evaluate(const Targets& targets, unsigned, const Forces<double>& forces) override {
    if (in_evaluate) in_evaluate();
    for (std::int64_t i = 0; i < targets.count; ++i) {
      forces.ax[i] = static_cast<double>(targets.index ? targets.index[i] : targets.first + i);
      forces.ay[i] = forces.az[i] = 0;
      for (std::int64_t j = 0; j < sources_.count; ++j) forces.ay[i] += sources_.x[j];
    }
  }

  std::function<void()> in_prepare, in_evaluate;

 private:
  SolverInfo info_;
  Sources<double> sources_;
};

constexpr int ranks = 3;
constexpr std::int64_t n = 7;

/// What a rank saw of one evaluation.
struct Seen {
  std::string words;  // of an Error; empty: none
  int kind = 0;
  bool own = false;  // the exception of the rank that failed, as it was thrown
  bool coincident = false;
  std::vector<double> again;  // of an evaluation after it
};

/// One evaluation on all ranks, with a failure on some of them, and one more without.
template <class Own>
std::vector<Seen> evaluate_with(const std::function<void(FailingSolver&, int)>& break_solver) {
  std::vector<Seen> seen(ranks);
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    Seen& mine = seen[static_cast<std::size_t>(communicator.rank())];
    const Device device = Device::open("cpu", 1);
    const std::shared_ptr<Communicator> all(&communicator, [](Communicator*) {});
    const Shares shares{n, ranks};
    const std::int64_t first = shares.first(communicator.rank()), count = shares.count(communicator.rank());
    std::vector<double> place, x(count), y(count), z(count);
    for (std::int64_t i = first; i < first + count; ++i) place.push_back(static_cast<double>(i));
    Sources<double> own;
    own.count = count, own.x = place.data();
    Forces<double> forces;
    forces.ax = x.data(), forces.ay = y.data(), forces.az = z.data();
    const auto evaluate = [&](std::unique_ptr<FailingSolver> solver, const Targets& targets) {
      const auto gathered = gather_sources<double>(std::move(solver), device, all);
      gathered->prepare(own);
      gathered->evaluate(targets, want_acceleration, forces);
    };
    auto solver = std::make_unique<FailingSolver>();
    break_solver(*solver, communicator.rank());
    try {
      evaluate(std::move(solver), {nullptr, count, count, 0});
    } catch (const std::exception& error) {
      mine.words = error.what();
      mine.own = dynamic_cast<const Own*>(&error) != nullptr;
      mine.coincident = dynamic_cast<const CoincidentParticles*>(&error) != nullptr;
      if (const auto* known = dynamic_cast<const Error*>(&error)) mine.kind = static_cast<int>(known->kind());
    }
    evaluate(std::make_unique<FailingSolver>(), {nullptr, count, count, 0});
    mine.again = gather_on_all(communicator, shares, x.data());
    EXPECT_EQ(y[0], 21);
    // The last of each rank's.
    const std::vector<std::int64_t> last{count - 1};
    evaluate(std::make_unique<FailingSolver>(), {last.data(), 1, 1, 0});
    EXPECT_EQ(x[0], static_cast<double>(first + count - 1));
  });
  return seen;
}

void expect_answers(const std::vector<Seen>& seen) {
  for (const Seen& one : seen)
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(one.again[static_cast<std::size_t>(i)], static_cast<double>(i));
}

TEST(GatheredSolver, AnswersEachRankForItsOwn) {
  const auto seen = evaluate_with<Error>([](FailingSolver&, int) {});
  for (const Seen& one : seen) EXPECT_EQ(one.words, "");
  expect_answers(seen);
}

TEST(GatheredSolver, AnyExceptionOfOneRankEndsAllRanksWithItsWords) {
  for (int failing = 0; failing < ranks; ++failing) {
    const auto seen = evaluate_with<std::domain_error>([&](FailingSolver& solver, int rank) {
      if (rank == failing) solver.in_evaluate = [] { throw std::domain_error("the tree has no root"); };
    });
    for (int rank = 0; rank < ranks; ++rank) {
      const Seen& one = seen[static_cast<std::size_t>(rank)];
      EXPECT_EQ(one.words, "the tree has no root") << rank;
      EXPECT_EQ(one.own, rank == failing) << rank;
      EXPECT_EQ(one.kind, rank == failing ? 0 : static_cast<int>(ErrorKind::numerics)) << rank;
    }
    expect_answers(seen);
  }
}

TEST(GatheredSolver, KindsOfErrorsAreKept) {
  const auto device = evaluate_with<Error>([](FailingSolver& solver, int rank) {
    if (rank == 1) solver.in_evaluate = [] { throw Error(ErrorKind::device, "cuda:1: out of memory"); };
  });
  const auto memory = evaluate_with<std::bad_alloc>([](FailingSolver& solver, int rank) {
    if (rank == 2) solver.in_evaluate = [] { throw std::bad_alloc(); };
  });
  for (const Seen& one : device) {
    EXPECT_EQ(one.words, "cuda:1: out of memory");
    EXPECT_EQ(one.kind, static_cast<int>(ErrorKind::device));
  }
  EXPECT_TRUE(memory[2].own);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(memory[static_cast<std::size_t>(rank)].words, "cpu: out of memory");
    EXPECT_EQ(memory[static_cast<std::size_t>(rank)].kind, static_cast<int>(ErrorKind::device));
  }
}

TEST(GatheredSolver, WhatAFailedPreparationThrowsIsSharedToo) {
  const auto seen = evaluate_with<Error>([](FailingSolver& solver, int rank) {
    if (rank == 2) solver.in_prepare = [] { throw Error(ErrorKind::numerics, "a place is not a number"); };
  });
  for (const Seen& one : seen) EXPECT_EQ(one.words, "a place is not a number");
  expect_answers(seen);
}

TEST(GatheredSolver, OfSeveralFailuresTheFirstRanksIsThrownOnAll) {
  const auto seen = evaluate_with<Error>([](FailingSolver& solver, int rank) {
    if (rank > 0) solver.in_evaluate = [rank] { throw Error(ErrorKind::numerics, "rank " + std::to_string(rank)); };
  });
  for (const Seen& one : seen) EXPECT_EQ(one.words, "rank 1");
  expect_answers(seen);
}

TEST(GatheredSolver, CoincidentParticlesAreThoseOfTheRankThatFoundThem) {
  const auto seen = evaluate_with<CoincidentParticles>([](FailingSolver& solver, int rank) {
    if (rank == 1) solver.in_evaluate = [] { throw CoincidentParticles(4, 6, "in one place"); };
  });
  for (const Seen& one : seen) EXPECT_TRUE(one.coincident);
  expect_answers(seen);
}

}  // namespace
}  // namespace pergola
