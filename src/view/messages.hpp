#pragma once
#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_device.hpp"
#include "picture/seen_density.hpp"
#include "sim/state_map.hpp"

// Binary messages to a page: points of a moment, or a picture of the density. web/src/wire.ts reads them. All numbers
// are little-endian. A message begins with four letters, the length of a JSON text, and the text padded with blanks to
// a multiple of 8 bytes.
// Positions and speeds are sent as fractions of their ranges, because a page needs no more than its pixels resolve.
// The first letters name the format, so that a page can refuse what it does not know.
namespace pergola {

/// The points of a moment: coordinates, a speed for the colour, and a kind.
struct ViewPoints {
  double time = 0;
  std::string time_text;    // for people, with its unit
  std::int64_t number = 0;  // of the snapshot, or of the moment of a running simulation
  std::int64_t total = 0;   // particles that these points stand for
  std::array<std::string, 3> axes{"x", "y", "z"};
  std::array<std::string, 3> units;  // for people; may be empty
  std::vector<std::string> kinds;    // names; `kind` is a place in this list
  std::vector<float> x, y, z, speed;
  std::vector<std::uint8_t> kind;
  std::vector<std::uint64_t> id;  // is not sent; empty: not known
  double box_side = 0;            // of a periodic box whose corner is the origin; 0: none
  std::vector<StateMap> maps;     // of the same moment
  std::vector<StateCurve> curves;
};

/// "PGV1", the text, then 8 bytes a point: x, y, z as 16-bit fractions of the frame in the text, then 4 bits of kind
/// and 12 bits of speed as a fraction of its range. Points that are not finite are left out. Maps are in the text: at
/// most 128 cells a side, base64 of a byte a cell.
PERGOLA_API std::string encode_points(const ViewPoints& points);

/// The id of a point of the message; 0: not known.
PERGOLA_API std::uint64_t point_id(const ViewPoints& points, std::int64_t point);

/// All particles of a moment as a page's camera sees them.
struct ViewDensity {
  double time = 0;
  std::string time_text;    // for people, with its unit
  std::int64_t number = 0;  // of the snapshot, or of the moment of a running simulation
  std::int64_t total = 0;   // particles
  SeenDensity seen;
};

/// "PGD1", the text, then a byte a pixel, row 0 at the top: 255 ln(1 + n)/ln(1 + most), with n particles behind the
/// pixel and `most` (in the text) behind the fullest one.
PERGOLA_API std::string encode_density(const ViewDensity& density);

/// Values that are not finite become null.
nlohmann::json curve_json(const StateCurve& curve);

}  // namespace pergola
