#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "marks.hpp"

// The program of all tests. Beyond GoogleTest's own main() it knows the file of each test and its marks (marks.hpp).
//   --gtest_filter=@mesh/fft/poisson_fft_test.cpp   runs the tests of that file
//   --write_ctest=FILE                              writes a list of all tests for ctest, with labels, and runs none

namespace {

struct FoundTest {
  std::string name;  // Suite.Test
  std::string file;  // below tests/
};

struct Mark {
  std::string word, pattern, file;
};

std::vector<Mark>& marks() {
  static std::vector<Mark> all;
  return all;
}

/// The part of a path below tests/.
std::string below_tests(std::string_view file) {
  const std::string_view here = __FILE__, folder = here.substr(0, here.size() - std::strlen("test_main.cpp"));
  if (file.starts_with(folder)) file.remove_prefix(folder.size());
  return std::string(file);
}

/// A pattern in which * stands for any text.
bool matches(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*')
    return matches(text, pattern.substr(1)) || (!text.empty() && matches(text.substr(1), pattern));
  return !text.empty() && text.front() == pattern.front() && matches(text.substr(1), pattern.substr(1));
}

std::vector<FoundTest> all_tests() {
  std::vector<FoundTest> tests;
  const auto& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const auto& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const auto& test = *suite.GetTestInfo(t);
      tests.push_back({std::string(suite.name()) + "." + test.name(), below_tests(test.file())});
    }
  }
  return tests;
}

std::string filter_of_file(std::string_view file) {
  std::string filter;
  for (const FoundTest& test : all_tests())
    if (test.file == file) filter += test.name + ":";
  return filter.empty() ? "-*" : filter;
}

/// The room (room_mesh for tests/mesh/…); physics for *_physics_test.cpp, else unit; gpu for instances on CUDA devices;
/// then the marks.
std::string labels(const FoundTest& test) {
  std::string words = "room_" + test.file.substr(0, test.file.find('/')) + ";";
  words += test.file.find("physics_test") != std::string::npos ? "physics" : "unit";
  if (test.name.find("cuda") != std::string::npos) words += ";gpu";
  for (const Mark& mark : marks())
    if (mark.file == test.file && matches(test.name, mark.pattern)) words += ";" + mark.word;
  return words;
}

/// A mark that no test has is a mistake of its file: a renamed test would lose its mark without a word.
bool every_mark_is_used() {
  bool all = true;
  for (const Mark& mark : marks()) {
    bool used = false;
    for (const FoundTest& test : all_tests()) used |= mark.file == test.file && matches(test.name, mark.pattern);
    if (!used)
      std::cerr << "tests/" << mark.file << ": no test matches the mark " << mark.word << ", \"" << mark.pattern
                << "\"\n";
    all &= used;
  }
  return all;
}

/// tests/mesh/fft/poisson_fft_test.cpp, PoissonFft.X becomes mesh_fft_poisson_fft_test.PoissonFft.X.
std::string ctest_name(const FoundTest& test) {
  std::string name = test.file.substr(0, test.file.rfind(".cpp"));
  for (char& letter : name)
    if (letter == '/') letter = '_';
  return name + "." + test.name;
}

bool write_ctest(const char* path, const char* program) {
  std::ofstream out(path);
  for (const FoundTest& test : all_tests())
    out << "add_test([==[" << ctest_name(test) << "]==] [==[" << program << "]==] [==[--gtest_filter=" << test.name
        << "]==])\nset_tests_properties([==[" << ctest_name(test) << "]==] PROPERTIES LABELS \"" << labels(test)
        << "\" SKIP_REGULAR_EXPRESSION [==[\\[  SKIPPED \\]]==])\n";
  return static_cast<bool>(out.flush());
}

}  // namespace

pergola::TestMark::TestMark(const char* word, const char* pattern, const char* file) {
  marks().push_back({word, pattern, below_tests(file)});
}

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  const std::string_view list_option = "--write_ctest=";
  if (count > 1 && std::string_view(arguments[1]).starts_with(list_option))
    return every_mark_is_used() && write_ctest(arguments[1] + list_option.size(), arguments[0]) ? 0 : 1;
  const std::string filter = testing::GTEST_FLAG(filter);
  if (filter.starts_with('@')) testing::GTEST_FLAG(filter) = filter_of_file(filter.substr(1));
  return RUN_ALL_TESTS();
}
