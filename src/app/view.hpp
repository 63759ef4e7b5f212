#pragma once
/// Pages of runs: of a directory (`pergola view`), and of a run in this process (`pergola run --view`).
///
/// Both are feeds (view/server.hpp) that answer the requests of a page. RunFolderFeed reads files and changes nothing.
/// LiveView adds the particles in memory through LiveFeed, and with --control the page may steer the run. The server's
/// thread calls a feed while the run goes on in another thread; LiveFeed separates the two. Errors of a request go to
/// the page and do not end the run.
#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "app/context.hpp"
#include "run/run.hpp"
#include "view/live_feed.hpp"
#include "view/server.hpp"

namespace pergola::app {

/// Feeds a page from the directory of a run, finished or running: its snapshots, its logs and its record, read again
/// for every request.
class RunFolderFeed final : public ViewFeed {
 public:
  RunFolderFeed(std::filesystem::path directory, int threads);
  /// Throws Error(input) if there is nothing of a run.
  void require_run() const;

  std::string state() override;
  std::shared_ptr<const std::string> snapshot(std::int64_t number, std::int64_t most) override;
  std::shared_ptr<const std::string> newest(std::int64_t& serial, std::int64_t most) override;
  std::shared_ptr<const std::string> density(std::int64_t number, const Sight& sight) override;
  /// Null: no file is newer than its snapshot.
  std::shared_ptr<const std::string> newest_density(std::int64_t serial, const Sight& sight) override;
  std::uint64_t id(std::int64_t number, std::int64_t most, std::int64_t point, bool of_run) override;
  /// Always throws Error(input): a directory cannot be steered.
  std::string act(const std::string& action, const std::string& argument) override;

 private:
  /// Snapshots by their numbers.
  std::map<std::int64_t, std::filesystem::path> list() const;
  std::filesystem::path file_of(std::int64_t number) const;

  std::filesystem::path directory_;
  int threads_;
};

/// The page of a run in this process.
class LiveView {
 public:
  /// Prints the address of the page on stderr. Throws Error(input) and Error(system) as ViewServer does.
  LiveView(const Context& context, const RunConfig& config, const std::filesystem::path& directory,
           const ViewOptions& where, bool control);

  RunWatcher& watcher() { return feed_; }
  void progress(const RunProgress& progress) { feed_.progress(progress); }
  /// The run has ended: waits some seconds for open pages to show its status.
  void end(RunStatus status);

 private:
  RunFolderFeed files_;
  LiveFeed feed_;
  ViewServer server_;  // last: its thread calls the others
};

}  // namespace pergola::app
