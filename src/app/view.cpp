#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <thread>

#include "app/command.hpp"
#include "app/view_folder.hpp"
#include "base/error.hpp"
#include "device/device.hpp"
#include "view/server.hpp"

namespace pergola::app {

namespace {

struct ViewCommand {
  std::string directory;
  std::string address = "127.0.0.1";
  int port = 0;
};

void view(Context& context, const ViewCommand& command) {
  if (context.communicator->size() > 1)
    throw Error(ErrorKind::input, fmt::format("view: expected one process, found {}: start it without mpirun",
                                              context.communicator->size()));
  RunFolderFeed feed(command.directory, context.threads > 0 ? context.threads : available_cores());
  feed.require_run();
  catch_interrupts();
  const ViewServer server(feed, {command.address, command.port});
  if (context.json)
    context.print(nlohmann::json{{"url", server.url()}, {"port", server.port()}, {"token", server.token()}});
  else
    context.print(fmt::format("{}\n", server.url()));
  flush_output();
  context.remark(fmt::format("the page shows {} until Ctrl-C; from another machine first: ssh -L {}:127.0.0.1:{} HOST",
                             command.directory, server.port(), server.port()));
  while (!interrupted) std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

}  // namespace

void add_view(Command program, Context& context) {
  auto command = program.add_subcommand("view", "Show the directory of a run, finished or running, in a browser");
  auto options = std::make_shared<ViewCommand>();
  command->add_option("DIR", options->directory, "Directory of a run")->required();
  command->add_option("--port", options->port, "Port to listen on; 0: any that is free")
      ->between(0, 65535)
      ->capture_default_str();
  command->add_option("--listen", options->address, "Address to listen on; others than this machine only if it says so")
      ->capture_default_str();
  command->footer(
      "Prints the address of the page, with a token: who has it sees the run, nobody else does. Ctrl-C ends it.\n"
      "The page shows the particles of every snapshot in three dimensions, the logs and the report card.\n\n"
      "Example:\n  pergola view cluster");
  command->callback([&context, options] { view(context, *options); });
}

}  // namespace pergola::app
