// HttpServer: the few HTTP requests that `gausscope serve` answers, over the CivetWeb library.
// Small answers made at once; no TLS (put a reverse proxy in front where metrics leave the
// machine).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/expected.h"

namespace gs::serve {

struct HttpRequest {
    std::string method, path;
    std::string query;         ///< behind the '?', still encoded
    std::string bearer_token;  ///< of "Authorization: Bearer ..."; empty: none
    /// The decoded value of a parameter of the query; empty: not given.
    std::string parameter(const char* name) const;
};

struct HttpAnswer {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
    std::string file;  ///< when not empty: the body is this file's content
};

class HttpServer {
  public:
    /// Called from several threads at once.
    using Handler = std::function<HttpAnswer(const HttpRequest&)>;

    /// Listens on `address`: "127.0.0.1:9464", "[::1]:9464", "9464" (all interfaces); port 0 takes
    /// a free one. Errors: usage (no such address), unwritable (the port is taken or not allowed).
    static Result<HttpServer> listen(const std::string& address, Handler handler);
    std::uint16_t port() const;

    HttpServer(HttpServer&&) noexcept;
    HttpServer& operator=(HttpServer&&) noexcept;
    /// Lets running requests end.
    ~HttpServer();

  private:
    struct State;
    HttpServer();
    std::unique_ptr<State> state_;
};

}  // namespace gs::serve
