#pragma once
#include <cstdint>

namespace pergola {

/// Bytes of work memory that sort_by_key() needs.
std::int64_t sort_bytes(std::int64_t count);

/// The stable order of keys below `key_limit`: keys[order[k]] rises with k, and equal keys keep their order. The keys
/// stand at the beginning of `work`, count numbers of four bytes, and are overwritten. The same on any number of
/// threads.
void sort_by_key(int threads, std::int64_t count, std::int64_t key_limit, std::uint32_t* order, void* work);

}  // namespace pergola
