#include "base/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "io/temporary_directory.hpp"

namespace pergola {
namespace {

using AtomicFileTest = FileTest;

TEST_F(AtomicFileTest, AppearsWithAllItsContentsAtCommit) {
  write_bytes(at("a"), "old");
  AtomicFile file(at("a"));
  file.write("new ");
  EXPECT_EQ(read_bytes(at("a")), "old");
  file.write("contents");
  file.commit();
  EXPECT_EQ(read_bytes(at("a")), "new contents");
  EXPECT_EQ(files_in_directory(), 1u);
}

TEST_F(AtomicFileTest, LeavesNothingWithoutCommit) {
  { AtomicFile(at("a")).write("half"); }
  EXPECT_EQ(files_in_directory(), 0u);
}

TEST_F(AtomicFileTest, CanBeWrittenByNameToo) {
  AtomicFile file(at("a"));
  std::ofstream(file.temporary()) << "by name";
  file.commit();
  EXPECT_EQ(read_bytes(at("a")), "by name");
}

TEST_F(AtomicFileTest, FollowsALinkAndKeepsIt) {
  write_bytes(at("real"), "old");
  std::filesystem::create_symlink("real", at("link"));
  AtomicFile file(at("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(at("link")));
  EXPECT_EQ(read_bytes(at("real")), "new");
}

TEST_F(AtomicFileTest, HonoursTheUmask) {
  const mode_t before = ::umask(027);
  AtomicFile file(at("a"));
  file.write("x");
  file.commit();
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat(at("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0640u);
}

TEST_F(AtomicFileTest, NamesThatCannotBeFilesAreRefused) {
  error_of(ErrorKind::input, [&] { AtomicFile file(at("none") / "a"); });
  error_of(ErrorKind::input, [&] { AtomicFile file(directory_); });
  error_of(ErrorKind::input, [&] { AtomicFile(at(std::string(300, 'n'))).commit(); });
  error_of(ErrorKind::system, [&] { AtomicFile file("/dev/null"); });
  EXPECT_EQ(files_in_directory(), 0u);
}

TEST_F(AtomicFileTest, MoreThanThereIsRoomForIsRefusedBeforeWriting) {
  AtomicFile file(at("a"));
  const auto message = error_of(ErrorKind::system, [&] { file.reserve(std::int64_t{1} << 62); });
  EXPECT_NE(message.find(at("a").string()), std::string::npos);
  file.reserve(1000);
  file.commit();
  EXPECT_EQ(read_bytes(at("a")), "");
}

TEST_F(AtomicFileTest, HoldsWhatWasWrittenAtPlacesAndNoMoreThanThat) {
  AtomicFile file(at("a"));
  file.reserve(1 << 20);
  file.write_at(4, "efgh", 4);
  file.write_at(0, "abcd", 4);
  file.commit();
  EXPECT_EQ(read_bytes(at("a")), "abcdefgh");
}

/// Memory that ends in a destructor ends the process there and then.
TEST_F(AtomicFileTest, LeavesNothingWhereTheProcessEndsWithoutDestroyingIt) {
  const auto end_suddenly = [&] {
    AtomicFile first(at("a")), whole(at("b")), last(at("c"));
    { AtomicFile(at("d")).write("half"); }
    whole.write("whole");
    whole.commit();
    PassingFile::remove_all();
    std::_Exit(4);
  };
  EXPECT_EXIT(end_suddenly(), testing::ExitedWithCode(4), "");
  EXPECT_EQ(read_bytes(at("b")), "whole");
  EXPECT_EQ(files_in_directory(), 1u);
}

}  // namespace
}  // namespace pergola
