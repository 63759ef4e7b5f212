#include "models/wave_cube.hpp"

namespace pergola {

WaveCube::WaveCube(int side, int threads, const std::shared_ptr<Communicator>& ranks)
    : side_(side),
      threads_(threads),
      transforms_(side, threads, ranks),
      values_(static_cast<std::size_t>(planes().count()) * side * side) {}

void WaveCube::to_places() { transforms_.backward(values_.data()); }

void WaveCube::to_waves() {
  transforms_.forward(values_.data());
  const double scale = 1 / static_cast<double>(std::int64_t{side_} * side_ * side_);
  each([&](std::complex<double>& value, std::size_t) { value *= scale; });
}

}  // namespace pergola
