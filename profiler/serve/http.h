// HttpServer: the few HTTP requests that `gausscope serve` answers, by libmicrohttpd. One thread
// waits for all connections at once, so one that sends half a request, or reads its answer slowly,
// costs a descriptor and nobody's time. No TLS, no bodies of requests (put a reverse proxy in front
// where metrics leave the machine).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/expected.h"

namespace gs::serve {

struct HttpRequest {
    std::string method, path;                       ///< the path is decoded
    std::map<std::string, std::string> parameters;  ///< of the query, decoded
    std::string bearer_token;                       ///< of "Authorization: Bearer ..."; empty: none
    std::string target = {};  ///< path and query as they were sent, for people
    /// A parameter of the query; empty: not given.
    std::string parameter(const std::string& name) const;
};

struct HttpAnswer {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body;
    std::string file;  ///< when not empty: the body is this file's content
};

struct HttpLimits {
    unsigned connections = 1000;  ///< at once; more wait until one of them ends
    unsigned silence_s = 5;       ///< a connection on which nothing happens ends after this time
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
