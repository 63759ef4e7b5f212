#pragma once
#include <complex>
#include <cstdint>
#include <memory>

#include "comm/communicator.hpp"
#include "mesh/fft/transposition.hpp"

namespace pergola {

/// Transforms of complex numbers on a cube of side³ values, x fastest, in place: Σ f exp(∓2πi k·j/side), not
/// normalised. Each rank has its slab of planes (mesh/slab_planes.hpp), before as after. The bits depend neither on the
/// number of threads nor on that of ranks. On the CPU.
class ComplexFft {
 public:
  ComplexFft(int side, int threads, const std::shared_ptr<Communicator>& ranks = serial_communicator());
  const SlabPlanes& planes() const { return transposition_.planes(); }

  /// Of this rank's planes, from the first on; calls of all ranks.
  void forward(std::complex<double>* values);
  void backward(std::complex<double>* values);

 private:
  void transform(std::complex<double>* values, int sign);
  void transform_in_planes(std::complex<double>* values, int sign) const;
  /// Columns [plane][column].
  void transform_columns(std::complex<double>* columns, std::int64_t count, int sign) const;

  int side_, threads_;
  std::shared_ptr<Communicator> ranks_;
  Transposition<std::complex<double>> transposition_;
};

}  // namespace pergola
