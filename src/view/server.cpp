#include "view/server.hpp"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <random>
#include <sstream>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "view/requests.hpp"

// Coroutines on one thread: accept, serve one connection, talk over one WebSocket. Requests are limited in size before
// they are parsed. Connections beyond the limit are closed, and so are idle ones after 30 seconds.

// g++ 12 takes Asio's own operators new and delete of a coroutine for a mismatch when it has inlined one of them.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
namespace pergola {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::use_awaitable;
using asio::ip::tcp;
using std::chrono::milliseconds;
using std::chrono::seconds;

using Request = http::request<http::string_body>;
using Socket = websocket::stream<beast::tcp_stream, false>;  // without compression, which is never negotiated

constexpr int most_connections = 32;
constexpr seconds patience{30};

/// 128 bits from the operating system, in hexadecimal.
std::string random_token() {
  std::random_device source;
  std::string token;
  for (int k = 0; k < 4; ++k) token += fmt::format("{:08x}", static_cast<std::uint32_t>(source()));
  return token;
}

std::string error_text(const std::string& message) {
  return nlohmann::json{{"kind", "error"}, {"message", message}}.dump(-1, ' ', false,
                                                                      nlohmann::json::error_handler_t::replace);
}

/// Every answer forbids foreign scripts, frames and caches.
http::response<http::string_body> answer_to(const Request& request, http::status status, std::string type,
                                            std::string body) {
  http::response<http::string_body> response{status, request.version()};
  response.set(http::field::content_type, type);
  response.set(http::field::cache_control, "no-store");
  response.set("Referrer-Policy", "no-referrer");
  response.set("X-Content-Type-Options", "nosniff");
  response.set(http::field::x_frame_options, "DENY");
  response.set("Content-Security-Policy",
               "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self' ws:; "
               "img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
  response.keep_alive(request.keep_alive());
  response.body() = request.method() == http::verb::head ? std::string() : std::move(body);
  response.prepare_payload();
  return response;
}

std::string_view text_of(beast::string_view text) { return {text.data(), text.size()}; }

/// Counts an open WebSocket while it lives.
struct Talk {
  explicit Talk(std::atomic<int>& all) : count(all) { ++count; }
  ~Talk() { --count; }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;
  std::atomic<int>& count;
};

}  // namespace

/// The listening socket, the connections as coroutines, and the thread that runs them.
struct ViewServer::Parts {
  Parts(ViewFeed& given, const ViewOptions& options)
      : feed(given), address(options.address), token(random_token()), acceptor(context) {
    listen(options);
    asio::co_spawn(context, accept(), asio::detached);
    thread = std::thread([this] { context.run(); });
  }

  ~Parts() {
    context.stop();
    thread.join();
  }

  void listen(const ViewOptions& options) {
    boost::system::error_code error;
    const auto where = asio::ip::make_address(options.address, error);
    if (error)
      throw Error(ErrorKind::input,
                  fmt::format("--listen: expected an address such as 127.0.0.1, found \"{}\"", options.address));
    const tcp::endpoint endpoint(where, static_cast<unsigned short>(options.port));
    if (!acceptor.open(endpoint.protocol(), error) && !acceptor.set_option(tcp::acceptor::reuse_address(true), error) &&
        !acceptor.bind(endpoint, error) && !acceptor.listen(most_connections, error))
      return;
    throw Error(ErrorKind::system,
                fmt::format("{}:{}: cannot be listened on: {}", options.address, options.port, error.message()));
  }

  asio::awaitable<void> accept() {
    while (true) {
      boost::system::error_code error;
      tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(use_awaitable, error));
      if (error || connections >= most_connections) {
        // Too many open files, perhaps: wait before the next attempt.
        asio::steady_timer pause(context, milliseconds(error ? 100 : 10));
        co_await pause.async_wait(use_awaitable);
        continue;
      }
      ++connections;
      asio::co_spawn(context, serve(std::move(socket)), [this](std::exception_ptr) { --connections; });
    }
  }

  /// Reads into a parser by hand: the composed operations of Beast take long to compile.
  static asio::awaitable<Request> read_request(beast::tcp_stream& stream, beast::flat_buffer& buffer) {
    http::request_parser<http::string_body> parser;
    parser.header_limit(8192);
    parser.body_limit(0);
    parser.eager(true);
    stream.expires_after(patience);
    for (boost::system::error_code error; !parser.is_done();) {
      if (buffer.size() == 0 || error == http::error::need_more)
        buffer.commit(co_await stream.async_read_some(buffer.prepare(8192), use_awaitable));
      buffer.consume(parser.put(buffer.data(), error));
      if (error && error != http::error::need_more) throw boost::system::system_error(error);
    }
    co_return parser.release();
  }

