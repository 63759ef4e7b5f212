// Power of modes on a GPU: two meshes in one complex transform, the power of each near mode, and sums over shells,
// plane by plane. Folded masses: a box folded into a smaller one shows shorter waves with the same mesh; particles are
// sorted by cubes of cells first, so that their deposit stays local.
#include <cub/device/device_reduce.cuh>

#include "analysis/mode_powers.hpp"
#include "device/buffer.hpp"
#include "device/exact_terms.cuh"
#include "device/sort.cuh"
#include "mesh/fft/cufft_plan.cuh"

namespace pergola {

namespace {

/// Two meshes as the real and imaginary parts of one field.
struct JoinMeshes {
  const double *first, *second;
  double* field;
  __device__ void operator()(std::int64_t i) const { field[2 * i] = first[i], field[2 * i + 1] = second[i]; }
};

/// On one GPU, with cuFFT.
class ShellMeterCuda final : public ShellMeter {
 public:
  ShellMeterCuda(const Device& device, int cells)
      : ShellMeter(cells),
        device_(device),
        plan_(plan_of(device, cells)),
        work_(device, static_cast<std::int64_t>(plan_.work_bytes())),
        field_(device, 2 * std::int64_t{cells} * cells * cells),
        powers_(device, width() * width() * width()),
        sums_(device, sum_count()) {}

 private:
  static cuda::CufftPlan plan_of(const Device& device, int cells) {
    device.make_current();
    const long long n = cells, length[3] = {n, n, n};
    const cuda::CufftLayout layout{{n, n, n}, 1, n * n * n};
    return {device.stream(), 3, length, layout, layout, cuda::Cufft<double>::complex_to_complex, 1};
  }
  std::vector<Shell> plane_sums(const double* first, const double* second, const std::vector<double>& unwindow,
                                double side) override {
    device_.make_current();
    const Buffer<double> scales(device_, unwindow);
    cuda::launch("join meshes", field_.size() / 2, device_.stream(), JoinMeshes{first, second, field_.data()});
    using Numbers = cuda::Cufft<double>;
    auto* const values = reinterpret_cast<Numbers::Complex*>(field_.data());
    cuda::check(Numbers::lines(plan_.with_work(work_.data()), values, values, CUFFT_FORWARD), "cufftExecZ2Z");
    cuda::launch("mode powers", powers_.size(), device_.stream(),
                 ModePower{field_.data(), scales.data(), powers_.data(), cells(), reach()});
    cuda::launch("shells", sums_.size(), device_.stream(),
                 PlaneShell{powers_.data(), sums_.data(), side, reach(), most()});
    return sums_.to_host();
  }

  Device device_;
  cuda::CufftPlan plan_;
  Buffer<std::byte> work_;
  Buffer<double> field_, powers_;
  Buffer<Shell> sums_;
};

/// Sum of masses and of their squares, for the shot noise.
struct MassTerms {
  static constexpr int count = 2;
  const double* mass;
  PERGOLA_HD Terms<count> operator()(std::int64_t i) const { return {{mass[i], mass[i] * mass[i]}}; }
};

/// Position and mass of a particle together: one access to memory, in any order of particles.
struct alignas(32) PackedMass {
  double place[3], mass;
};

struct PackMass {
  MassArrays from;
  PackedMass* to;
  __device__ void operator()(std::int64_t i) const { to[i] = {{from.x[i], from.y[i], from.z[i]}, from.mass[i]}; }
};

/// Particle order[i] in a folded box.
struct UnpackFolded {
  const PackedMass* from;
  const std::uint32_t* order;
  double side;
  MassArrays to;
  __device__ void operator()(std::int64_t i) const {
    const PackedMass one = from[order[i]];
    to.x[i] = wrap(one.place[0], 0.0, side);
    to.y[i] = wrap(one.place[1], 0.0, side);
    to.z[i] = wrap(one.place[2], 0.0, side);
    if (to.mass) to.mass[i] = one.mass;
  }
};

/// The cube of particle i, and its number.
struct CubeOfParticle {
  const PackedMass* particles;
  double side;
  int cubes;  // per side
  std::uint32_t *keys, *values;
  __device__ void operator()(std::int64_t i) const {
    const PackedMass one = particles[i];
    std::uint32_t key = 0;
    for (int axis = 2; axis >= 0; --axis) {
      const int at = static_cast<int>(wrap(one.place[axis], 0.0, side) / side * cubes);
      key = key * static_cast<std::uint32_t>(cubes) + static_cast<std::uint32_t>(at < cubes ? at : cubes - 1);
    }
    keys[i] = key;
    values[i] = static_cast<std::uint32_t>(i);
  }
};

/// Keeps positions and masses packed; each fold sorts and unpacks them.
class FoldedMassesCuda final : public FoldedMasses {
 public:
  FoldedMassesCuda(const Device& device, std::int64_t count, const MassArrays& from)
      : device_(device), packed_(device, count), order_(device, count) {
    device_.make_current();
    cuda::launch("pack masses", count, device_.stream(), PackMass{from, packed_.data()});
  }
  void fold(double side, int cells, const MassArrays& to) override {
    if (packed_.size() == 0) return;
    device_.make_current();
    const int cubes = cells / 8;
    int bits = 1;
    while ((std::int64_t{cubes} * cubes * cubes - 1) >> bits) ++bits;
    const cuda::KeySort sort(packed_.size(), bits);
    if (work_.size() < sort.bytes()) work_ = Buffer<std::byte>(device_, sort.bytes());
    cuda::launch(
        "cubes of particles", packed_.size(), device_.stream(),
        CubeOfParticle{packed_.data(), side, cubes, sort.keys(work_.data()), sort.values(work_.data(), order_.data())});
    sort.sort(order_.data(), work_.data(), device_.stream());
    cuda::launch("fold places", packed_.size(), device_.stream(),
                 UnpackFolded{packed_.data(), order_.data(), side, to});
  }

 private:
  Device device_;
  Buffer<PackedMass> packed_;
  Buffer<std::uint32_t> order_;
  Buffer<std::byte> work_;
};

/// Waits for the device.
double largest_of(const Device& device, std::int64_t count, const double* values) {
  Buffer<double> largest(device, 1);
  const cudaStream_t stream = cuda::handle(device.stream());
  std::size_t bytes = 0;
  cuda::check(cub::DeviceReduce::Max(nullptr, bytes, values, largest.data(), count, stream), "largest mass");
  Buffer<std::byte> scratch(device, static_cast<std::int64_t>(bytes));
  cuda::check(cub::DeviceReduce::Max(scratch.data(), bytes, values, largest.data(), count, stream), "largest mass");
  double found = 0;
  largest.to_host(&found);
  return found;
}

}  // namespace

MassSums mass_sums_cuda(const Device& device, std::int64_t count, const double* mass) {
  if (count == 0) return {};
  device.make_current();
  ExactTerms<MassTerms::count> total;
  cuda::add_exactly("mass sums", device, count, MassTerms{mass}, total);
  return {total.value(0), total.value(1), largest_of(device, count, mass)};
}

std::unique_ptr<ShellMeter> make_shell_meter_cuda(const Device& device, int cells) {
  return std::make_unique<ShellMeterCuda>(device, cells);
}

std::unique_ptr<FoldedMasses> make_folded_masses_cuda(const Device& device, std::int64_t count,
                                                      const MassArrays& from) {
  return std::make_unique<FoldedMassesCuda>(device, count, from);
}

}  // namespace pergola
