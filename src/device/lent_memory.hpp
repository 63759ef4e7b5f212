#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

namespace pergola {

/// Memory of a device that somebody lends for a while, at least so many bytes.
using LentMemory = std::function<std::byte*(std::int64_t bytes)>;

}  // namespace pergola
