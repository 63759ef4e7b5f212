#pragma once
// CUDA only: the octree of tree/octree.hpp built on the device. The numbering of cells within a level depends on the
// order of atomics; nothing that is computed from them does, for lists follow the order of children.
#include <array>

#include "device/buffer.hpp"
#include "tree/octree_cpu.hpp"

namespace pergola::tree {

inline constexpr int most_levels = 64;

/// Cells level by level, filled by the device.
struct LevelTable {
  std::uint32_t begin[most_levels + 2];  // level l: begin[l] … begin[l + 1] − 1
  std::uint32_t next;                    // cells so far, also those that found no room
  std::uint32_t crowded;                 // 1: the upper keys do not tell enough particles apart
};

/// Frame and total mass, found on the device.
struct DeviceFrame {
  Frame frame;
  std::uint32_t finite;
};

template <class T>
class OctreeCuda {
 public:
  explicit OctreeCuda(const Device& device) : device_(device) {}

  /// As OctreeCpu::build. Waits for the device three times, to learn of crowded keys, of the levels and of the frame.
  template <class Real>
  void build(const Points<Real>& points, const double* epsilon, bool uniform, int order, bool accelerations);

  TreeView<T> view() const;
  const Frame& frame() const { return frame_; }
  const LevelTable& levels() const { return levels_; }
  int level_count() const { return level_count_; }
  std::uint32_t cells() const { return levels_.begin[level_count_]; }
  const std::uint32_t* order() const { return sort_.values.data(); }
  const std::uint32_t* parent() const { return parent_.data(); }
  std::int64_t count() const { return count_; }

  // The steps of build(). Public, for nvcc allows no device lambda in a private function.
  template <class Real>
  void find_frame(const Points<Real>& points);
  template <class Real>
  void sort_points(const Points<Real>& points);
  void sort_keys();
  void build_cells();
  bool try_build_cells();
  void upward(int order);
  void estimate_accelerations();

 private:
  Device device_;
  std::int64_t count_ = 0;
  bool has_lower_ = false, uniform_ = true, has_accelerations_ = false;
  double same_epsilon2_ = 0;
  Frame frame_;
  LevelTable levels_{};
  int level_count_ = 0;
  SortBuffers sort_;
  Buffer<std::uint64_t> lower_;
  Buffer<std::byte> sort_scratch_;
  Buffer<double> partial_;
  Buffer<DeviceFrame> device_frame_;
  Buffer<LevelTable> device_levels_;
  Buffer<double> x_, y_, z_, mass_, epsilon2_;
  Buffer<T> rx_, ry_, rz_, rmass_, repsilon2_, scale_, multipole_;
  Buffer<CellLink> link_;
  Buffer<std::uint32_t> parent_;
  Buffer<CellShape> shape_;
  Buffer<CellExtent> extent_;
  Buffer<double> acceleration_;
};

}  // namespace pergola::tree
