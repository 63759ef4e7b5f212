#include "domain/device_messages.hpp"

#include <cstdlib>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "marks.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class DeviceMessagesTest : public DeviceTest {};

/// Message m from a rank to another in a round: rooms grow, and every third round has none of some ranks.
std::int64_t length_of(int from, int to, int round, int m) {
  return (from + round) % 3 == 0 ? 0 : 1 + (1 << (2 * round + 4)) + 3 * to + m;
}
[[maybe_unused]] std::vector<double> values_of(int from, int to, int round, int m) {
  std::vector<double> values;
  for (std::int64_t k = 0; k < length_of(from, to, round, m); ++k)
    values.push_back(1e6 * (100 * round + 10 * from + to) + 1e3 * m + static_cast<double>(k % 997));
  return values;
}

/// Rounds that follow one another without a look at what has come. Messages is DeviceMessages, which a build without
/// CUDA does not have.
template <class Messages>
void expect_messages(const Device& device, const std::shared_ptr<Communicator>& ranks, typename Messages::Rooms rooms) {
  constexpr int rounds = 8, of_a_pair = 2;
  constexpr auto bytes = std::int64_t{sizeof(double)};
  Messages messages(device, ranks, rooms);
  std::vector<std::vector<double>> expected;
  std::vector<Buffer<double>> arrived;
  for (int round = 0; round < rounds; ++round) {
    std::int64_t sent = 0, got = 0;
    for (int r = 0; r < ranks->size(); ++r)
      for (int m = 0; m < of_a_pair && r != ranks->rank(); ++m)
        sent += length_of(ranks->rank(), r, round, m), got += length_of(r, ranks->rank(), round, m);
    std::byte *out = messages.outgoing(sent * bytes), *in = messages.incoming(got * bytes);
    std::vector<Communicator::Outgoing> to;
    std::vector<Communicator::Incoming> from;
    for (int r = 0; r < ranks->size(); ++r)
      for (int m = 0; m < of_a_pair && r != ranks->rank(); ++m) {
        const Buffer<double> values(device, values_of(ranks->rank(), r, round, m));
        const auto size = static_cast<std::int64_t>(values.bytes());
        messages.load(out, values.data(), size);
        if (size > 0) to.push_back({r, std::exchange(out, out + size), values.bytes()});
        const std::vector<double> wanted = values_of(r, ranks->rank(), round, m);
        if (!wanted.empty())
          from.push_back({r, in, wanted.size() * sizeof(double)}), in += wanted.size() * sizeof(double);
        if (!wanted.empty()) expected.push_back(wanted);
      }
    messages.exchange(to, from);
    for (const auto& one : from) {
      arrived.emplace_back(device, static_cast<std::int64_t>(one.bytes) / bytes);
      messages.unload(arrived.back().data(), one.data, static_cast<std::int64_t>(one.bytes));
    }
  }
  device.synchronize();
  ranks->barrier();  // all have all
  ASSERT_EQ(arrived.size(), expected.size());
  for (std::size_t k = 0; k < arrived.size(); ++k) EXPECT_EQ(arrived[k].to_host(), expected[k]) << k;
}

// From device to device and through the host, with one room and with two.
TEST_P(DeviceMessagesTest, ArriveInRoundsThatFollowOneAnother) {
  for (const bool through_host : {false, true}) {
    if (through_host) setenv("PERGOLA_DEVICE_MESSAGES", "host", 1);
    for (const int ranks : {1, 2, 5})
      run_on_thread_ranks(ranks, [&](Communicator& communicator) {
        if constexpr (cuda_built) {
          const std::shared_ptr<Communicator> shared(&communicator, [](Communicator*) {});
          expect_messages<DeviceMessages>(device(1), shared, DeviceMessages::Rooms::one);
          expect_messages<DeviceMessages>(device(1), shared, DeviceMessages::Rooms::two);
        }
      });
  }
  unsetenv("PERGOLA_DEVICE_MESSAGES");
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceMessagesTest, ::testing::Values(std::string("cuda")), device_test_name);

}  // namespace
}  // namespace pergola
