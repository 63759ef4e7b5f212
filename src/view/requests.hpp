#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/host_device.hpp"
#include "picture/seen_density.hpp"

// Requests from a page, and checks of where they come from. Everything in a request is untrusted: sizes, ranges and
// nesting are limited before anything is read.
// A request is a small JSON object without nesting. Unknown words are errors. The token is compared in constant time,
// and the host and origin of a request must be the server's own: other pages in the same browser cannot use the
// server.
namespace pergola {

/// One message from a page:
/// {"ask": "state"}
/// {"ask": "snapshot", "number": 3, "most": 100000}
/// {"ask": "newest", "after": 17, "most": 100000}
/// {"ask": "density", "number": 3, "camera": "…", "width": 640, "height": 400}, or "after" for a running simulation
/// {"ask": "id", "number": 3, "most": 100000, "point": 17}, of the points of a snapshot; "moment" for "number": of a
/// running simulation
/// {"do": "pause", "argument": ""}
/// A camera is 13 numbers separated by blanks: the rows right, up and depth of a Sight, and its focus. A request that
/// may wait takes "wait", milliseconds up to 2000.
struct ViewRequest {
  enum class Kind { state, snapshot, newest, density, newest_density, id, act };
  Kind kind = Kind::state;
  std::int64_t number = 0;  // of a snapshot, or of the newest points of the page
  std::int64_t most = 0;    // points
  std::int64_t point = 0;   // whose id is asked for
  bool of_run = false;      // and whether it is one of a running simulation
  int wait_ms = 2000;       // for data that do not exist yet
  Sight sight;
  std::string action, argument;
};

/// The largest number of points. With more particles a density picture shows more than points do.
inline constexpr std::int64_t most_view_points = 200'000;
/// The largest side of a picture in pixels.
inline constexpr int most_view_pixels = 1024;
/// The largest message from a page in bytes.
inline constexpr std::size_t longest_view_request = 4096;

/// Throws Error(input) for anything else.
PERGOLA_API ViewRequest parse_view_request(std::string_view text);

/// Whether the request comes from the server's own page. Host must be this machine's loopback or the address of the
/// server: another name may belong to a foreign page that is rebound to this machine. Origin, if present, must be the
/// same host.
PERGOLA_API bool is_own_page(std::string_view host, std::string_view origin, std::string_view address);

/// Compares in constant time, so that timing tells nothing about the token.
PERGOLA_API bool same_token(std::string_view given, std::string_view expected);

/// The value of `name` in a target such as "/?token=abc&x=1"; empty if there is none.
PERGOLA_API std::string_view query_value(std::string_view target, std::string_view name);

}  // namespace pergola
