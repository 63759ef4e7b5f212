#pragma once
// Models whose particles are drawn one by one, each from random numbers of its own.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "models/sampling.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// n particles of equal mass.
struct DrawnModel {
  std::int64_t n = 0;
  double total_mass = 1;
  std::uint64_t seed = 0;
  std::function<PhaseSpacePoint(Philox&)> draw;  // on any thread
  bool centred = true;                           // the centre of mass is moved to the origin and to rest
};

/// All of them. Throws Error(device) when they cannot fit into memory.
Particles make_drawn(const DrawnModel& model, int threads);

/// The same particles, any range at any time. Where the model is centred all are drawn once before the first is given,
/// by ranks that make them together each its share.
class DrawnSource final : public DeviceSource {
 public:
  DrawnSource(DrawnModel model, int threads);
  std::int64_t count() const override { return model_.n; }
  void read(std::int64_t first, std::int64_t n, Particles& to) override;
  std::string name() const override { return "model"; }
  void make_shares(const std::shared_ptr<Communicator>& ranks) override {
    if (!mean_known_) find_mean(*ranks);
  }

 private:
  PhaseSpacePoint drawn(std::int64_t i) const;
  /// All ranks call it.
  void find_mean(Communicator& ranks);

  DrawnModel model_;
  int threads_;
  double mass_;
  std::array<double, 6> mean_{};  // of x, y, z, vx, vy, vz
  bool mean_known_;
};

}  // namespace pergola
