#pragma once
// CUDA only: what the part of a tree that a rank has takes of its device, beside what a tree of its particles would.
#include <cstdint>

namespace pergola::tree {

/// Of n own particles, with as many on each other rank: lists of own cells, what is fetched of other domains, and the
/// searches and messages that bring it. What is fetched is a guess.
template <class T>
std::int64_t distributed_tree_bytes(std::int64_t n, int order, int ranks);

}  // namespace pergola::tree
