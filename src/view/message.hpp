#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "sim/state_map.hpp"

namespace pergola {

/// A number, little-endian.
void put_in_message(std::string& to, unsigned value, int bytes);

/// How binary messages to a page begin: four letters, the length of a JSON text in 32 bits, and the text, padded with
/// blanks to a multiple of 8 bytes.
std::string begin_view_message(std::string_view letters, const nlohmann::json& header);

/// Base64 (RFC 4648).
std::string base64(const std::string& bytes);

/// What is not a finite number is null.
nlohmann::json curve_json(const StateCurve& curve);

}  // namespace pergola
