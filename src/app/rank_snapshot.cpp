#include "app/rank_snapshot.hpp"

#include "comm/agreement.hpp"
#include "comm/shares.hpp"
#include "domain/spread_ids.hpp"
#include "io/snapshot.hpp"
#include "particles/particle_check.hpp"

namespace pergola::app {

Snapshot read_stretch(const std::string& file, Communicator& ranks) {
  Snapshot snapshot;
  on_all(ranks, [&] {
    SnapshotSource source(file);
    const Shares shares{source.count(), ranks.size()};
    source.read(shares.first(ranks.rank()), shares.count(ranks.rank()), snapshot.particles);
    ParticleCheck check(file, snapshot.particles.size(), source.threads());
    check.add(snapshot.particles);
    check.finish();
    snapshot.header = source.summary().header;
  });
  if (ranks.size() > 1) check_spread_ids(ranks, file, snapshot.particles.id);
  return snapshot;
}

}  // namespace pergola::app
