#include <gtest/gtest.h>

#include <string>
#include <string_view>

// The program of all tests. GoogleTest's filter knows names of tests, not files. Here
// --gtest_filter=@mesh/fft/poisson_fft_test.cpp stands for the tests of that file on the CPU, and
// @cuda:mesh/fft/poisson_fft_test.cpp for those on the GPU, so that ctest can label them.

namespace {

/// A filter with the names of all tests of a file, those with "cuda" or those without.
std::string filter_of_file(std::string_view file, bool cuda) {
  std::string filter;
  const auto& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const auto& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const auto& test = *suite.GetTestInfo(t);
      const std::string name = std::string(suite.name()) + "." + test.name();
      if (std::string_view(test.file()).ends_with(file) && (name.find("cuda") != std::string::npos) == cuda)
        filter += name + ":";
    }
  }
  return filter.empty() ? "-*" : filter;
}

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  const std::string filter = testing::GTEST_FLAG(filter);
  const std::string_view gpu_mark = "@cuda:";
  if (filter.starts_with(gpu_mark))
    testing::GTEST_FLAG(filter) = filter_of_file("/" + filter.substr(gpu_mark.size()), true);
  else if (filter.starts_with('@'))
    testing::GTEST_FLAG(filter) = filter_of_file("/" + filter.substr(1), false);
  return RUN_ALL_TESTS();
}
