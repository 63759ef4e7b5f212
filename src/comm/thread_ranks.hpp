#pragma once
#include <functional>

#include "comm/communicator.hpp"

namespace pergola {

/// Calls `work` on as many threads as there are ranks, each with its own communicator, and waits for all. Where a rank
/// throws, the others leave the call in which they wait for it with an Error(system), and the first exception is thrown
/// again. For tests of what several ranks do, at any number of them and without mpirun, and for plans.
PERGOLA_API void run_on_thread_ranks(int ranks, const std::function<void(Communicator&)>& work);

}  // namespace pergola
