#pragma once
#include <memory>

#include "comm/communicator.hpp"

namespace pergola {

/// A communicator whose ranks can talk in two threads at once.
class PERGOLA_API TalksBeside {
 public:
  virtual ~TalksBeside() = default;
  virtual std::shared_ptr<Communicator> beside() = 0;
};

/// The same ranks for a second thread of each, which makes its calls while the first one makes its own; the same one
/// every time. Null on all ranks where they cannot: one process, and an MPI that does not bear it. A call of all ranks.
PERGOLA_API std::shared_ptr<Communicator> communicator_beside(Communicator& ranks);

}  // namespace pergola
