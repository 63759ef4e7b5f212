// Pergola as a library: particles, the forces on them, and what holds for them.
#include <pergola/pergola.hpp>

#include <cmath>
#include <cstdio>

int main() {
  try {
    // Two stars of unequal mass, two length units apart.
    pergola::Particles stars;
    stars.resize(2);
    stars.mass = {0.75, 0.25};
    stars.x = {-0.5, 1.5};

    const auto device = pergola::Device::open("auto");
    pergola::SolverOptions options;
    options.precision = pergola::Precision::full;
    const auto solver = pergola::make_solver(options, device);
    const auto force = pergola::evaluate_forces(*solver, device, options.precision, stars,
                                                pergola::want_acceleration | pergola::want_potential);
    const double total = stars.mass[0] * force.ax[0] + stars.mass[1] * force.ax[1];
    std::printf("forces on %s: %g and %g, sum %g\n", device.spec().c_str(), stars.mass[0] * force.ax[0],
                stars.mass[1] * force.ax[1], total);
    return std::abs(total) < 1e-15 ? 0 : 1;
  } catch (const pergola::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.kind());
  }
}
