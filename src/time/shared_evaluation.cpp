#include "time/shared_evaluation.hpp"

#include <cstring>
#include <optional>

namespace pergola {

namespace {

/// Stands before each rank's answers.
struct PieceHeader {
  std::int64_t first = -1, second = -1;  // the coincident particles that this rank found
};

std::int64_t share_begin(std::int64_t n, int rank, int size) { return n * rank / size; }

}  // namespace

template <class Real>
void SharedEvaluation<Real>::evaluate(Solver<Real>& solver, const std::int64_t* index, std::int64_t n, unsigned want,
                                      const Forces<Real>& forces) {
  Targets targets;
  targets.total = n;
  const int rank = communicator_->rank(), size = communicator_->size();
  if (size == 1) {
    targets.index = index;
    targets.count = n;
    solver.evaluate(targets, want, forces);
    return;
  }
  const std::int64_t begin = share_begin(n, rank, size);
  targets.index = index ? index + begin : nullptr;
  targets.first = begin;
  targets.count = share_begin(n, rank + 1, size) - begin;

  std::vector<Real*> fields;
  Forces<Real> own;
  const auto share = [&](Real* all, Real*& mine) {
    fields.push_back(all);
    mine = all + begin;
  };
  if (want & want_acceleration) share(forces.ax, own.ax), share(forces.ay, own.ay), share(forces.az, own.az);
  if (want & want_jerk) share(forces.jx, own.jx), share(forces.jy, own.jy), share(forces.jz, own.jz);
  if (want & want_potential) share(forces.potential, own.potential);

  std::optional<CoincidentParticles> collision;
  try {
    solver.evaluate(targets, want, own);
  } catch (const CoincidentParticles& found) {
    collision = found;
  }
  gather(n, fields, collision ? &*collision : nullptr);
}

template <class Real>
void SharedEvaluation<Real>::gather(std::int64_t n, const std::vector<Real*>& fields,
                                    const CoincidentParticles* own_collision) {
  const int rank = communicator_->rank(), size = communicator_->size();
  std::vector<std::size_t> piece_bytes, piece_begin, field_bytes;
  std::size_t total = 0;
  for (int r = 0; r < size; ++r) {
    const auto count = static_cast<std::size_t>(share_begin(n, r + 1, size) - share_begin(n, r, size));
    field_bytes.push_back(count * sizeof(Real));
    piece_bytes.push_back(sizeof(PieceHeader) + fields.size() * field_bytes.back());
    piece_begin.push_back(total);
    total += piece_bytes.back();
  }
  message_.resize(total);

  const auto own = static_cast<std::size_t>(rank);
  PieceHeader header;
  if (own_collision) header = {own_collision->first(), own_collision->second()};
  std::memcpy(message_.data() + piece_begin[own], &header, sizeof header);
  for (std::size_t f = 0; f < fields.size() && field_bytes[own] > 0; ++f)
    device_.memory().to_host(message_.data() + piece_begin[own] + sizeof header + f * field_bytes[own],
                             fields[f] + share_begin(n, rank, size), field_bytes[own]);
  communicator_->all_gather_in_place(message_.data(), piece_bytes);

  for (int r = 0; r < size; ++r) {
    const auto piece = static_cast<std::size_t>(r);
    std::memcpy(&header, message_.data() + piece_begin[piece], sizeof header);
    if (header.first >= 0) throw CoincidentParticles(header.first, header.second, "two particles in one place");
    if (r == rank || field_bytes[piece] == 0) continue;
    for (std::size_t f = 0; f < fields.size(); ++f)
      device_.memory().from_host(fields[f] + share_begin(n, r, size),
                                 message_.data() + piece_begin[piece] + sizeof header + f * field_bytes[piece],
                                 field_bytes[piece]);
  }
}

template class SharedEvaluation<float>;
template class SharedEvaluation<double>;

}  // namespace pergola
