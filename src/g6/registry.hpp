#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

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

/// The clusters of this process by id.
class Registry {
 public:
  /// The one of the process. Never destroyed: a client may call from its own last functions.
  static Registry& instance();

  void open(int id);
  void close(int id);
  /// Devices for the ids that are opened from now on, in turn, where the environment does not name one.
  void choose_devices(std::vector<int> ordinals);
  /// The cluster of an id, opened where it is not: clients open one id and use another.
  std::shared_ptr<OpenCluster> use(int id);
  /// The cluster that use() gave last.
  std::shared_ptr<OpenCluster> used_last() { return use(last_); }

 private:
  std::shared_ptr<OpenCluster> make(int id);
  Device device_for(int id, const std::string& spec, int threads);

  std::mutex mutex_;
  std::map<int, std::shared_ptr<OpenCluster>> open_;
  std::atomic<int> last_ = 0;
  std::vector<int> ordinals_;
  int cuda_devices_ = -1;      // not counted yet
  std::vector<Device> spare_;  // of clusters that were closed: opening a device anew takes long
};

}  // namespace pergola::g6
