// MPI calls that the program makes between its start and its end; the real ones are those of the profiling layer.
#include <dlfcn.h>
#include <mpi.h>

#include "faults.hpp"

// The error handler of the communicator is not called: the program is to have asked for error codes.
#define CALL(name, parameters, arguments)                                                       \
  int name parameters {                                                                         \
    if (faults::count(faults::Kind::mpi, #name)) return MPI_ERR_OTHER;                          \
    static const auto real = reinterpret_cast<decltype(&name)>(dlsym(RTLD_DEFAULT, "P" #name)); \
    return real arguments;                                                                      \
  }

extern "C" {
CALL(MPI_Barrier, (MPI_Comm comm), (comm))
CALL(MPI_Bcast, (void* data, int n, MPI_Datatype type, int root, MPI_Comm comm), (data, n, type, root, comm))
CALL(MPI_Allgatherv,
     (const void* mine, int n, MPI_Datatype type, void* all, const int counts[], const int offsets[],
      MPI_Datatype all_type, MPI_Comm comm),
     (mine, n, type, all, counts, offsets, all_type, comm))
CALL(MPI_Allreduce, (const void* mine, void* all, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (mine, all, n, type, op, comm))
CALL(MPI_Isend, (const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request),
     (data, n, type, to, tag, comm, request))
CALL(MPI_Irecv, (void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request),
     (data, n, type, from, tag, comm, request))
CALL(MPI_Waitall, (int n, MPI_Request requests[], MPI_Status* statuses), (n, requests, statuses))
CALL(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm* copy), (comm, copy))
CALL(MPI_Init_thread, (int* argc, char*** argv, int wanted, int* given), (argc, argv, wanted, given))
}
