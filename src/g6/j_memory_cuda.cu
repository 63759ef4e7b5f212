// The CUDA side of the j-memory: a kernel that reads records from memory of the host and writes them into columns.
#include "device/launch.cuh"
#include "g6/j_memory.hpp"

namespace pergola::g6 {

namespace {

/// One thread per word, so that a warp reads the host's memory in whole lines.
struct ScatterWord {
  const double* words;
  std::int64_t record_words;
  double* columns;
  std::int64_t capacity;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t record = k / record_words, word = k % record_words;
    const double value = words[k];
    const std::int64_t address = *reinterpret_cast<const std::int32_t*>(words + record * record_words);
    if (word > 0) columns[(word - 1) * capacity + address] = value;
  }
};

}  // namespace

void scatter_records_cuda(const Device& device, const double* words, std::int64_t records, std::int64_t record_words,
                          double* columns, std::int64_t capacity) {
  device.make_current();
  cuda::launch("send j-particles", records * record_words, device.stream(),
               ScatterWord{words, record_words, columns, capacity});
}

}  // namespace pergola::g6
