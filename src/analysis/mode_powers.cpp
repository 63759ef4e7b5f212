#include "analysis/mode_powers.hpp"

#include <complex>

#include "device/parallel.hpp"
#include "mesh/fft/complex_fft.hpp"

namespace pergola {

namespace {

class ShellMeterCpu final : public ShellMeter {
 public:
  ShellMeterCpu(const Device& device, int cells)
      : ShellMeter(cells),
        threads_(device.threads()),
        transform_(cells, threads_),
        field_(static_cast<std::size_t>(cells) * static_cast<std::size_t>(cells) * static_cast<std::size_t>(cells)),
        powers_(static_cast<std::size_t>(width() * width() * width())) {}

 private:
  std::vector<Shell> plane_sums(const double* first, const double* second, const std::vector<double>& unwindow,
                                double side) override {
    constexpr std::int64_t chunk = 65536;
    each(static_cast<std::int64_t>(field_.size()), chunk, [&](std::int64_t i) {
      field_[static_cast<std::size_t>(i)] = {first[i], second[i]};
    });
    transform_.forward(field_);
    each(static_cast<std::int64_t>(powers_.size()), chunk,
         ModePower{reinterpret_cast<const double*>(field_.data()), unwindow.data(), powers_.data(), cells(), reach()});
    std::vector<Shell> sums(static_cast<std::size_t>(sum_count()));
    each(sum_count(), most() + 1, PlaneShell{powers_.data(), sums.data(), side, reach(), most()});
    return sums;
  }
  template <class Body>
  void each(std::int64_t count, std::int64_t chunk, const Body& body) const {
    parallel_chunks(threads_, count, chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(i);
    });
  }

  int threads_;
  ComplexFft transform_;
  std::vector<std::complex<double>> field_;
  std::vector<double> powers_;
};

}  // namespace

std::vector<Shell> ShellMeter::measure(const double* first, const double* second, const std::vector<double>& unwindow,
                                       double side) {
  const std::vector<Shell> parts = plane_sums(first, second, unwindow, side);
  std::vector<Shell> all(static_cast<std::size_t>(most()) + 1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Shell& sum = all[i % all.size()];
    sum.modes += parts[i].modes, sum.k += parts[i].k, sum.power += parts[i].power;
  }
  return all;
}

std::unique_ptr<ShellMeter> make_shell_meter(const Device& device, int cells) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return make_shell_meter_cuda(device, cells);
  }
  return std::make_unique<ShellMeterCpu>(device, cells);
}

}  // namespace pergola
