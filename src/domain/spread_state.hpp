#pragma once
#include <cstdint>

#include "base/host_device.hpp"
#include "base/state_source.hpp"
#include "domain/rank_rows.hpp"

namespace pergola {

/// On rank 0, in on_root(): the state of all ranks, of which each has `own`. Values per particle, and those of
/// which ranks have shares, are read from the ranks as they are wanted, by requests that are numbered from `what` on, a
/// range after the other; all else is rank 0's.
PERGOLA_API void put_distributed_state(RankRows& rows, const StateSource& own, std::int64_t what, StateSource& to);
/// What a rank answers of `own`; request.what is counted from the state's first.
PERGOLA_API void answer_state(const StateSource& own, const RankRows::Request& request, std::byte* to);

}  // namespace pergola