  /// Serves one connection. An error ends this connection and nothing else.
  asio::awaitable<void> serve(tcp::socket socket) {
    beast::tcp_stream stream(std::move(socket));
    beast::flat_buffer buffer;
    bool open = true;
    while (open) {
      const Request request = co_await read_request(stream, buffer);
      if (websocket::is_upgrade(request) && refusal(request) == http::status::ok) {
        stream.expires_never();
        co_await talk(Socket(std::move(stream)), request);
        co_return;
      }
      auto response = answer(request);
      open = response.keep_alive();
      std::ostringstream text;
      text << response;
      const std::string bytes = std::move(text).str();
      co_await asio::async_write(stream, asio::buffer(bytes), use_awaitable);
    }
    boost::system::error_code ignored;
    stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  /// ok: the request comes from the server's own page and has the token.
  http::status refusal(const Request& request) const {
    const auto host = text_of(request[http::field::host]), origin = text_of(request[http::field::origin]);
    if (!is_own_page(host, origin, address)) return http::status::forbidden;
    if (!same_token(query_value(text_of(request.target()), "token"), token)) return http::status::unauthorized;
    return http::status::ok;
  }

  http::response<http::string_body> answer(const Request& request) const {
    const std::string plain = "text/plain; charset=utf-8";
    const http::status status = refusal(request);
    if (status == http::status::forbidden)
      return answer_to(request, status, plain, "this page is for the machine that it runs on\n");
    if (status == http::status::unauthorized)
      return answer_to(request, status, plain, "the address lacks the right token; take it as pergola printed it\n");
    if (request.method() != http::verb::get && request.method() != http::verb::head)
      return answer_to(request, http::status::method_not_allowed, plain, "expected GET\n");
    const auto target = text_of(request.target());
    if (target.substr(0, target.find('?')) != "/")
      return answer_to(request, http::status::not_found, plain, "there is only one page, at /\n");
    return answer_to(request, status, "text/html; charset=utf-8", view_page);
  }

  asio::awaitable<void> talk(Socket socket, Request request) {
    const Talk counted(talks);
    auto timeout = websocket::stream_base::timeout::suggested(beast::role_type::server);
    socket.set_option(timeout);
    socket.read_message_max(longest_view_request);
    co_await socket.async_accept(request, use_awaitable);
    while (true) {
      beast::flat_buffer buffer;
      co_await socket.async_read(buffer, use_awaitable);
      const std::string message = beast::buffers_to_string(buffer.data());
      co_await reply(socket, message);
    }
  }

  asio::awaitable<void> reply(Socket& socket, const std::string& message) {
    std::string text;
    std::shared_ptr<const std::string> points;
    try {
      const ViewRequest asked = parse_view_request(message);
      if (asked.kind == ViewRequest::Kind::state) text = feed.state();
      if (asked.kind == ViewRequest::Kind::act)
        text = nlohmann::json{{"kind", "done"}, {"message", feed.act(asked.action, asked.argument)}}.dump();
      if (asked.kind == ViewRequest::Kind::id)  // as text: a page's numbers have 53 bits
        text = nlohmann::json{{"kind", "id"},
                              {"id", std::to_string(feed.id(asked.number, asked.most, asked.point, asked.of_run))}}
                   .dump();
      if (asked.kind == ViewRequest::Kind::snapshot) points = feed.snapshot(asked.number, asked.most);
      if (asked.kind == ViewRequest::Kind::density) points = feed.density(asked.number, asked.sight);
      if (asked.kind == ViewRequest::Kind::newest || asked.kind == ViewRequest::Kind::newest_density) {
        points = co_await newest(asked);
        if (!points) text = R"({"kind":"nothing"})";
      }
    } catch (const std::exception& error) {
      text = error_text(error.what());
    }
    socket.binary(points != nullptr);
    const std::string& bytes = points ? *points : text;
    co_await socket.async_write(asio::buffer(bytes), use_awaitable);
  }

  /// Waits up to the time of the request.
  asio::awaitable<std::shared_ptr<const std::string>> newest(const ViewRequest& asked) {
    const bool picture = asked.kind == ViewRequest::Kind::newest_density;
    const auto end = std::chrono::steady_clock::now() + milliseconds(asked.wait_ms);
    asio::steady_timer pause(context);
    while (true) {
      std::int64_t serial = asked.number;
      if (auto found = picture ? feed.newest_density(serial, asked.sight) : feed.newest(serial, asked.most))
        co_return found;
      if (std::chrono::steady_clock::now() >= end) co_return nullptr;
      pause.expires_after(milliseconds(5));
      co_await pause.async_wait(use_awaitable);
    }
  }

  ViewFeed& feed;
  std::string address, token;
  std::atomic<int> talks = 0;  // declared before the context, whose coroutines use it until its end
  asio::io_context context{1};
  tcp::acceptor acceptor;
  int connections = 0;
  std::thread thread;
};

ViewServer::ViewServer(ViewFeed& feed, const ViewOptions& options) : parts_(std::make_unique<Parts>(feed, options)) {}
ViewServer::~ViewServer() = default;

int ViewServer::port() const {
  boost::system::error_code ignored;
  return parts_->acceptor.local_endpoint(ignored).port();
}

int ViewServer::pages() const { return (parts_->talks + 1) / 2; }

const std::string& ViewServer::token() const { return parts_->token; }

std::string ViewServer::url() const {
  const bool six = parts_->address.find(':') != std::string::npos;
  const std::string host = six ? fmt::format("[{}]", parts_->address) : parts_->address;
  return fmt::format("http://{}:{}/?token={}", host, port(), token());
}

}  // namespace pergola
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
