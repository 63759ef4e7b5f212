#pragma once
#include <nlohmann/json.hpp>

#include "app/context.hpp"
#include "app/options.hpp"

namespace pergola::app {

// One function per file app/<name>.cpp: adds the subcommand with its options, its help with an example, and its
// callback.
void add_analyze(Command program, Context& context);
void add_convert(Command program, Context& context);
void add_run(Command program, Context& context);
void add_plan(Command program, Context& context);
void add_devices(Command program, Context& context);
void add_force(Command program, Context& context);
void add_ic(Command program, Context& context);
void add_info(Command program, Context& context);
void add_merge(Command program, Context& context);
void add_movie(Command program, Context& context);
void add_g6_replay(Command program, Context& context);
void add_paper(Command program, Context& context);
void add_picture(Command program, Context& context);
void add_plot(Command program, Context& context);
void add_view(Command program, Context& context);
void add_bench(Command program, Context& context);

}  // namespace pergola::app
