#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/host_device.hpp"
#include "picture/seen_density.hpp"

// The server of the live view: a page over HTTP, its data over WebSockets. It listens on the loopback unless asked, and
// answers only requests with its token. One thread serves all connections. It takes the newest data from the feed when
// a page asks, so that a slow page delays nothing.
// What always holds: at most 32 connections; an idle one is closed; the token is 128 random bits of the operating
// system; headers forbid scripts from elsewhere.
namespace pergola {

/// The data of a page. Called only by the server's thread.
class PERGOLA_API ViewFeed {
 public:
  virtual ~ViewFeed() = default;

  /// Everything except points, as JSON: title, times, logs, report card. See docs/view.md.
  virtual std::string state() = 0;
  /// The points of snapshot `number`, at most `most` (view/messages.hpp). Throws Error if it cannot be read.
  virtual std::shared_ptr<const std::string> snapshot(std::int64_t number, std::int64_t most) = 0;
  /// The newest points of a running simulation, if their number is at least `serial`, which is then set to it. Null if
  /// there are none yet.
  virtual std::shared_ptr<const std::string> newest(std::int64_t& serial, std::int64_t most) = 0;
  /// The density of snapshot `number` for a camera (view/messages.hpp). Throws Error if it cannot be read.
  virtual std::shared_ptr<const std::string> density(std::int64_t number, const Sight& sight) = 0;
  /// The same for a running simulation, if its number is at least `serial`; null if there is none yet for this camera.
  virtual std::shared_ptr<const std::string> newest_density(std::int64_t serial, const Sight& sight) = 0;
  /// The id of a point of snapshot `number`, or of that moment of a running simulation, in what at most `most` points
  /// were; 0: not known.
  virtual std::uint64_t id(std::int64_t number, std::int64_t most, std::int64_t point, bool of_run) = 0;
  /// A button of the page. Returns a sentence; throws Error(input) if the action is not possible.
  virtual std::string act(const std::string& action, const std::string& argument) = 0;
};

struct ViewOptions {
  std::string address = "127.0.0.1";  // nothing listens elsewhere unless asked
  int port = 0;                       // 0: any that is free
};

/// Serves a page to everyone who knows the token.
class PERGOLA_API ViewServer {
 public:
  /// Throws Error(system) if the address or port is not available. The feed must outlive the server.
  ViewServer(ViewFeed& feed, const ViewOptions& options);
  ~ViewServer();
  ViewServer(const ViewServer&) = delete;
  ViewServer& operator=(const ViewServer&) = delete;

  int port() const;
  /// The number of open pages. A page has one WebSocket for its points and one for the rest.
  int pages() const;
  const std::string& token() const;
  /// The address for a browser on this machine.
  std::string url() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The page: HTML with everything in it.
extern const char* const view_page;

}  // namespace pergola
