#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

class System;

/// Whether the steps of a run go on.
enum class Pace { on, one_step, held };

/// What somebody who watches a run asks of it.
struct RunWishes {
  bool show = false;        // to be shown what is there now; until it is
  bool checkpoint = false;  // to write one and go on; once
  Pace pace = Pace::on;
  std::vector<std::string> commands{};  // that people have given since the last look, for run.json and the log
};

/// Somebody who watches a run while it goes on, and may hold it: nothing that he asks for alters the trajectory. Called
/// on rank 0, by the thread that takes the steps.
class PERGOLA_API RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  /// After steps and outputs, and again and again while the run is held. Who has asked for one step asks to be held
  /// when `steps` has grown.
  virtual RunWishes look(double time, std::int64_t steps) = 0;
  /// Shows the system between two steps: at the start, where asked for, and at the end. Does not throw.
  virtual void show(System& system) = 0;
};

}  // namespace pergola
