#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.hpp"
#include "g6/interface.hpp"
#include "g6/replay.hpp"
#include "g6/trace.hpp"

namespace pergola::g6 {
namespace {

namespace fs = std::filesystem;

constexpr int cluster = 3, n = 40;

struct Answers {
  std::vector<double> acc = std::vector<double>(3 * n), jerk = acc, pot = std::vector<double>(n);
  std::vector<int> nearest = std::vector<int>(n);
};

double (*triples(std::vector<double>& values))[3] { return reinterpret_cast<double(*)[3]>(values.data()); }

/// A client: particles on a crooked line, two blocks of all of them at two times, neighbour lists.
Answers run_client() {
  std::vector<double> x, v;
  std::vector<int> index;
  for (int i = 0; i < n; ++i) {
    const double t = 0.1 * i;
    x.insert(x.end(), {t, t * t, 0.3 * t * (i % 3)});
    v.insert(v.end(), {0.1, -0.2 * t, 0.05 * (i % 5)});
    index.push_back(100 + i);
  }
  EXPECT_EQ(open(cluster), 0);
  for (int i = 0; i < n; ++i) {
    const double k18[3] = {0.01, 0, 0}, j6[3] = {0, 0.02, 0}, a2[3] = {0.1, 0.1, 0};
    EXPECT_EQ(set_j_particle(cluster, i, 100 + i, 0, 1.0 / n, k18, j6, a2, &v[3 * static_cast<std::size_t>(i)],
                             &x[3 * static_cast<std::size_t>(i)]),
              0);
  }
  Answers answers;
  const std::vector<double> h2(n, 0.09);
  for (const double time : {0.0, 0.25}) {
    EXPECT_EQ(set_ti(cluster, time), 0);
    firsthalf(cluster, {n, n, index.data(), triples(x), triples(v), 1e-4, h2.data()});
    EXPECT_EQ(
        lasthalf(cluster, {n, triples(answers.acc), triples(answers.jerk), answers.pot.data(), answers.nearest.data()}),
        0);
  }
  EXPECT_EQ(read_neighbour_list(cluster), 0);
  int length = 0, list[n];
  for (int k = 0; k < n; k += 7) EXPECT_EQ(get_neighbour_list(cluster, k, n, &length, list), 0);
  EXPECT_EQ(close(cluster), 0);
  return answers;
}

/// The trace of run_client(), recorded once: the library looks at its environment when it is first used.
const fs::path& recorded() {
  static const fs::path path = [] {
    const fs::path file = fs::temp_directory_path() / ("pergola_trace_test_" + std::to_string(::getpid()) + ".g6");
    ::setenv("PERGOLA_G6_TRACE", file.c_str(), 1);
    ::setenv("PERGOLA_DEVICE", "cpu", 1);
    run_client();
    return file;
  }();
  return path;
}

class TraceTest : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { fs::remove(recorded()); }
  static fs::path copy(const char* name, std::size_t bytes = SIZE_MAX) {
    std::ifstream from(recorded(), std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(from)), {});
    text.resize(std::min(bytes, text.size()));
    const fs::path path = recorded().string() + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
};

TEST_F(TraceTest, ReplayOnTheSameDeviceGivesTheSameBits) {
  const auto report = replay_trace(recorded(), Device::open("cpu"), Precision::mixed, false);
  EXPECT_EQ(report.j_particles, n);
  EXPECT_EQ(report.blocks, 2);
  EXPECT_EQ(report.interactions, 2 * n * n);
  EXPECT_EQ(report.acceleration.count, 2 * n);
  EXPECT_EQ(report.acceleration.max, 0);
  EXPECT_EQ(report.jerk.max, 0);
  EXPECT_EQ(report.potential.max, 0);
  EXPECT_EQ(report.nearest_compared, 2 * n);
  EXPECT_EQ(report.nearest_different, 0);
  EXPECT_EQ(report.lists_compared, 6);
  EXPECT_EQ(report.lists_different, 0);
  EXPECT_FALSE(report.truncated);
}

TEST_F(TraceTest, AnotherPrecisionDiffersByItsRounding) {
  const auto report = replay_trace(recorded(), Device::open("cpu"), Precision::double_, false);
  EXPECT_GT(report.acceleration.max, 0);
  EXPECT_LT(report.acceleration.max, 1e-4);
  EXPECT_LT(report.potential.max, 1e-5);
  EXPECT_EQ(report.nearest_different, 0);
}

TEST_F(TraceTest, ChangedAnswersAreFound) {
  const fs::path path = recorded().string() + ".changed";
  {
    TraceReader reader(recorded());
    TraceWriter writer(path);
    TraceCall call;
    while (reader.next(call)) {
      if (call.kind == TraceCall::Kind::last_half) call.acceleration[4] *= 1.5, call.indices[0] = -1;
      if (call.kind == TraceCall::Kind::get_list && !call.indices.empty()) call.indices.pop_back();
      writer.write(call);
    }
  }
  const auto report = replay_trace(path, Device::open("cpu"), Precision::mixed, false);
  EXPECT_GT(report.acceleration.max, 0.05);
  EXPECT_EQ(report.acceleration.median, 0);
  EXPECT_EQ(report.nearest_different, 2);
  EXPECT_GT(report.lists_different, 0);
  fs::remove(path);
}

TEST_F(TraceTest, TheTraceOfAKilledProgramIsReplayedAsFarAsItGoes) {
  const auto path = copy(".killed", 8000);
  const auto report = replay_trace(path, Device::open("cpu"), Precision::mixed, false);
  EXPECT_TRUE(report.truncated);
  EXPECT_GT(report.j_particles, 0);
  fs::remove(path);
}

/// The recorded trace with one of its calls changed, replayed; the error's message, empty: there was none.
template <class Change>
std::string refusal(TraceCall::Kind kind, const Change& change) {
  const fs::path path = recorded().string() + ".damaged";
  {
    TraceReader reader(recorded());
    TraceWriter writer(path);
    TraceCall call;
    for (bool done = false; reader.next(call);) {
      if (call.kind == kind && !done) change(call), done = true;
      writer.write(call);
    }
  }
  std::string message;
  try {
    replay_trace(path, Device::open("cpu"), Precision::mixed, false);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    message = error.what();
  }
  fs::remove(path);
  return message;
}

TEST_F(TraceTest, ListsThatDoNotFitTheBlockAreRefused) {
  using Kind = TraceCall::Kind;
  const auto holds = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(holds(refusal(Kind::first_half, [](TraceCall& c) { c.x.resize(6); }), "positions: expected 120 values"));
  EXPECT_TRUE(holds(refusal(Kind::first_half, [](TraceCall& c) { c.v.pop_back(); }), "velocities"));
  EXPECT_TRUE(holds(refusal(Kind::first_half, [](TraceCall& c) { c.h2.resize(1); }), "h2"));
  EXPECT_TRUE(holds(refusal(Kind::first_half, [](TraceCall& c) { c.x.clear(); }), "positions"));
  EXPECT_TRUE(holds(refusal(Kind::last_half, [](TraceCall& c) { c.acceleration.resize(300); }), "answers"));
  EXPECT_TRUE(holds(refusal(Kind::last_half, [](TraceCall& c) { c.acceleration.pop_back(); }), "accelerations"));
  EXPECT_TRUE(holds(refusal(Kind::last_half, [](TraceCall& c) { c.indices.resize(100); }), "answers"));
  EXPECT_TRUE(holds(refusal(Kind::last_half, [](TraceCall& c) { c.potential.resize(3); }), "potentials"));
  EXPECT_TRUE(holds(refusal(Kind::get_list, [](TraceCall& c) { c.address = n; }), "ipipe"));
  EXPECT_TRUE(holds(refusal(Kind::get_list, [](TraceCall& c) { c.address = -1; }), "ipipe"));
}

TEST_F(TraceTest, AddressesThatTheTraceCannotFillAreRefused) {
  for (const int address : {-1, 1 << 20, (1 << 30) - 1, INT_MAX})
    EXPECT_NE(refusal(TraceCall::Kind::set_j_particle, [=](TraceCall& c) { c.address = address; }).find("address"),
              std::string::npos)
        << address;
  EXPECT_EQ(refusal(TraceCall::Kind::set_j_particle, [](TraceCall& c) { c.address = 5000; }), "");
}

TEST_F(TraceTest, OtherFilesAreRefused) {
  const fs::path path = recorded().string() + ".other";
  std::ofstream(path) << "[run]\nend_time = 1\n";
  EXPECT_THROW(TraceReader reader(path), Error);
  EXPECT_THROW(TraceReader reader(path.string() + ".missing"), Error);
  fs::remove(path);
}

}  // namespace
}  // namespace pergola::g6
