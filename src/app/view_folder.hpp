#pragma once
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "view/server.hpp"

namespace pergola::app {

/// What a page is shown of the directory of a run, finished or running: its snapshots, its logs and its record, looked
/// at anew whenever the page asks.
class RunFolderFeed final : public ViewFeed {
 public:
  RunFolderFeed(std::filesystem::path directory, int threads);
  /// Throws Error(input) where there is nothing of a run.
  void require_run() const;

  std::string state() override;
  std::shared_ptr<const std::string> snapshot(std::int64_t number, std::int64_t most) override;
  std::shared_ptr<const std::string> newest(std::int64_t& serial, std::int64_t most) override;
  std::shared_ptr<const std::string> density(std::int64_t number, const Sight& sight) override;
  /// Of files none is newer than its snapshot: null.
  std::shared_ptr<const std::string> newest_density(std::int64_t serial, const Sight& sight) override;
  std::string act(const std::string& action, const std::string& argument) override;

 private:
  /// Snapshots by their numbers.
  std::map<std::int64_t, std::filesystem::path> list() const;
  std::filesystem::path file_of(std::int64_t number) const;

  std::filesystem::path directory_;
  int threads_;
};

/// A log as columns of numbers, thinned to at most 2,000 lines; an empty object where there is none, or none yet.
nlohmann::json log_json(const std::filesystem::path& file);

}  // namespace pergola::app
