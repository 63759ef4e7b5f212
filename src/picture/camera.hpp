#pragma once
#include "particles/particles.hpp"
#include "picture/projection.hpp"

// A camera with perspective: where it stands, what it looks at, and where particles appear. Pictures of surface density
// and of volumes use it.
// Right and up are derived from the line of sight and the direction that is up in the picture. The width of the plane
// follows from the distance of the target and the field of view.
namespace pergola {

struct Camera {
  Vec3<double> position, target;
  Vec3<double> up{0, 0, 1};           // this direction is up in the picture
  double field_of_view_degrees = 45;  // from the left edge to the right one
};

/// What a camera sees. Positions are projected to the plane through the target that faces the camera: x to the right, y
/// up, z the distance along the line of sight. Anything nearer than a hundredth of the target's distance is not seen.
class PERGOLA_API CameraView {
 public:
  /// Throws Error(input) if camera and target coincide, if `up` is along the line of sight, or if the angle is not
  /// between 0 and 170 degrees.
  explicit CameraView(const Camera& camera);

  /// The part of the plane that the picture shows, seen along z.
  Frame frame() const;
  /// NaN for a position that is not seen.
  Vec3<double> place(Vec3<double> x) const;
  /// The particles that are seen, at their projected positions. Masses are scaled by the square of the plane's distance
  /// over theirs. So the map is the column density along each ray: ∫ρ ds = Σ m/(z² Ω cos θ), with Ω a pixel's extent in
  /// tangents. Throws Error(input) for a camera inside a particle: nearer than a millionth of the target's distance.
  Particles see(const Particles& particles) const;

 private:
  Vec3<double> position_, right_, up_, forward_;
  double distance_, width_;
};

}  // namespace pergola
