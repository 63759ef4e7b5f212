#pragma once
#include <cstdint>
#include <string>

#include "picture/seen_density.hpp"

namespace pergola {

/// All particles of one moment as a page's camera sees them.
struct ViewDensity {
  double time = 0;
  std::string time_text;    // for people, with its unit
  std::int64_t number = 0;  // of the snapshot, or of the moment of a run that goes on
  std::int64_t total = 0;   // particles
  SeenDensity seen;
};

/// The message that a page takes, little-endian: "PGD1", the length of a JSON text, the text padded with blanks to a
/// multiple of 8 bytes, then a byte a pixel, row 0 at the top: 255 ln(1 + n)/ln(1 + most) with n particles behind the
/// pixel and `most` of the text behind the fullest.
PERGOLA_API std::string encode_density(const ViewDensity& density);

}  // namespace pergola
