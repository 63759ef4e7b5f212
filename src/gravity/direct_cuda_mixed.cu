#include "gravity/direct_kernel.cuh"

namespace pergola::cuda {

template ForceGrid force_grid<Precision::mixed>(ForceKind, ForceLaw);
template void launch_force<Precision::mixed>(const ForceTask<Precision::mixed>&, ForceKind, ForceLaw, const ForceGrid&,
                                             Stream);
template void launch_collect<Precision::mixed>(const ForceTask<Precision::mixed>&, ForceKind, ForceLaw,
                                               const ForceGrid&, Stream);

}  // namespace pergola::cuda
