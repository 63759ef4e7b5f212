// Clusters by id, and the environment: see registry.hpp.
//
// Settings are read each time they are needed: a client may set variables while it runs. An id whose opening
// failed is refused with the same error until it is opened again, so that a client that ignores results does not try
// with every call.
#include "g6/registry.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola::g6 {

namespace {

/// The variable's value; empty where it is not set or is empty.
std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

[[noreturn]] void refuse(const char* name, const char* expected, std::string_view found) {
  throw Error(ErrorKind::input, fmt::format("{}: expected {}, found \"{}\"", name, expected, found));
}

/// A variable as an integer between two bounds; `otherwise` if it is not set. Throws Error(input).
int integer(const char* name, int least, int most, const char* expected, int otherwise) {
  const auto text = variable(name);
  if (text.empty()) return otherwise;
  const auto value = parse_integer(text);
  if (!value || *value < least || *value > most) refuse(name, expected, text);
  return static_cast<int>(*value);
}

void require_id(int id) {
  if (id < 0) throw Error(ErrorKind::input, fmt::format("id: expected 0 or more, found {}", id));
}

}  // namespace

OnFailure on_failure() { return variable("PERGOLA_G6_FAILURE") == "nan" ? OnFailure::nan : OnFailure::exit; }

Settings settings_from_environment() {
  Settings settings;
  if (const auto text = variable("PERGOLA_G6_FAILURE"); !text.empty() && text != "exit" && text != "nan")
    refuse("PERGOLA_G6_FAILURE", "exit or nan", text);
  if (const auto device = variable("PERGOLA_DEVICE"); !device.empty()) settings.device = device;
  settings.threads = integer("PERGOLA_THREADS", 0, 65536, "a number of threads, 0 for all cores", settings.threads);
  settings.pipes = integer("PERGOLA_G6_PIPES", 1, 1 << 20, "a number from 1 to 1048576", settings.pipes);
  if (const auto text = variable("PERGOLA_G6_PRECISION"); text == "double")
    settings.precision = Precision::double_;
  else if (!text.empty() && text != "mixed")
    refuse("PERGOLA_G6_PRECISION", "mixed or double", text);
  settings.self_neighbour =
      integer("PERGOLA_G6_SELF_NEIGHBOUR", 0, 1, "0 or 1", settings.pipes > grape6_pipes ? 1 : 0) != 0;
  return settings;
}

Registry& Registry::instance() {
  static Registry& registry = *new Registry;
  return registry;
}

void Registry::open(int id) {
  require_id(id);
  const std::lock_guard lock(mutex_);
  auto& entry = open_[id];
  if (!entry) entry = try_to_make(id);
  closed_.erase(id);
}

/// Waits for a call that another thread has in progress on this cluster. Its device becomes a spare one.
void Registry::close(int id) {
  require_id(id);
  std::shared_ptr<OpenCluster> closing;
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  closing = std::move(found->second);
  open_.erase(found);
  if (!closing) return;
  closed_.insert(id);
  const std::lock_guard turn(closing->turn);
  spare_.push_back(closing->cluster.device());
}

void Registry::choose_devices(std::vector<int> ordinals) {
  const std::lock_guard lock(mutex_);
  ordinals_ = std::move(ordinals);
}

std::shared_ptr<OpenCluster> Registry::use(int id) {
  require_id(id);
  const std::lock_guard lock(mutex_);
  if (closed_.contains(id))
    throw Error(ErrorKind::input, fmt::format("id {} was closed: expected g6_open before it is used again", id));
  if (const auto refused = refused_.find(id); refused != refused_.end()) throw refused->second;
  auto& entry = open_[id];
  if (!entry) entry = try_to_make(id);
  last_ = id;
  return entry;
}

/// Remembers why an id could not be opened.
std::shared_ptr<OpenCluster> Registry::try_to_make(int id) {
  refused_.erase(id);
  try {
    return make(id);
  } catch (const Error& error) {
    throw refused_.emplace(id, CannotOpen(error.kind(), error.what())).first->second;
  }
}

std::shared_ptr<OpenCluster> Registry::make(int id) {
  const Settings settings = settings_from_environment();
  ClusterOptions options;
  options.precision = settings.precision;
  options.self_neighbour = settings.self_neighbour;
  return std::make_shared<OpenCluster>(device_for(id, settings.device, settings.threads), options);
}

/// With several GPUs the ids take them in turn. A spare device is preferred to a new one, which takes long to open.
Device Registry::device_for(int id, const std::string& wanted, int threads) {
  std::string spec = wanted;
  if (spec == "auto" || spec == "cuda") {
    if (cuda_devices_ < 0) {
      const auto all = list_devices();
      cuda_devices_ = static_cast<int>(
          std::count_if(all.begin(), all.end(), [](const auto& d) { return d.usable && d.spec.starts_with("cuda:"); }));
    }
    const auto number = static_cast<std::size_t>(static_cast<unsigned>(id));
    if (!ordinals_.empty() && cuda_devices_ > 0)
      spec = fmt::format("cuda:{}", ordinals_[number % ordinals_.size()]);
    else if (cuda_devices_ > 0)
      spec = fmt::format("cuda:{}", number % static_cast<std::size_t>(cuda_devices_));
    else if (spec == "auto")
      spec = "cpu";
  }
  for (auto spare = spare_.begin(); spare != spare_.end(); ++spare)
    if (spare->spec() == spec && (threads == 0 || spare->threads() == threads)) {
      Device device = *spare;
      spare_.erase(spare);
      return device;
    }
  try {
    return Device::open(spec, threads);
  } catch (const Error& error) {
    const std::string_view what = error.what(), key = "device: ";
    if (wanted == Settings{}.device) throw;
    throw Error(error.kind(), fmt::format("PERGOLA_DEVICE: {}", what.substr(what.starts_with(key) ? key.size() : 0)));
  }
}

}  // namespace pergola::g6
