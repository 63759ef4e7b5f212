#pragma once
#include <optional>
#include <string>

namespace pergola::app {

// The HDF5 library may crash on a damaged file without checksums. Before the program starts MPI and CUDA, a child
// process reads such files, with limits on memory and time. If the child crashes, the file is refused.

/// The error message for a damaged file among those that the command line, or a configuration on it, names. Starts a
/// child if there is a file to check. The first rank does so for all.
std::optional<std::string> find_deadly_file(int argc, char** argv);

/// Whether this process is that child; its work, which returns the exit code.
bool is_file_walker(int argc, char** argv);
/// For the child only: main() calls it before anything else starts.
int walk_files(int argc, char** argv);

}  // namespace pergola::app
