#include "view/requests.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

TEST(ViewRequests, AreReadAsThePageSendsThem) {
  EXPECT_EQ(parse_view_request(R"({"ask":"state"})").kind, ViewRequest::Kind::state);
  const ViewRequest snapshot = parse_view_request(R"({"ask":"snapshot","number":3,"most":100})");
  EXPECT_EQ(snapshot.kind, ViewRequest::Kind::snapshot);
  EXPECT_EQ(snapshot.number, 3);
  EXPECT_EQ(snapshot.most, 100);
  EXPECT_EQ(parse_view_request(R"({"ask":"newest","after":17,"most":1})").number, 17);
  EXPECT_EQ(parse_view_request(R"({"ask":"newest","after":17,"most":1})").wait_ms, 2000);
  EXPECT_EQ(parse_view_request(R"({"ask":"newest","after":17,"most":1,"wait":50})").wait_ms, 50);
  EXPECT_THROW(parse_view_request(R"({"ask":"newest","after":17,"most":1,"wait":2001})"), Error);
  const ViewRequest id = parse_view_request(R"({"ask":"id","moment":4,"most":100,"point":99})");
  EXPECT_EQ(id.kind, ViewRequest::Kind::id);
  EXPECT_EQ(id.number, 4);
  EXPECT_EQ(id.point, 99);
  EXPECT_TRUE(id.of_run);
  EXPECT_FALSE(parse_view_request(R"({"ask":"id","number":4,"most":100,"point":0})").of_run);
  EXPECT_THROW(parse_view_request(R"({"ask":"id","number":4,"most":100,"point":-1})"), Error);
  const ViewRequest fork = parse_view_request(R"({"do":"fork","argument":"run.end_time=2"})");
  EXPECT_EQ(fork.action, "fork");
  EXPECT_EQ(fork.argument, "run.end_time=2");
}

TEST(ViewRequests, HaveTheCameraOfAPicture) {
  const ViewRequest asked = parse_view_request(
      R"({"ask":"density","after":4,"camera":"1 2 3 4 5 6 7 8 9 10 11 -1.5e1 2.5","width":640,"height":400})");
  EXPECT_EQ(asked.kind, ViewRequest::Kind::newest_density);
  EXPECT_EQ(asked.number, 4);
  Sight sight;
  sight.right = {1, 2, 3, 4}, sight.up = {5, 6, 7, 8}, sight.depth = {9, 10, 11, -15};
  sight.focus = 2.5, sight.width = 640, sight.height = 400;
  EXPECT_TRUE(asked.sight == sight);
  const ViewRequest file = parse_view_request(
      R"({"ask":"density","number":3,"camera":"1 0 0 0 0 1 0 0 0 0 0 1 1","width":1,"height":1024})");
  EXPECT_EQ(file.kind, ViewRequest::Kind::density);
  EXPECT_EQ(file.number, 3);
  const std::string good = "1 0 0 0 0 1 0 0 0 0 0 1 1";
  const auto refused = [](const std::string& camera, int width) {
    const std::string text = R"({"ask":"density","after":0,"height":4,"width":)" + std::to_string(width) +
                             R"(,"camera":")" + camera + R"("})";
    EXPECT_THROW(parse_view_request(text), Error) << text;
  };
  refused(good, 0), refused(good, 1025), refused(good + " 1", 4), refused("", 4), refused("1 2 3", 4);
  refused("1 0 0 0 0 1 0 0 0 0 0 1 0", 4), refused("1 0 0 0 0 1 0 0 0 0 0 1 -1", 4);
  refused("nan 0 0 0 0 1 0 0 0 0 0 1 1", 4), refused("1 0 0 inf 0 1 0 0 0 0 0 1 1", 4),
      refused("1 0 x 0 0 1 0 0 0 0 0 1 1", 4);
  EXPECT_THROW(parse_view_request(R"({"ask":"density","number":0,"width":4,"height":4})"), Error);
  EXPECT_THROW(parse_view_request(R"({"ask":"density","camera":"1","width":4,"height":4})"), Error);
}

TEST(ViewRequests, AnythingElseIsRefused) {
  for (const char* text : {"", "{", "[]", "7", R"({})", R"({"ask":7})", R"({"ask":"all"})", R"({"ask":"snapshot"})",
                           R"({"do":[1]})", R"({"ask":"snapshot","number":-1,"most":5})",
                           R"({"ask":"snapshot","number":1.5,"most":5})", R"({"ask":"snapshot","number":1,"most":0})",
                           R"({"ask":"newest","after":1,"most":200001})", R"({"ask":"newest","after":"1","most":2})"})
    EXPECT_THROW(parse_view_request(text), Error) << text;
  EXPECT_THROW(parse_view_request(std::string(longest_view_request + 1, ' ')), Error);
  EXPECT_THROW(parse_view_request(std::string(2000, '[')), Error);
}

TEST(ViewRequests, OnlyThePageItselfIsAnswered) {
  EXPECT_TRUE(is_own_page("127.0.0.1:8000", "", "127.0.0.1"));
  EXPECT_TRUE(is_own_page("localhost:9000", "http://localhost:9000", "127.0.0.1"));
  EXPECT_TRUE(is_own_page("[::1]:9000", "http://[::1]:9000", "127.0.0.1"));
  EXPECT_TRUE(is_own_page("10.0.0.7:80", "http://10.0.0.7:80", "10.0.0.7"));
  EXPECT_FALSE(is_own_page("10.0.0.7:80", "", "127.0.0.1"));
  EXPECT_FALSE(is_own_page("evil.example:8000", "", "127.0.0.1"));
  EXPECT_FALSE(is_own_page("127.0.0.1:8000", "http://evil.example", "127.0.0.1"));
  EXPECT_FALSE(is_own_page("127.0.0.1:8000", "http://127.0.0.1:8001", "127.0.0.1"));
  EXPECT_FALSE(is_own_page("", "", "127.0.0.1"));
  EXPECT_FALSE(is_own_page("[::1", "", "127.0.0.1"));
}

TEST(ViewRequests, TokensAndQueriesAreComparedWhole) {
  EXPECT_TRUE(same_token("abc", "abc"));
  EXPECT_FALSE(same_token("abd", "abc"));
  EXPECT_FALSE(same_token("ab", "abc"));
  EXPECT_FALSE(same_token("", "abc"));
  EXPECT_EQ(query_value("/?token=abc", "token"), "abc");
  EXPECT_EQ(query_value("/socket?most=5&token=abc&x=", "token"), "abc");
  EXPECT_EQ(query_value("/?xtoken=abc", "token"), "");
  EXPECT_EQ(query_value("/?token=", "token"), "");
  EXPECT_EQ(query_value("/", "token"), "");
}

}  // namespace
}  // namespace pergola
