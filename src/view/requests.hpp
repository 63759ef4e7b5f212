#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/host_device.hpp"
#include "picture/seen_density.hpp"

namespace pergola {

/// What a page asks for, one message each: {"ask": "state"}, {"ask": "snapshot", "number": 3, "most": 100000},
/// {"ask": "newest", "after": 17, "most": 100000}, {"do": "pause", "argument": ""}; for a picture of the density
/// {"ask": "density", "number": 3, "camera": "…", "width": 640, "height": 400} of a snapshot, with "after" in place of
/// "number" of a run that goes on. A camera is 13 numbers with blanks between them: the rows right, up and depth of a
/// Sight, and its focus. What may be waited for also takes "wait", milliseconds up to 2000.
struct ViewRequest {
  enum class Kind { state, snapshot, newest, density, newest_density, act };
  Kind kind = Kind::state;
  std::int64_t number = 0;  // of a snapshot; of the newest points that the page has
  std::int64_t most = 0;    // points
  int wait_ms = 2000;       // for what there is not yet
  Sight sight;
  std::string action, argument;
};

/// Points that are shown at most; beyond it a picture shows more than points do.
inline constexpr std::int64_t most_view_points = 200'000;
/// Pixels of a side of a picture.
inline constexpr int most_view_pixels = 1024;
/// Bytes of a message from a page.
inline constexpr std::size_t longest_view_request = 4096;

/// Throws Error(input) for anything else.
PERGOLA_API ViewRequest parse_view_request(std::string_view text);

/// Whether a request with these headers comes from the page itself: its Host is this machine's loopback or the address
/// that the server was asked to listen on (other names may be a foreign page's, rebound to this machine), and its
/// Origin, where there is one, is the same host.
PERGOLA_API bool is_own_page(std::string_view host, std::string_view origin, std::string_view address);

/// Compares without telling by its time how much is right.
PERGOLA_API bool same_token(std::string_view given, std::string_view expected);

/// The value of `name` in the query of a target such as "/?token=abc&x=1"; empty where there is none.
PERGOLA_API std::string_view query_value(std::string_view target, std::string_view name);

}  // namespace pergola
