// HttpServer: the few HTTP requests that `gausscope serve` answers. One thread waits for all
// connections at once (a library that gives each a thread of few is silenced by as many idle ones),
// so one that sends half a request, or reads its answer slowly, costs a descriptor and nobody's
// time. No TLS, no bodies of requests, one request a connection (put a reverse proxy in front where
// metrics leave the machine).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace gs::serve {

struct HttpRequest {
    std::string method, path;  ///< the path is decoded
    std::string query;         ///< behind the '?', still encoded
    std::string bearer_token;  ///< of "Authorization: Bearer ..."; empty: none
    /// The decoded value of a parameter of the query; empty: not given.
    std::string parameter(std::string_view name) const;
};

/// The first line and the headers, up to and without the empty line behind them. Empty: that is no
/// HTTP/1.x request.
std::optional<HttpRequest> parse_request(std::string_view head);

struct HttpAnswer {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
    std::string file;  ///< when not empty: the body is this file's content
};

/// Who has said nothing for longest gives way when there are too many.
struct HttpLimits {
    std::size_t connections = 256, of_one_address = 64;
    std::chrono::milliseconds request_time{5000};  ///< for all of a request to come
    std::chrono::milliseconds stall_time{10000};   ///< of a client that does not take its answer
};

class HttpServer {
  public:
    /// Called from the server's own thread; other requests wait as long as it does.
    using Handler = std::function<HttpAnswer(const HttpRequest&)>;

    /// Listens on `address`: "127.0.0.1:9464", "[::1]:9464", "9464" (all interfaces); port 0 takes
    /// a free one. Errors: usage (no such address), unwritable (the port is taken or not allowed).
    static Result<HttpServer> listen(const std::string& address, Handler handler,
                                     HttpLimits limits = {});
    std::uint16_t port() const;

    HttpServer(HttpServer&&) noexcept;
    HttpServer& operator=(HttpServer&&) noexcept;
    /// Answers on their way get a second to arrive.
    ~HttpServer();

  private:
    struct State;
    HttpServer();
    std::unique_ptr<State> state_;
};

}  // namespace gs::serve
