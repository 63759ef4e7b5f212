#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// Checks particles that come in pieces: finite numbers, masses of 0 or more, known species, and no id twice. Ids below
/// four times the count, as files have them, cost half a byte each; other ids 8 bytes.
class PERGOLA_API ParticleCheck {
 public:
  /// `where` is what messages begin with; `count` particles are to come.
  ParticleCheck(std::string where, std::int64_t count, int threads = 1);
  /// Throws Error(input) as Particles::validate does.
  void add(const Particles& piece);
  /// After the last piece.
  void finish();
  /// What is thrown for an id that occurs twice.
  static Error found_twice(const std::string& where, std::uint64_t id);

 private:
  void check_lengths(const Particles& piece) const;
  void check_numbers(const Particles& piece) const;
  void remember_ids(const Particles& piece);

  std::string where_;
  int threads_;
  std::uint64_t marked_ = 0;  // ids below it have a bit in marks_
  std::vector<std::uint64_t> marks_;
  std::vector<std::uint64_t> others_;
};

}  // namespace pergola
