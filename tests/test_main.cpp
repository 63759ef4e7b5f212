#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

// The program of all tests, and what GoogleTest's own lacks: it knows which file a test stands in.
//   --gtest_filter=@mesh/fft/poisson_fft_test.cpp   the tests of that file
//   --write_ctest=FILE                              a list of all tests for ctest, with labels by file, and nothing
//   else

namespace {

struct FoundTest {
  std::string name;  // Suite.Test
  std::string file;  // below tests/
};

std::vector<FoundTest> all_tests() {
  std::vector<FoundTest> tests;
  const std::string_view here = __FILE__, folder = here.substr(0, here.size() - std::strlen("test_main.cpp"));
  const auto& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const auto& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const auto& test = *suite.GetTestInfo(t);
      std::string_view file = test.file();
      if (file.starts_with(folder)) file.remove_prefix(folder.size());
      tests.push_back({std::string(suite.name()) + "." + test.name(), std::string(file)});
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

/// physics for *_physics_test.cpp, else unit; slow where the file name says so; gpu where the test's name holds "cuda".
std::string labels(const FoundTest& test) {
  std::string words = test.file.find("physics_test") != std::string::npos ? "physics" : "unit";
  if (test.file.find("slow") != std::string::npos) words += ";slow";
  if (test.name.find("cuda") != std::string::npos) words += ";gpu";
  return words;
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

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  const std::string_view list_option = "--write_ctest=";
  if (count > 1 && std::string_view(arguments[1]).starts_with(list_option))
    return write_ctest(arguments[1] + list_option.size(), arguments[0]) ? 0 : 1;
  const std::string filter = testing::GTEST_FLAG(filter);
  if (filter.starts_with('@')) testing::GTEST_FLAG(filter) = filter_of_file(filter.substr(1));
  return RUN_ALL_TESTS();
}
