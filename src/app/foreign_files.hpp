#pragma once
#include <optional>
#include <string>

namespace pergola::app {

// The HDF5 library may crash on a damaged file without checksums. Before the program starts MPI and CUDA, it lets a
// child of its own go through such files, with limits on memory and time; where the child dies, the file is refused.

/// What is wrong with a file that the command line, or the configuration that it names, asks to read. Starts a child
/// where there is a file to look at. Of several ranks the first one does it for all.
std::optional<std::string> find_deadly_file(int argc, char** argv);

/// Whether this process is that child, and what it does: returns its exit code.
bool is_file_walker(int argc, char** argv);
int walk_files(int argc, char** argv);

}  // namespace pergola::app
