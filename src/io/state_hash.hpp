#pragma once
// Hashes that say whether two states are the same, bit for bit. The sum of the particles' hashes makes the order of
// particles, pieces and ranks irrelevant.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/host_device.hpp"
#include "comm/communicator.hpp"
#include "particles/particles.hpp"
#include "plasma/particles.hpp"

namespace pergola {

/// A hash of a set of particles, bit for bit, that does not depend on their order or on the pieces they come in: the
/// 128-bit hashes of all particles (id, species, mass, position, velocity) are added up.
class PERGOLA_API StateHash {
 public:
  void add(const Particles& particles, int threads);
  /// Of one species.
  void add(const PlasmaParticles& particles, int species, int threads);
  /// What the other ranks have added too; all ranks call it.
  void add_over(Communicator& ranks);
  /// "xxh3:" and 32 hexadecimal digits.
  std::string text() const;

 private:
  struct Sum {
    std::uint64_t high = 0, low = 0;
    void add(const Sum& other);
  };
  template <class Record>
  void add_records(std::int64_t count, int threads, const Record& record);
  Sum sum_;
};

/// The hash of a text in the same form.
PERGOLA_API std::string hash_of_text(std::string_view text);
/// Of a file's contents. Throws as InputFile does.
PERGOLA_API std::string hash_of_file(const std::filesystem::path& path);

}  // namespace pergola
