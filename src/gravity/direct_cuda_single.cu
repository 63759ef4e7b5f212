#include "gravity/direct_kernel.cuh"

namespace pergola::cuda {

template ForceGrid force_grid<Precision::single>(ForceKind, bool);
template void launch_force<Precision::single>(const ForceTask<Precision::single>&, ForceKind, bool, const ForceGrid&,
                                              Stream);
template void launch_collect<Precision::single>(const ForceTask<Precision::single>&, ForceKind, bool, const ForceGrid&,
                                                Stream);

}  // namespace pergola::cuda
