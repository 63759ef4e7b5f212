#include "sim/noted_start.hpp"

#include <vector>

#include "particles/particle_source.hpp"

namespace pergola {

namespace {

constexpr const char* block = "made_on";

/// Particles that can be made on a device, with a note of whether they were, and how long it took.
class NotedSource final : public DeviceSource {
 public:
  NotedSource(DeviceSource& source, Profile* profile) : source_(source), profile_(profile) {}
  bool was_made() const { return was_made_; }

  std::int64_t count() const override { return source_.count(); }
  std::string name() const override { return source_.name(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override { source_.read(first, n, to); }
  bool put(const Device& device, double factor, const AnyDeviceArrays& to, Portion portion) override {
    Profile::Scope scope(profile_, "initial conditions");
    return was_made_ = source_.put(device, factor, to, portion);
  }
  void let_go() override { source_.let_go(); }
  double box_side() const override { return source_.box_side(); }
  double total_mass() const override { return source_.total_mass(); }

 private:
  DeviceSource& source_;
  Profile* profile_;
  bool was_made_ = false;
};

}  // namespace

bool start_noted(Integrator& integrator, ParticleSource& particles, double at, Profile* profile) {
  DeviceSource* const made = particles.device_source();
  if (!made) {
    integrator.start(particles, at);
    return false;
  }
  NotedSource noted(*made, profile);
  integrator.start(noted, at);
  return noted.was_made();
}

void put_made_on(StateSource& to, const std::string& device) {
  if (!device.empty()) to.put(block, std::vector<char>(device.begin(), device.end()));
}

std::string get_made_on(StateInput& state) {
  if (!state.has(block)) return {};
  const auto letters = state.get<char>(block, static_cast<std::int64_t>(state.bytes(block)));
  return {letters.begin(), letters.end()};
}

}  // namespace pergola
