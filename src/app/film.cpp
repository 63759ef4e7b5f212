#include "app/film.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/error.hpp"

extern char** environ;

namespace pergola::app {

namespace {

namespace fs = std::filesystem;

std::string ending_of(const std::string& name) {
  std::string ending = fs::path(name).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending;
}

/// frame_0000.png, … in a folder that gets its name at the end.
class FrameFolder final : public FilmWriter {
 public:
  explicit FrameFolder(const fs::path& folder)
      : folder_(folder), temporary_(fmt::format("{}{}{}", folder.string(), temporary_mark, ::getpid())) {
    std::error_code code;
    fs::create_directories(temporary_, code);
    if (code) throw Error(ErrorKind::system, fmt::format("{}: cannot be made: {}", folder.string(), code.message()));
  }
  ~FrameFolder() override {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  }
  void add(const Image& frame) override { write_png(temporary_ / fmt::format("frame_{:04}.png", count_++), frame); }
  void finish() override {
    std::error_code code;
    fs::remove(folder_, code);  // an empty one
    fs::rename(temporary_, folder_, code);
    if (code) throw Error(ErrorKind::system, fmt::format("{}: cannot be made: {}", folder_.string(), code.message()));
    temporary_.clear();
  }

 private:
  fs::path folder_, temporary_;
  int count_ = 0;
};

/// The command line of ffmpeg: raw frames from its standard input, a film of the ending's format into `file`.
std::vector<std::string> ffmpeg_words(const std::string& ending, int width, int height, int frames_per_second,
                                      const fs::path& file) {
  std::vector<std::string> words{"ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"};
  const auto add = [&](const std::vector<std::string>& more) { words.insert(words.end(), more.begin(), more.end()); };
  add({"-s", fmt::format("{}x{}", width, height), "-r", std::to_string(frames_per_second), "-i", "-"});
  if (ending == ".gif")  // each frame has colours of its own; the film repeats for ever
    add({"-vf", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1", "-loop", "0", "-f", "gif"});
  else  // the format wants even sides
    add({"-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart", "-f",
         "mp4"});
  words.push_back(file.string());
  return words;
}

/// Frames through a pipe to ffmpeg, which writes beside the name.
class FfmpegFilm final : public FilmWriter {
 public:
  FfmpegFilm(const fs::path& path, int width, int height, int frames_per_second) : path_(path), file_(path) {
    auto words = ffmpeg_words(ending_of(path.string()), width, height, frames_per_second, file_.temporary());
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail(errno);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    const int code = ::posix_spawnp(&child_, "ffmpeg", &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[0]);
    pipe_ = ends[1];
    if (code != 0) {
      child_ = -1;
      ::close(pipe_);
      fail(code);
    }
  }
  ~FfmpegFilm() override {
    if (child_ < 0) return;
    ::kill(child_, SIGKILL);
    close_pipe();
    ::waitpid(child_, nullptr, 0);
  }
  void add(const Image& frame) override {
    const auto* data = reinterpret_cast<const char*>(frame.pixels().data());
    std::size_t left = frame.pixels().size() * sizeof(Color);
    while (left > 0) {
      const auto wrote = ::write(pipe_, data, left);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0)
        throw Error(ErrorKind::system, fmt::format("{}: ffmpeg ended before the film did", path_.string()));
      data += wrote;
      left -= static_cast<std::size_t>(wrote);
    }
  }
  void finish() override {
    close_pipe();
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) continue;
    child_ = -1;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      throw Error(ErrorKind::system, fmt::format("{}: ffmpeg could not write the film", path_.string()));
    file_.commit();
  }

 private:
  [[noreturn]] void fail(int code) const {
    throw Error(ErrorKind::system,
                fmt::format("{}: ffmpeg cannot be started: {}", path_.string(), std::strerror(code)));
  }
  void close_pipe() {
    if (pipe_ >= 0) ::close(pipe_);
    pipe_ = -1;
  }
  fs::path path_;
  AtomicFile file_;
  pid_t child_ = -1;
  int pipe_ = -1;
};

}  // namespace

bool has_ffmpeg() {
  const char* const path = std::getenv("PATH");
  for (std::string rest = path ? path : ""; !rest.empty();) {
    const auto colon = std::min(rest.find(':'), rest.size());
    if (::access((fs::path(rest.substr(0, colon)) / "ffmpeg").c_str(), X_OK) == 0) return true;
    rest.erase(0, colon + 1);
  }
  return false;
}

void check_film_name(const std::string& name) {
  std::error_code code;
  if (name.ends_with('/')) {
    if (fs::exists(name, code) && !(fs::is_directory(name, code) && fs::is_empty(name, code)))
      throw Error(ErrorKind::input,
                  fmt::format("--output: {}: expected a new or empty folder, found one that holds something", name));
    return;
  }
  const std::string ending = ending_of(name);
  if (ending != ".gif" && ending != ".mp4")
    throw Error(ErrorKind::input,
                fmt::format("--output: {}: expected a name that ends in .mp4, .gif or / (a folder of frames), found {}",
                            name, ending.empty() ? "no ending" : ending));
  if (!has_ffmpeg())
    throw Error(
        ErrorKind::input,
        fmt::format("--output: {}: expected the program ffmpeg for {} film, found none in the PATH; a folder of "
                    "PNG frames (-o frames/) needs none",
                    name, ending == ".gif" ? "a GIF" : "an mp4"));
}

std::unique_ptr<FilmWriter> open_film(const std::string& name, int width, int height, int frames_per_second) {
  check_film_name(name);
  if (name.ends_with('/')) return std::make_unique<FrameFolder>(name.substr(0, name.size() - 1));
  return std::make_unique<FfmpegFilm>(name, width, height, frames_per_second);
}

}  // namespace pergola::app
