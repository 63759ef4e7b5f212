#pragma once
#include <string_view>

namespace pergola {

/// Whether the first bytes of a file are those of a GADGET binary snapshot: format 1 (a record of 256 bytes) or 2 (a
/// record of 8 bytes that says HEAD), in either byte order.
bool starts_like_gadget(std::string_view start);

}  // namespace pergola
