#include "domain/spread_shown.hpp"

#include <algorithm>

#include "domain/shown_rows.hpp"

namespace pergola {

namespace {

template <class Real>
void read_shown(RankRows& rows, RankRows::Request request, const ShownArrays<Real>& to) {
  const WantedRows wanted = wanted_rows(to);
  request.what += wanted.bits;
  request.row_bytes = wanted.row_bytes;
  rows.read(request,
            [&](std::int64_t at, std::int64_t count, const std::byte* from) { put_rows(from, at, count, to); });
}

template <class Real>
void answer(const ShownParticles& own, const RankRows::Request& request, std::byte* out) {
  ShownRows<Real> answered(own.device(), request.what, request.count);
  SharedBuffer<std::uint32_t> chosen(own.device(), request.chosen ? request.count : 0);
  if constexpr (sizeof(Real) == sizeof(double)) {
    if (request.chosen) {
      std::copy_n(request.chosen, request.count, chosen.data());
      own.show_at(chosen.data(), request.count, answered.to);
    }
  }
  if (!request.chosen) own.show(request.first, request.count, answered.to);
  own.device().synchronize();
  answered.pack(request.count, out);
}

}  // namespace

void DistributedShown::show(std::int64_t first, std::int64_t n, const ShownArrays<float>& to) const {
  read_shown(rows_, {what_, first, n}, to);
}
void DistributedShown::show(std::int64_t first, std::int64_t n, const ShownArrays<double>& to) const {
  read_shown(rows_, {what_, first, n}, to);
}
void DistributedShown::show_at(const std::uint32_t* places, std::int64_t n, const ShownArrays<double>& to) const {
  read_shown(rows_, {what_, 0, n, 0, places}, to);
}

void answer_shown(const ShownParticles& own, const RankRows::Request& request, std::byte* to) {
  if (request.what & 1)
    answer<double>(own, request, to);
  else
    answer<float>(own, request, to);
}

}  // namespace pergola
