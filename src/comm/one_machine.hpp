#pragma once
#include <cstddef>
#include <memory>

#include "comm/communicator.hpp"

namespace pergola {

class LentCores;

/// A communicator that knows whether its ranks are processes of one machine.
class PERGOLA_API KnowsMachines {
 public:
  virtual ~KnowsMachines() = default;
  virtual bool find_machines() = 0;
  virtual bool on_one_machine() const = 0;
  virtual std::shared_ptr<void> share_memory(std::size_t bytes) = 0;
  virtual LentCores* lent_cores() = 0;
};

/// Finds out whether all ranks are processes of one machine that can share memory. A call of all ranks.
PERGOLA_API bool find_machines(Communicator& ranks);
/// What it found; false before. PERGOLA_SHARE_MEMORY=0 in the environment of all ranks: as if they were not.
PERGOLA_API bool on_one_machine(const Communicator& ranks);
/// Memory that they share then, zero at first; null on all where there is none. A call of all ranks.
PERGOLA_API std::shared_ptr<void> share_memory(Communicator& ranks, std::size_t bytes);
/// Those that they lend each other then; null where they do not.
PERGOLA_API LentCores* lent_cores(Communicator& ranks);

}  // namespace pergola
