#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"

namespace pergola {

/// Rows of data that are spread over the ranks, read by rank 0 piece by piece while the others answer. What one process
/// writes, sums or measures in the order of the input has the same bits on any number of ranks, and no rank has more in
/// memory than its own rows and a piece.
class PERGOLA_API RankRows {
 public:
  /// Rows first … first + count − 1, or where there is a list those that it names. `what` means something to those who
  /// ask and answer only; not negative.
  struct Request {
    std::int64_t what = 0;
    std::int64_t first = 0, count = 0;
    std::int64_t row_bytes = 0;
    const std::uint32_t* chosen = nullptr;  // `count` of them, rising
    std::int64_t total = 0;  // above 0: not of shares(), but of as many rows, of which each has its share
  };
  /// Writes rows of this rank, count · row_bytes bytes; `first` and `chosen` are counted from the rank's own first row.
  using Answer = std::function<void(const Request& own, std::byte* to)>;
  /// Gets what a rank has answered: rows at … at + count − 1 of the request.
  using Take = std::function<void(std::int64_t at, std::int64_t count, const std::byte* rows)>;

  RankRows(Communicator& communicator, const Shares& shares) : communicator_(communicator), shares_(shares) {}

  /// All ranks call it: rank 0 does `action`, which may read(); the others answer until it is done. What rank 0 throws,
  /// or a rank while it answers, is thrown on all.
  void on_root(const std::function<void()>& action, const Answer& answer);
  /// On rank 0, by `action`.
  void read(const Request& request, const Take& take);
  /// On rank 0, by `action`: each rank gets this request as one for no rows, with a null address, for something that
  /// all do together, with calls of all ranks. `count` is not passed on. What fails must fail on all ranks.
  void together(const Request& request);
  const Shares& shares() const { return shares_; }

 private:
  /// What of a request a rank answers.
  struct Part {
    std::int64_t at = 0;  // of its first row in the request
    Request own;          // but for `chosen`, which is still counted from the first row of all
  };
  Part part_of(const Request& request, int rank) const;
  void serve(const Answer& answer);

  Communicator& communicator_;
  Shares shares_;
  const Answer* answer_ = nullptr;  // rank 0's, during on_root()
};

}  // namespace pergola
