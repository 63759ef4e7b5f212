#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "comm/communicator.hpp"
#include "sim/spread_case.hpp"
#include "time/integrator.hpp"

namespace pergola {

/// A rank of four needs no more than 1.3 times a fourth of what one rank needs for n particles, and a constant.
inline void expect_shares_of_memory(const RunConfig& config, const Device& device, std::int64_t n,
                                    std::int64_t constant) {
  const auto bytes = [&](std::shared_ptr<Communicator> ranks, std::int64_t count) {
    return make_integrator(config.time_options(), config.solver_options(), {device, std::move(ranks), nullptr})
        ->device_bytes(count);
  };
  const std::int64_t alone = bytes(serial_communicator(), n);
  run_on_thread_ranks(4, [&](Communicator& communicator) {
    const std::int64_t here = bytes(kept_elsewhere(communicator), n / 4);
    EXPECT_LT(here, alone * 13 / 40 + constant);
    EXPECT_GT(here, alone / 4);
  });
}

}  // namespace pergola
