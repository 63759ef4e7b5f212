#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/host_device.hpp"
#include "picture/seen_density.hpp"

namespace pergola {

/// What a page is shown. Called by the server's thread only.
class PERGOLA_API ViewFeed {
 public:
  virtual ~ViewFeed() = default;

  /// What there is beside the points, as JSON: title, times, logs, report card. See docs/view.md.
  virtual std::string state() = 0;
  /// The points of snapshot `number`, at most so many (view/points.hpp). Throws Error where it cannot be read.
  virtual std::shared_ptr<const std::string> snapshot(std::int64_t number, std::int64_t most) = 0;
  /// The newest points of a run that is going on, if they are newer than `serial` (then the number of the new ones is
  /// in `serial`); null while there are none.
  virtual std::shared_ptr<const std::string> newest(std::int64_t& serial, std::int64_t most) = 0;
  /// All particles of snapshot `number` as a camera sees them (view/density.hpp). Throws Error where it cannot be read.
  virtual std::shared_ptr<const std::string> density(std::int64_t number, const Sight& sight) = 0;
  /// The same of a run that is going on, if it is newer than `serial`; null while there is none for this camera.
  virtual std::shared_ptr<const std::string> newest_density(std::int64_t serial, const Sight& sight) = 0;
  /// What a button of the page asks for. Returns a sentence; throws Error(input) where it cannot be.
  virtual std::string act(const std::string& action, const std::string& argument) = 0;
};

struct ViewOptions {
  std::string address = "127.0.0.1";  // nothing listens elsewhere unless asked
  int port = 0;                       // 0: any that is free
};

/// A page over HTTP, and what it shows over WebSockets, for whoever knows the token. A thread of its own serves all
/// connections; it takes from the feed what is newest when a page asks, so that a slow or vanished page holds up
/// nobody.
class PERGOLA_API ViewServer {
 public:
  /// Throws Error(system) where the address or the port is not to be had. The feed outlives the server.
  ViewServer(ViewFeed& feed, const ViewOptions& options);
  ~ViewServer();
  ViewServer(const ViewServer&) = delete;
  ViewServer& operator=(const ViewServer&) = delete;

  int port() const;
  /// That are open now. A page has one WebSocket for its points and one for the rest.
  int pages() const;
  const std::string& token() const;
  /// For a browser on this machine.
  std::string url() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The page: HTML with everything in it.
extern const char* const view_page;

}  // namespace pergola
