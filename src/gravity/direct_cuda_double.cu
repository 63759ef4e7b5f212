#include "gravity/direct_kernel.cuh"

namespace pergola::cuda {

template ForceGrid force_grid<Precision::full>(ForceKind, ForceLaw);
template void launch_force<Precision::full>(const ForceTask<Precision::full>&, ForceKind, ForceLaw, const ForceGrid&,
                                            Stream);
template void launch_collect<Precision::full>(const ForceTask<Precision::full>&, ForceKind, ForceLaw, const ForceGrid&,
                                              Stream);

}  // namespace pergola::cuda
