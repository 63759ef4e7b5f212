#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "g6/cluster.hpp"

namespace pergola::g6 {

/// A cluster that is open under an id. Calls for it take turns.
struct OpenCluster {
  explicit OpenCluster(const Device& device, const ClusterOptions& options) : cluster(device, options) {}
  std::mutex turn;
  Cluster cluster;
  bool failed = false;      // the block could not be started
  bool overflowed = false;  // its neighbour lists were too long
};

/// A cluster could not be opened: bad settings, no such device, no memory.
class CannotOpen : public Error {
  using Error::Error;
};

/// The clusters of this process by id. An id that is negative, or is used after it was closed, is refused with
/// Error(input).
class Registry {
 public:
  /// The one of the process. Never destroyed: a client may call from its own last functions.
  static Registry& instance();

  /// Throws CannotOpen.
  void open(int id);
  void close(int id);
  /// Devices for the ids that are opened from now on, in turn, where the environment does not name one.
  void choose_devices(std::vector<int> ordinals);
  /// The cluster of an id, opened where it never was: clients open one id and use another. An id that could not be
  /// opened stays so, until open().
  std::shared_ptr<OpenCluster> use(int id);
  /// The cluster that use() gave last.
  std::shared_ptr<OpenCluster> used_last() { return use(last_); }

 private:
  std::shared_ptr<OpenCluster> make(int id);
  std::shared_ptr<OpenCluster> try_to_make(int id);
  Device device_for(int id, const std::string& spec, int threads);

  std::mutex mutex_;
  std::map<int, std::shared_ptr<OpenCluster>> open_;
  std::set<int> closed_;               // and not opened since
  std::map<int, CannotOpen> refused_;  // why
  std::atomic<int> last_ = 0;
  std::vector<int> ordinals_;
  int cuda_devices_ = -1;      // not counted yet
  std::vector<Device> spare_;  // of clusters that were closed: opening a device anew takes long
};

}  // namespace pergola::g6
