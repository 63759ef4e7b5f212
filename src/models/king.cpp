#include "physics/spheres.hpp"

#include "models/king.hpp"

#include <cmath>

namespace pergola {

namespace {

/// W and dW/ds at s = ln x.
struct Layer {
  double s, w, slope;
};

/// One step of the classical Runge-Kutta method in s.
Layer step(const Layer& from, double h, double central_density) {
  const auto rate = [&](double ds, double w, double slope) {
    return physics::king_curvature(std::exp(from.s + ds), w, slope, central_density);
  };
  const double k1 = from.slope, l1 = rate(0, from.w, from.slope);
  const double k2 = from.slope + h / 2 * l1, l2 = rate(h / 2, from.w + h / 2 * k1, k2);
  const double k3 = from.slope + h / 2 * l2, l3 = rate(h / 2, from.w + h / 2 * k2, k3);
  const double k4 = from.slope + h * l3, l4 = rate(h, from.w + h * k3, k4);
  return {from.s + h, from.w + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), from.slope + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)};
}

/// The step from a layer to the edge, where W = 0, by bisection below `longest`.
Layer edge(const Layer& from, double longest, double central_density) {
  double low = 0, high = longest;
  for (int round = 0; round < 60; ++round) {
    const double middle = (low + high) / 2;
    (step(from, middle, central_density).w > 0 ? low : high) = middle;
  }
  Layer last = step(from, high, central_density);
  last.w = 0;
  return last;
}

constexpr double first_radius = 1e-4, log_step = 0.01;

}  // namespace

SphereKnots king_sphere(double w0) {
  const double central_density = physics::king_density(w0);
  // About the centre W = W₀ − (3/2) x².
  Layer layer{std::log(first_radius), w0 - 1.5 * first_radius * first_radius, -3 * first_radius * first_radius};
  SphereKnots knots;
  const auto keep = [&](const Layer& l) {
    knots.radius.push_back(std::exp(l.s));
    knots.mass.push_back(-knots.radius.back() * l.slope);
    knots.potential.push_back(l.w);
    knots.f.push_back(physics::king_distribution(l.w));
  };
  while (true) {
    keep(layer);
    const Layer next = step(layer, log_step, central_density);
    if (!(next.w > 0)) break;
    layer = next;
  }
  keep(edge(layer, log_step, central_density));
  return knots;
}

namespace {

std::optional<DrawnModel> draw_king(const ModelInput& input) {
  return draw_isotropic_sphere(input, IsotropicSphere(king_sphere(input.number("w0"))));
}

}  // namespace

ModelEntry king_model() {
  return {{"king", "King's sphere, a star cluster with an edge, in equilibrium; N-body units: E = -1/4", 4096, true,
           sphere_options({{"w0",
                            6.0,
                            "central depth of the potential below the edge, in squares of King's sigma",
                            Range::between(0.1, 16),
                            {}}})},
          [](const ModelInput& input) { return make_drawn(*draw_king(input), input.threads()); },
          equilibrium_expectations,
          nullptr,
          nullptr,
          draw_king};
}

}  // namespace pergola
