#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "sim/state_map.hpp"

namespace pergola {

/// Points of one moment, as a page draws them: three coordinates, a speed for the colour and a kind.
struct ViewPoints {
  double time = 0;
  std::string time_text;    // for people, with its unit
  std::int64_t number = 0;  // of the snapshot, or of the moment of a run that goes on
  std::int64_t total = 0;   // particles that these points stand for
  std::array<std::string, 3> axes{"x", "y", "z"};
  std::array<std::string, 3> units;  // for people; may be empty
  std::vector<std::string> kinds;    // names; `kind` is a place in this list
  std::vector<float> x, y, z, speed;
  std::vector<std::uint8_t> kind;
  double box_side = 0;         // of a periodic box whose corner is the origin; 0: none
  std::vector<StateMap> maps;  // of the same moment
  std::vector<StateCurve> curves;
};

/// Every (total/most)-th place from 0 to total − 1, at most `most` of them: with particles in the order of the input
/// the same particles at every moment.
PERGOLA_API std::vector<std::int64_t> spread_places(std::int64_t total, std::int64_t most);

/// The message that a page takes, little-endian: "PGV1", the length of a JSON text, the text padded with blanks to a
/// multiple of 8 bytes, then 8 bytes a point: x, y, z as 16-bit fractions of the frame that the text states, then 4
/// bits of kind and 12 bits of speed, as a fraction of the range in the text. Points that are not finite are left out.
/// Maps are in the text, thinned to 128 cells a side: base64 of a byte a cell, as a fraction of their range.
PERGOLA_API std::string encode_points(const ViewPoints& points);

}  // namespace pergola
