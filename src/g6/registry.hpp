#pragma once
/// The clusters of a process by id, and the settings of the environment.
///
/// A cluster is opened by g6_open or on first use, since clients open one id and use another. Calls for one cluster
/// take turns. The environment chooses device, threads, precision and what happens on failure. Always: neither the
/// registry nor a device that a closed cluster had is destroyed while the process lives.
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "g6/cluster.hpp"
#include "particles/particles.hpp"

namespace pergola::g6 {

/// The number of pipelines of GRAPE-6, and the default: kira expects of a device with more that neighbour lists hold
/// the particle itself, FDPS-style clients have arrays of 128, phiGRAPE takes any number.
inline constexpr int grape6_pipes = 48;

/// Settings from the environment.
struct Settings {
  std::string device = "auto";             // PERGOLA_DEVICE: auto | cpu | cuda | cuda:K
  int threads = 0;                         // PERGOLA_THREADS; 0: all cores
  int pipes = grape6_pipes;                // PERGOLA_G6_PIPES
  Precision precision = Precision::mixed;  // PERGOLA_G6_PRECISION: mixed | double
  bool self_neighbour = false;             // PERGOLA_G6_SELF_NEIGHBOUR: 0 | 1; unset: 1 with more than 48 pipes
};

/// What happens if a cluster cannot be opened. PERGOLA_G6_FAILURE: exit | nan.
enum class OnFailure {
  exit,  // one sentence, and the program ends, as with the hardware's driver: many clients ignore the result of g6_open
         // and would continue without forces
  nan    // calls return not 0, and forces are NaN
};

/// Any other word counts as exit; settings_from_environment() refuses it.
OnFailure on_failure();

/// Throws Error(input) that names the variable, what was expected and what was found.
Settings settings_from_environment();

/// An open cluster.
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

/// The clusters by id. A negative id, or one that is used after it was closed, is refused with Error(input).
class Registry {
 public:
  /// The registry of the process. Never destroyed: a client may call from its exit handlers.
  static Registry& instance();

  /// Throws CannotOpen.
  void open(int id);
  /// An id that is not open is ignored.
  void close(int id);
  /// Devices for the ids that are opened from now on, in turn, unless the environment names one.
  void choose_devices(std::vector<int> ordinals);
  /// The cluster of an id, opened if it never was. An id that could not be opened is refused until open().
  std::shared_ptr<OpenCluster> use(int id);
  /// The cluster that use() returned last.
  std::shared_ptr<OpenCluster> used_last() { return use(last_); }

 private:
  std::shared_ptr<OpenCluster> make(int id);
  std::shared_ptr<OpenCluster> try_to_make(int id);
  Device device_for(int id, const std::string& spec, int threads);

  std::mutex mutex_;
  std::map<int, std::shared_ptr<OpenCluster>> open_;
  std::set<int> closed_;               // and not opened since
  std::map<int, CannotOpen> refused_;  // with the reason
  std::atomic<int> last_ = 0;
  std::vector<int> ordinals_;
  int cuda_devices_ = -1;      // not counted yet
  std::vector<Device> spare_;  // of closed clusters: opening a device again takes long
};

}  // namespace pergola::g6
