#pragma once
#include "particles/particles.hpp"
#include "picture/projection.hpp"

namespace pergola {

/// A camera with perspective.
struct Camera {
  Vec3<double> position, target;
  Vec3<double> up{0, 0, 1};           // this direction is up in the picture
  double field_of_view_degrees = 45;  // from the left edge to the right one
};

/// What a camera sees. Places are on the plane through the target that faces the camera: x to the right, y up, z the
/// distance along the line of sight. What is nearer than a hundredth of the target's distance is not seen.
class PERGOLA_API CameraView {
 public:
  /// Throws Error(input) for a target at the camera, a direction up along the line of sight, and an angle that is not
  /// between 0 and 170 degrees.
  explicit CameraView(const Camera& camera);

  /// The part of the plane that the picture shows; look at it along z.
  Frame frame() const;
  /// NaN for what is not seen.
  Vec3<double> place(Vec3<double> x) const;
  /// Those that are seen, at their places. Masses grow as the square of how much nearer they are than the plane, so
  /// that the map is the column density along each ray: ∫ρ ds = Σ m/(z² Ω cos θ), with Ω a pixel's extent in tangents.
  /// Throws Error(input) for a camera that is inside a particle: nearer than a millionth of the target's distance.
  Particles see(const Particles& particles) const;

 private:
  Vec3<double> position_, right_, up_, forward_;
  double distance_, width_;
};

}  // namespace pergola
