#pragma once
#include <filesystem>
#include <string>

#include "app/context.hpp"
#include "app/view_folder.hpp"
#include "run/run.hpp"
#include "view/live_feed.hpp"
#include "view/server.hpp"

namespace pergola::app {

/// The page of a run that this program makes: `pergola run --view`.
class LiveView {
 public:
  /// Says where the page is, on stderr. Throws Error(input) and Error(system) as ViewServer does.
  LiveView(const Context& context, const RunConfig& config, const std::filesystem::path& directory,
           const ViewOptions& where, bool control);

  RunWatcher& watcher() { return feed_; }
  void progress(const RunProgress& progress) { feed_.progress(progress); }
  /// The run has ended: pages that are open are given some seconds to show how.
  void end(RunStatus status);

 private:
  RunFolderFeed files_;
  LiveFeed feed_;
  ViewServer server_;  // last: its thread asks the others
};

}  // namespace pergola::app
