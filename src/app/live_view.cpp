#include "app/live_view.hpp"

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "base/stopwatch.hpp"
#include "sim/unit_text.hpp"

namespace pergola::app {

namespace {

void name_axes(const SampleLook& look, ViewPoints& points) {
  points.units.fill(look.length_unit.empty() ? unit_texts(look.header).length : look.length_unit);
  if (!look.phase_space) return;
  points.axes[2] = "vx";
  points.units[2] = fmt::format("{}/({})", look.length_unit, look.time_unit);
}

std::string time_of_look(const SampleLook& look) {
  return look.time_unit.empty() ? time_text(look.header)
                                : fmt::format("t = {:.6g} {}", look.header.time, look.time_unit);
}

ViewDensity density_of_system(System& system, const Sight& sight) {
  const SampleLook look = system.sample_look();
  return {look.header.time, time_of_look(look), 0, system.size(), system.density(sight)};
}

ViewPoints points_of_system(System& system, std::int64_t most) {
  SampledPoints sample = system.sample_points(most);
  const SampleLook look = system.sample_look();
  ViewPoints points;
  points.time = look.header.time;
  points.time_text = time_of_look(look);
  points.total = system.size();
  points.maps = system.maps();
  points.kinds = look.kinds;
  points.box_side = look.header.box_size;
  name_axes(look, points);
  points.x = std::move(sample.x), points.y = std::move(sample.y), points.z = std::move(sample.z);
  points.speed = std::move(sample.speed);
  points.kind = std::move(sample.species);
  return points;
}

}  // namespace

LiveView::LiveView(const Context& context, const RunConfig& config, const std::filesystem::path& directory,
                   const ViewOptions& where, bool control)
    : files_(directory, 1),
      feed_(files_, config, directory,
            {.control = control,
             .ranks = context.communicator->size(),
             .points = points_of_system,
             .density = density_of_system}),
      server_(feed_, where) {
  // Also under --quiet, which would leave nobody a way to the page; stdout may be for JSON. A closed stderr must not
  // stop a run.
  std::fputs(fmt::format("pergola: this run is shown at {}\n", server_.url()).c_str(), stderr);
}

void LiveView::end(RunStatus status) {
  constexpr double patience_seconds = 5;
  feed_.end(status == RunStatus::interrupted ? "interrupted" : "finished");
  const auto begin = Clock::now();
  while (server_.pages() > 0 && feed_.states_after_end() < server_.pages() && !interrupted &&
         seconds_since(begin) < patience_seconds)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

}  // namespace pergola::app
