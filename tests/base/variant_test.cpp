#include "base/variant.hpp"

#include <gtest/gtest.h>

#include <new>
#include <string>
#include <vector>

namespace pergola {
namespace {

/// A value whose copies find no memory.
struct Uncopied {
  Uncopied() = default;
  Uncopied(const Uncopied&) { throw std::bad_alloc(); }
};

TEST(Variant, HoldsCopiesAndTellsLikeAVariant) {
  using Value = Variant<bool, double, std::string>;
  const Value text = std::string("a text that is longer than any small string"), number = 2.5;
  Value copy = text;
  EXPECT_EQ(copy, text);
  copy = number;
  EXPECT_EQ(std::get<double>(copy), 2.5);
  copy = true;
  EXPECT_EQ(*std::get_if<bool>(&copy), true);
  EXPECT_EQ(Value().index(), 0u);
}

/// With std::variant of libstdc++ 12 this ends with a signal.
TEST(Variant, ACopyThatThrowsLeavesAllAsItWas) {
  using Value = Variant<std::string, std::vector<Uncopied>>;
  const Value full(std::in_place_type<std::vector<Uncopied>>, 3u);
  EXPECT_THROW({ const Value copy = full; }, std::bad_alloc);
  Value other = std::string("other");
  EXPECT_THROW(other = full, std::bad_alloc);
  EXPECT_EQ(std::get<std::string>(other), "other");
  EXPECT_EQ(std::get<std::vector<Uncopied>>(full).size(), 3u);
}

}  // namespace
}  // namespace pergola
