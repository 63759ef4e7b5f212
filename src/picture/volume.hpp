#pragma once
#include <cstdint>
#include <vector>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "comm/communicator.hpp"
#include "picture/camera.hpp"
#include "picture/image.hpp"

// Volume rendering: one ray through the middle of each pixel. From the farthest particle to the nearest, each lets
// light through and adds its own (physics/volume_light.hpp), on black. A particle smaller than a pixel is enlarged to
// one; a particle nearer than three of its lengths is made smaller.
// The picture is cut into tiles; threads and ranks take whole tiles. So the bits do not depend on their numbers.
namespace pergola {

/// A smoothed particle that emits and absorbs light.
struct VolumeParticle {
  Vec3<double> place;
  double length = 0;     // radius of its sphere
  double weight = 0;     // relative absorption
  Color color;           // of an opaque particle
  std::uint64_t id = 0;  // of equally distant particles the lower id is farther
};

struct VolumeOptions {
  Camera camera;
  int pixels = 900;
  int threads = 1;
  double optical_depth = 1;  // mean over the picture
};

struct VolumePicture {
  Image image;
  std::int64_t shown = 0;  // particles whose centres are within the frame
  std::int64_t ahead = 0;  // particles in front of the camera
};

/// Each rank has a part of the particles. Throws Error(input) as CameraView does. Collective; all ranks get the whole
/// picture.
PERGOLA_API VolumePicture render_volume(std::vector<VolumeParticle> particles, const VolumeOptions& options,
                                        Communicator& ranks = *serial_communicator());

}  // namespace pergola
