#include "picture/draw.hpp"

#include <algorithm>
#include <cmath>

namespace pergola {

Coverage::Coverage(const Image& image, const Rect& area) {
  const auto cut = [](double value, int limit) {
    return static_cast<int>(std::clamp(value, 0.0, static_cast<double>(limit)));
  };
  left_ = cut(std::floor(area.x), image.width());
  top_ = cut(std::floor(area.y), image.height());
  width_ = std::max(0, cut(std::ceil(area.right()), image.width()) - left_);
  height_ = std::max(0, cut(std::ceil(area.bottom()), image.height()) - top_);
  amount_.assign(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_), 0.0f);
}

void Coverage::cover(int x, int y, double amount) {
  auto& pixel = amount_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)];
  pixel = std::max(pixel, static_cast<float>(std::min(amount, 1.0)));
}

// Covers each pixel of a box by half a pixel minus its centre's distance to the shape (negative inside).
template <class Distance>
void Coverage::fill(double left, double top, double right, double bottom, const Distance& distance) {
  const int x0 = static_cast<int>(std::clamp(std::floor(left) - 1 - left_, 0.0, static_cast<double>(width_)));
  const int x1 = static_cast<int>(std::clamp(std::ceil(right) + 1 - left_, 0.0, static_cast<double>(width_)));
  const int y0 = static_cast<int>(std::clamp(std::floor(top) - 1 - top_, 0.0, static_cast<double>(height_)));
  const int y1 = static_cast<int>(std::clamp(std::ceil(bottom) + 1 - top_, 0.0, static_cast<double>(height_)));
  for (int y = y0; y < y1; ++y)
    for (int x = x0; x < x1; ++x) {
      const double amount = 0.5 - distance(Point{x + left_ + 0.5, y + top_ + 0.5});
      if (amount > 0) cover(x, y, amount);
    }
}

void Coverage::segment(Point from, Point to, double line_width) {
  if (!std::isfinite(from.x) || !std::isfinite(from.y) || !std::isfinite(to.x) || !std::isfinite(to.y)) return;
  const double dx = to.x - from.x, dy = to.y - from.y, length2 = dx * dx + dy * dy;
  // A line thinner than a pixel is drawn a pixel wide and fainter.
  const double half = std::max(line_width, 1.0) / 2, strength = std::min(line_width, 1.0), reach = half + 1;
  const auto row_of = [this](double y) {
    return static_cast<int>(std::clamp(y - top_, 0.0, static_cast<double>(height_)));
  };
  const int y0 = row_of(std::floor(std::min(from.y, to.y) - reach)),
            y1 = row_of(std::ceil(std::max(from.y, to.y) + reach));
  for (int y = y0; y < y1; ++y) {
    const double py = y + top_ + 0.5;
    double t0 = 0, t1 = 1;
    if (std::abs(dy) > 1e-9) {
      const double a = (py - reach - from.y) / dy, b = (py + reach - from.y) / dy;
      t0 = std::clamp(std::min(a, b), 0.0, 1.0);
      t1 = std::clamp(std::max(a, b), 0.0, 1.0);
    }
    const double xa = from.x + t0 * dx, xb = from.x + t1 * dx;
    const auto column_of = [this](double x) {
      return static_cast<int>(std::clamp(x - left_, 0.0, static_cast<double>(width_)));
    };
    const int x0 = column_of(std::floor(std::min(xa, xb) - reach)), x1 = column_of(std::ceil(std::max(xa, xb) + reach));
    for (int x = x0; x < x1; ++x) {
      const double px = x + left_ + 0.5;
      const double t = length2 > 0 ? std::clamp(((px - from.x) * dx + (py - from.y) * dy) / length2, 0.0, 1.0) : 0.0;
      const double distance = std::hypot(px - from.x - t * dx, py - from.y - t * dy);
      const double amount = half + 0.5 - distance;
      if (amount > 0) cover(x, y, std::min(amount, 1.0) * strength);
    }
  }
}

void Coverage::polyline(const std::vector<Point>& points, double line_width) {
  for (std::size_t i = 1; i < points.size(); ++i) segment(points[i - 1], points[i], line_width);
}

void Coverage::disc(Point center, double radius) {
  if (!std::isfinite(center.x) || !std::isfinite(center.y)) return;
  fill(center.x - radius, center.y - radius, center.x + radius, center.y + radius,
       [&](Point p) { return std::hypot(p.x - center.x, p.y - center.y) - radius; });
}

void Coverage::box(const Rect& rect) {
  const double cx = rect.x + rect.width / 2, cy = rect.y + rect.height / 2;
  fill(rect.x, rect.y, rect.right(), rect.bottom(),
       [&](Point p) { return std::max(std::abs(p.x - cx) - rect.width / 2, std::abs(p.y - cy) - rect.height / 2); });
}

void Coverage::polygon(const std::vector<Point>& corners) {
  if (corners.size() < 3) return;
  double left = corners[0].x, right = left, top = corners[0].y, bottom = top, area = 0;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Point p = corners[i], q = corners[(i + 1) % corners.size()];
    if (!std::isfinite(p.x) || !std::isfinite(p.y)) return;
    left = std::min(left, p.x), right = std::max(right, p.x);
    top = std::min(top, p.y), bottom = std::max(bottom, p.y);
    area += p.x * q.y - q.x * p.y;
  }
  const double sense = area > 0 ? 1 : -1;
  fill(left, top, right, bottom, [&](Point p) {
    double outside = -1e9;
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const Point a = corners[i], b = corners[(i + 1) % corners.size()];
      const double ex = b.x - a.x, ey = b.y - a.y, length = std::hypot(ex, ey);
      if (length > 0) outside = std::max(outside, sense * ((p.x - a.x) * ey - (p.y - a.y) * ex) / length);
    }
    return outside;
  });
}

void Coverage::paint(Image& image, Color color, double opacity) const {
  for (int y = 0; y < height_; ++y)
    for (int x = 0; x < width_; ++x) {
      const float amount =
          amount_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)];
      if (amount > 0) image.blend_at(left_ + x, top_ + y, color, amount * opacity);
    }
}

void draw_line(Image& image, Point from, Point to, double line_width, Color color, double opacity) {
  const double reach = line_width + 2;
  const double left = std::min(from.x, to.x) - reach, top = std::min(from.y, to.y) - reach;
  Coverage coverage(image, {left, top, std::max(from.x, to.x) + reach - left, std::max(from.y, to.y) + reach - top});
  coverage.segment(from, to, line_width);
  coverage.paint(image, color, opacity);
}

void draw_box(Image& image, const Rect& rect, Color color, double opacity) {
  Coverage coverage(image, {rect.x - 1, rect.y - 1, rect.width + 2, rect.height + 2});
  coverage.box(rect);
  coverage.paint(image, color, opacity);
}

}  // namespace pergola
