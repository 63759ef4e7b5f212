#pragma once
#include <cstdint>
#include <vector>

#include "domain/routing.hpp"

namespace pergola {

/// What solvers of spread particles are that work on them on other ranks than those that have them: the sources may go
/// there for good, and come back. All ranks make all calls but way().
class SourceMoves {
 public:
  virtual ~SourceMoves() = default;
  /// How the sources of the last prepare() or update() get from the ranks that have them to those that work on them;
  /// null: there were none.
  virtual const Routing* way() const = 0;
  /// They have all gone that way, and are given by their new ranks from now on: the k-th that arrived here stands at
  /// places[k].
  virtual void have_come(std::vector<std::uint32_t> places) = 0;
  /// After that they have left again, in the order in which they stood here: `way` brings them back from where they are
  /// given now.
  virtual void have_left(Routing way) = 0;
};

}  // namespace pergola
