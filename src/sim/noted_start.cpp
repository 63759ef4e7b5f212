#include "sim/noted_start.hpp"

#include <vector>

#include "domain/share_source.hpp"
#include "particles/device_source.hpp"

namespace pergola {

namespace {

constexpr const char* block = "made_on";

/// Particles that can be made on a device, with a note of whether they were, and how long it took.
class NotedSource final : public DeviceSource, public PassingSource {
 public:
  NotedSource(DeviceSource& source, Profile* profile) : source_(source), profile_(profile) {}
  bool was_made() const { return was_made_; }

  std::int64_t count() const override { return source_.count(); }
  std::string name() const override { return source_.name(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override { source_.read(first, n, to); }
  bool put(const Device& device, double factor, const DeviceArrays<float>& to) override {
    return note([&] { return source_.put(device, factor, to); });
  }
  bool put(const Device& device, double factor, const DeviceArrays<double>& to) override {
    return note([&] { return source_.put(device, factor, to); });
  }
  bool put_share(const Device& device, double factor, const DeviceArrays<float>& to) override {
    return note([&] { return source_.put_share(device, factor, to); });
  }
  bool put_share(const Device& device, double factor, const DeviceArrays<double>& to) override {
    return note([&] { return source_.put_share(device, factor, to); });
  }
  void let_go() override {
    if (auto* const passing = dynamic_cast<PassingSource*>(&source_)) passing->let_go();
  }
  double box_side() const override { return source_.box_side(); }
  double total_mass() const override { return source_.total_mass(); }

 private:
  template <class Put>
  bool note(const Put& put) {
    Profile::Scope scope(profile_, "initial conditions");
    return was_made_ = put();
  }

  DeviceSource& source_;
  Profile* profile_;
  bool was_made_ = false;
};

}  // namespace

bool start_noted(Integrator& integrator, ParticleSource& particles, double at, Profile* profile) {
  auto* const on_device = dynamic_cast<DeviceSource*>(&particles);
  if (!on_device) {
    integrator.start(particles, at);
    return false;
  }
  NotedSource noted(*on_device, profile);
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
