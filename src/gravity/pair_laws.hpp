#pragma once
// Pair laws (softening kernels) and their registry.
//
// A law is a type in physics/pair_laws.inl. One source per law compiles the direct sum's loops over it for the CPU
// (gravity/direct_NAME.cpp) and one per precision for GPUs, and describes it with a PairLawEntry.
// SofteningKernel is the place of a law in pair_laws(). The tree knows the two built-in laws only.
#include <string>
#include <string_view>
#include <vector>

#include "gravity/direct_kernels.hpp"
#include "gravity/solver.hpp"
#include "physics/pair.hpp"

namespace pergola {

/// That of three values which is for a precision.
template <Precision precision, class Single, class Mixed, class Double>
constexpr auto of_precision(Single single, Mixed mixed, Double double_) {
  if constexpr (precision == Precision::single)
    return single;
  else if constexpr (precision == Precision::mixed)
    return mixed;
  else
    return double_;
}

namespace direct {

/// The loops of the direct sum over one law on the CPU.
struct Loops {
  int (*packs)(Kind kind) = nullptr;  // SIMD packs of targets in a tile
  void (*single)(const TileTask<Precision::single>&) = nullptr;
  void (*mixed)(const TileTask<Precision::mixed>&) = nullptr;
  void (*double_)(const TileTask<Precision::double_>&) = nullptr;

  template <Precision precision>
  auto sum_tile() const {
    return of_precision<precision>(single, mixed, double_);
  }
};

}  // namespace direct

namespace cuda {

/// The same on a GPU; gravity/direct_cuda.cuh.
template <Precision precision>
struct ForceLoops;
struct LawLoops {
  const ForceLoops<Precision::single>* single = nullptr;
  const ForceLoops<Precision::mixed>* mixed = nullptr;
  const ForceLoops<Precision::double_>* double_ = nullptr;

  template <Precision precision>
  auto loops() const {
    return of_precision<precision>(single, mixed, double_);
  }
};

}  // namespace cuda

/// A pair law: its name in the configuration, its numbers and its loops.
struct PairLawEntry {
  std::string name;
  std::string remark;                                            // follows the name in lists of kernels; may be empty
  bool one_length = false;                                       // has loops of their own for one softening length
  bool in_tree = false;                                          // the tree knows it
  double (*softening_number)(double epsilon_squared) = nullptr;  // how its loops know a length
  bool (*is_unsoftened)(double number) = nullptr;
  /// Adds the acceleration of one pair, in double precision.
  void (*add_pair)(const Vec3<double>& d, double mass, double number, physics::PairSum<double>& sum) = nullptr;
  direct::Loops direct;
  cuda::LawLoops cuda;  // null: not on a GPU
};

/// The entry of a law of physics/pair_laws.inl, without loops.
template <class Law>
PairLawEntry describe_law(std::string name, std::string remark) {
  PairLawEntry entry;
  entry.name = std::move(name);
  entry.remark = std::move(remark);
  entry.one_length = Law::few_operations;
  entry.softening_number = [](double epsilon_squared) { return Law::softening_number(epsilon_squared); };
  entry.is_unsoftened = [](double number) { return Law::is_unsoftened(number); };
  entry.add_pair = [](const Vec3<double>& d, double mass, double number, physics::PairSum<double>& sum) {
    Law::template add<false, false>(d, d, mass, Law::start(d, number), number, sum);
  };
  return entry;
}

/// The laws; a SofteningKernel is a place in this list. The first ones are in the order of that enum.
const std::vector<PairLawEntry>& pair_laws();
inline const PairLawEntry& pair_law(SofteningKernel kernel) { return pair_laws()[static_cast<std::size_t>(kernel)]; }
/// Adds a law from outside, before the first run: `const SofteningKernel mine = register_pair_law(my_law());`
SofteningKernel register_pair_law(PairLawEntry entry);

/// Softening as the loops want it.
SofteningTable softening_table(const Softening& softening);
/// What is said where points ask and each particle has a softening length of its own.
Error softening_for_points();

// Each in gravity/direct_<name>.cpp, and in gravity/direct_<name>_<precision>.cu.
PairLawEntry plummer_law();
PairLawEntry spline_law();

namespace cuda {

template <Precision precision>
const ForceLoops<precision>* plummer_loops();
template <Precision precision>
const ForceLoops<precision>* spline_loops();

}  // namespace cuda

}  // namespace pergola
