// One force evaluation over ranks that all hold all particles: each answers its share of the targets, then all gather
// all answers. A rank that throws still takes part in the gathering, with its error in the header of its piece; then
// all ranks throw the same error. So no rank waits for one that has failed.
#include "time/shared_evaluation.hpp"

#include <cstring>
#include <utility>

#include "comm/shares.hpp"

namespace pergola {

namespace {

/// Stands before each rank's answers.
struct PieceHeader {
  std::int64_t kind = 0;                 // ErrorKind of what this rank has thrown; 0: nothing
  std::int64_t words = 0;                // bytes of its message
  std::int64_t first = -1, second = -1;  // the coincident particles that this rank found
};

/// The error of this rank as numbers; the message itself follows by broadcast.
PieceHeader header_of(const Failure& failure) {
  PieceHeader header;
  if (!failure.exception) return header;
  header.kind = static_cast<std::int64_t>(failure.kind);
  header.words = static_cast<std::int64_t>(failure.message.size());
  try {
    std::rethrow_exception(failure.exception);
  } catch (const CoincidentParticles& found) {
    header.first = found.first(), header.second = found.second();
  } catch (...) {
    // Any other error travels as its kind and message.
  }
  return header;
}

/// Throws on every rank what rank `from` has thrown.
[[noreturn]] void throw_failure_of(Communicator& communicator, int from, const PieceHeader& header, Failure own) {
  if (header.first >= 0) throw CoincidentParticles(header.first, header.second, "two particles in one place");
  own.message.resize(static_cast<std::size_t>(header.words));
  communicator.broadcast(own.message.data(), own.message.size(), from);
  if (communicator.rank() == from) std::rethrow_exception(own.exception);
  throw Error(static_cast<ErrorKind>(header.kind), own.message);
}

}  // namespace

/// Targets are cut into shares of equal numbers. If the solver is distributed, it shares the work itself.
template <class Real>
void SharedEvaluation<Real>::evaluate(Solver<Real>& solver, const std::int64_t* index, std::int64_t n, unsigned want,
                                      const Forces<Real>& forces) {
  Targets targets;
  targets.total = n;
  if (by_itself_) {
    targets.index = index;
    targets.count = n;
    solver.evaluate(targets, want, forces);
    return;
  }
  const Shares shares{n, communicator_->size()};
  const int rank = communicator_->rank();
  const std::int64_t begin = shares.first(rank);
  targets.index = index ? index + begin : nullptr;
  targets.first = begin;
  targets.count = shares.count(rank);

  std::vector<Real*> fields;
  Forces<Real> own;
  const auto share = [&](Real* all, Real*& mine) {
    fields.push_back(all);
    mine = all + begin;
  };
  if (want & want_acceleration) share(forces.ax, own.ax), share(forces.ay, own.ay), share(forces.az, own.az);
  if (want & want_jerk) share(forces.jx, own.jx), share(forces.jy, own.jy), share(forces.jz, own.jz);
  if (want & want_potential) share(forces.potential, own.potential);

  if (!failure_.exception) prepare([&] { solver.evaluate(targets, want, own); });
  gather(n, fields);
}

/// One message per rank: header, then each field. Other ranks' pieces are copied to the device.
template <class Real>
void SharedEvaluation<Real>::gather(std::int64_t n, const std::vector<Real*>& fields) {
  const int rank = communicator_->rank(), size = communicator_->size();
  const Shares shares{n, size};
  std::vector<std::size_t> piece_bytes, piece_begin, field_bytes;
  std::size_t total = 0;
  for (int r = 0; r < size; ++r) {
    const auto count = static_cast<std::size_t>(shares.count(r));
    field_bytes.push_back(count * sizeof(Real));
    piece_bytes.push_back(sizeof(PieceHeader) + fields.size() * field_bytes.back());
    piece_begin.push_back(total);
    total += piece_bytes.back();
  }
  message_.resize(total);

  const auto own = static_cast<std::size_t>(rank);
  std::byte* mine = message_.data() + piece_begin[own];
  if (!failure_.exception)
    prepare([&] {
      for (std::size_t f = 0; f < fields.size() && field_bytes[own] > 0; ++f)
        device_.memory().to_host(mine + sizeof(PieceHeader) + f * field_bytes[own], fields[f] + shares.first(rank),
                                 field_bytes[own]);
    });
  PieceHeader header = header_of(failure_);
  std::memcpy(mine, &header, sizeof header);
  communicator_->all_gather_in_place(message_.data(), piece_bytes);

  for (int r = 0; r < size; ++r) {
    std::memcpy(&header, message_.data() + piece_begin[static_cast<std::size_t>(r)], sizeof header);
    if (header.kind != 0) throw_failure_of(*communicator_, r, header, std::exchange(failure_, {}));
  }
  for (int r = 0; r < size; ++r) {
    const auto piece = static_cast<std::size_t>(r);
    if (r == rank || field_bytes[piece] == 0) continue;
    for (std::size_t f = 0; f < fields.size(); ++f)
      device_.memory().from_host(fields[f] + shares.first(r),
                                 message_.data() + piece_begin[piece] + sizeof header + f * field_bytes[piece],
                                 field_bytes[piece]);
  }
}

template class SharedEvaluation<float>;
template class SharedEvaluation<double>;

}  // namespace pergola
