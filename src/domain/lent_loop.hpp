#pragma once
#include <cstdint>

#include "comm/lent_cores.hpp"
#include "comm/one_machine.hpp"
#include "device/parallel.hpp"

namespace pergola {

/// As parallel_for(), before all ranks meet: where they are processes of one machine with a thread each, those that are
/// done lend their cores to the others. Without ranks it is parallel_for().
template <class Body>
void parallel_for(Communicator* ranks, int threads, std::int64_t count, const Body& body) {
  LentCores* const cores = ranks && threads == 1 ? lent_cores(*ranks) : nullptr;
  if (!cores) return parallel_for(threads, count, body);
  cores->run(
      count, [](const void* one, std::int64_t i) { (*static_cast<const Body*>(one))(i); }, &body);
}

}  // namespace pergola
