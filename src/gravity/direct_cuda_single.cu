#include "gravity/direct_kernel.cuh"

namespace pergola::cuda {

template ForceGrid force_grid<Precision::single>(ForceKind, ForceLaw);
template void launch_force<Precision::single>(const ForceTask<Precision::single>&, ForceKind, ForceLaw,
                                              const ForceGrid&, Stream);
template void launch_collect<Precision::single>(const ForceTask<Precision::single>&, ForceKind, ForceLaw,
                                                const ForceGrid&, Stream);

}  // namespace pergola::cuda
