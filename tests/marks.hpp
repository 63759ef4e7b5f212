#pragma once

namespace pergola {

/// A mark of tests, which ctest knows as a label. It stands in the file of the tests that it is about:
/// PERGOLA_MARK(slow, "*Equilibrium*") marks the tests of this file whose full name matches the pattern; * stands for
/// any text. PERGOLA_MARK(threads, "*") marks all tests of this file. Marks in use: slow (scripts/test-all.sh slow),
/// heavy (sums over so many pairs that sanitizers, which leave it out, take minutes), threads (what the thread
/// sanitizer watches), gpu (needs a GPU; tests with "cuda" in their names have it by themselves). CONTRIBUTING.md says
/// what each leads to.
struct TestMark {
  TestMark(const char* word, const char* pattern, const char* file);
};

}  // namespace pergola

#define PERGOLA_JOIN_TWICE(a, b) a##b
#define PERGOLA_JOIN(a, b) PERGOLA_JOIN_TWICE(a, b)
#define PERGOLA_MARK(word, pattern) \
  static const ::pergola::TestMark PERGOLA_JOIN(test_mark_, __COUNTER__)(#word, pattern, __FILE__)
