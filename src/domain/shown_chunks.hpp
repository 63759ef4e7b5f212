#pragma once
#include <cstdint>
#include <memory>

#include "domain/chunk_shares.hpp"
#include "particles/shown_particles.hpp"

namespace pergola {

/// The particles of the chunks that a rank sums: those of its own that are in them, and what is missing of its last
/// one. In the order of the input, on the device of its own.
class PERGOLA_API ShownChunks final : public ShownParticles {
 public:
  /// `own`: this rank's stretch of the particles. All ranks call it.
  ShownChunks(Communicator& ranks, const ChunkShares& chunks, const ShownParticles& own);
  const Device& device() const override { return own_.device(); }
  std::int64_t count() const override { return kept_ + missing_; }
  void show(std::int64_t first, std::int64_t n, const ShownArrays<float>& to) const override;
  void show(std::int64_t first, std::int64_t n, const ShownArrays<double>& to) const override;
  void show_at(const std::uint32_t* places, std::int64_t n, const ShownArrays<double>& to) const override;

 private:
  template <class Real>
  void show_range(std::int64_t first, std::int64_t n, const ShownArrays<Real>& to) const;

  const ShownParticles& own_;
  std::int64_t from_, kept_, missing_;
  std::unique_ptr<ShownParticles> rest_;  // what is missing
};

}  // namespace pergola
