#pragma once
#include "app/paper/session.hpp"

namespace pergola::app {

/// Writes the table's columns against N as PNG into the session's folder: published ones dashed, ours solid.
void plot_table(const PaperSession& session, const PaperTable& table);

}  // namespace pergola::app
