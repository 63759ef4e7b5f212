#pragma once
#include <cstddef>
#include <cstdint>

#include "domain/rank_rows.hpp"
#include "particles/shown_particles.hpp"

namespace pergola {

/// The particles of all ranks at a moment, as rank 0 shows them: asked for where they are, a piece at a time, in the
/// order of the input. They come to the host, whatever device they live on, so that device() is the CPU.
class PERGOLA_API DistributedShown final : public ShownParticles {
 public:
  /// `own`: rank 0's share. Requests are numbered from `what` on; answer_shown() answers them.
  DistributedShown(RankRows& rows, const ShownParticles& own, std::int64_t what = 0)
      : rows_(rows),
        device_(own.device().is_cuda() ? Device::open("cpu", own.device().threads()) : own.device()),
        what_(what) {}
  const Device& device() const override { return device_; }
  std::int64_t count() const override { return rows_.shares().total; }
  void show(std::int64_t first, std::int64_t n, const ShownArrays<float>& to) const override;
  void show(std::int64_t first, std::int64_t n, const ShownArrays<double>& to) const override;
  void show_at(const std::uint32_t* places, std::int64_t n, const ShownArrays<double>& to) const override;

  /// Requests that a view has.
  static constexpr std::int64_t requests = 2 << 9;

 private:
  RankRows& rows_;
  Device device_;
  std::int64_t what_;
};

/// What a rank answers of its share `own`; request.what is counted from the view's first.
PERGOLA_API void answer_shown(const ShownParticles& own, const RankRows::Request& request, std::byte* to);

}  // namespace pergola
