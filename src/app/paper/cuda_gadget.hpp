#pragma once
#include <string>

#include "app/paper/session.hpp"

namespace pergola::app {

/// A line of the notes and of the details that says whether something stayed below its bar.
void add_paper_check(PaperTable& table, std::int64_t n, const std::string& name, double measured, double tolerance);

/// Section 5.1: `table` has its published half, the sizes that are wanted and the first of our columns.
PaperTable run_cuda_gadget_cosmology(const PaperSession& session, PaperTable table);

}  // namespace pergola::app
