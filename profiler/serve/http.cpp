#include "profiler/serve/http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/exception_words.h"
#include "base/log.h"
#include "base/text.h"
#include "base/try.h"
#include "profiler/collect/descriptor.h"

namespace gs::serve {
namespace {

using service::Descriptor;

/// Of IPv4 or IPv6.
struct Address {
    sockaddr_storage storage{};
    socklen_t bytes = 0;
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    std::uint16_t port() const {
        return ntohs(storage.ss_family == AF_INET6
                         ? reinterpret_cast<const sockaddr_in6&>(storage).sin6_port
                         : reinterpret_cast<const sockaddr_in&>(storage).sin_port);
    }
};

tl::unexpected<Error> no_address(const std::string& address, const std::string& wrong) {
    return fail(ErrorKind::usage, address, "cannot listen here: " + wrong,
                "an IP address and a port, for example 127.0.0.1:9465, or 0.0.0.0:9465 for all");
}

/// HOST:PORT, [HOST]:PORT or PORT.
Result<Address> parse_address(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    const std::string port = text.substr(colon == std::string::npos ? 0 : colon + 1);
    const bool digits = !port.empty() && port.size() <= 5 &&
                        port.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || std::stoi(port) > 65535)
        return no_address(text, fmt::format("\"{}\" is not a port", port));
    const in_port_t number = htons(static_cast<std::uint16_t>(std::stoi(port)));
    std::string host = colon == std::string::npos ? "0.0.0.0" : text.substr(0, colon);
    Address out;
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
        auto& v6 = reinterpret_cast<sockaddr_in6&>(out.storage);
        v6.sin6_family = AF_INET6;
        v6.sin6_port = number;
        out.bytes = sizeof(sockaddr_in6);
        if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) return out;
        return no_address(text, fmt::format("\"{}\" is not an IPv6 address", host));
    }
    auto& v4 = reinterpret_cast<sockaddr_in&>(out.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = number;
    out.bytes = sizeof(sockaddr_in);
    if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) return out;
    return no_address(text, fmt::format("\"{}\" is not an IP address", host));
}

/// The library's own errors do not tell a port that is taken from one that is not allowed.
Result<Descriptor> listen_on(const std::string& text, std::uint16_t& port) {
    GS_TRY(Address address, parse_address(text));
    Descriptor socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(socket.get(), address.get(), address.bytes) != 0 ||
        ::listen(socket.get(), SOMAXCONN) != 0 ||
        ::getsockname(socket.get(), address.get(), &address.bytes) != 0)
        return fail(ErrorKind::unwritable, text,
                    fmt::format("cannot listen here: {}", std::strerror(errno)),
                    "another program may have the port: choose one with --listen HOST:PORT");
    port = address.port();
    return socket;
}

/// What a request is until it has been answered.
struct Asked {
    std::string target;
    bool begun = false;
};

HttpRequest request_of(MHD_Connection* connection, const char* url, const char* method,
                       const Asked& asked) {
    HttpRequest out{method, url, {}, {}, asked.target};
    MHD_get_connection_values(
        connection, MHD_GET_ARGUMENT_KIND,
        [](void* to, MHD_ValueKind, const char* name, const char* value) {
            static_cast<HttpRequest*>(to)->parameters.emplace(name, value ? value : "");
            return MHD_YES;
        },
        &out);
    constexpr std::string_view kBearer = "Bearer ";
    const char* header = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
    if (const std::string_view value = header ? header : ""; value.starts_with(kBearer))
        out.bearer_token = trimmed(value.substr(kBearer.size()));
    return out;
}

/// A file that has gone meanwhile is not found.
MHD_Response* response_of(HttpAnswer& answer) {
    if (!answer.file.empty()) {
        const int file = ::open(answer.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat status {};
        if (file >= 0 && ::fstat(file, &status) == 0 && S_ISREG(status.st_mode))
            return MHD_create_response_from_fd64(static_cast<std::uint64_t>(status.st_size), file);
        if (file >= 0) ::close(file);
        answer = {404, "text/plain; charset=utf-8", "not found\n", {}};
    }
    return MHD_create_response_from_buffer(answer.body.size(), answer.body.data(),
                                           MHD_RESPMEM_MUST_COPY);
}

MHD_Result reply(MHD_Connection* connection, HttpAnswer answer) {
    MHD_Response* const response = response_of(answer);
    if (response == nullptr) return MHD_NO;
    MHD_add_response_header(response, "Content-Type", answer.content_type.c_str());
    MHD_add_response_header(response, "Cache-Control", "no-store");
    // Probes and scrapers come seldom: a connection that stays would only be one more.
    MHD_add_response_header(response, "Connection", "close");
    const MHD_Result queued =
        MHD_queue_response(connection, static_cast<unsigned>(answer.status), response);
    MHD_destroy_response(response);
    return queued;
}

HttpAnswer answer_of(const HttpServer::Handler& handler, const HttpRequest& request) {
    try {
        return handler(request);
    } catch (const std::exception& error) {
        log_error("{} {}: {}", request.method, request.path, words_of(error));
        return {500, "text/plain; charset=utf-8", "internal error\n", {}};
    }
}

// libmicrohttpd calls this with the headers, with every piece of a body, and when all has come.
MHD_Result handle(void* handler, MHD_Connection* connection, const char* url, const char* method,
                  const char*, const char*, std::size_t* bytes, void** state) {
    Asked& asked = *static_cast<Asked*>(*state);
    if (!std::exchange(asked.begun, true)) return MHD_YES;
    if (std::exchange(*bytes, 0) != 0) return MHD_YES;
    return reply(connection, answer_of(*static_cast<HttpServer::Handler*>(handler),
                                       request_of(connection, url, method, asked)));
}
void* begin(void*, const char* target, MHD_Connection*) { return new Asked{target}; }
void end(void*, MHD_Connection*, void** state, MHD_RequestTerminationCode) {
    delete static_cast<Asked*>(std::exchange(*state, nullptr));
}

}  // namespace

std::string HttpRequest::parameter(const std::string& name) const {
    const auto found = parameters.find(name);
    return found == parameters.end() ? std::string() : found->second;
}

struct HttpServer::State {
    Handler handler;
    std::uint16_t port = 0;
    Descriptor listener;
    MHD_Daemon* daemon = nullptr;

    ~State() {
        if (daemon == nullptr) return;
        MHD_quiesce_daemon(daemon);  // nobody new; from here on the listener is ours again
        const auto open = [&] {
            const auto* info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
            return info != nullptr && info->num_connections > 0;
        };
        for (int i = 0; i < 100 && open(); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        MHD_stop_daemon(daemon);
    }
};

Result<HttpServer> HttpServer::listen(const std::string& address, Handler handler,
                                      HttpLimits limits) {
    HttpServer server;
    State& state = *server.state_;
    state.handler = std::move(handler);
    GS_TRY(state.listener, listen_on(address, state.port));
    state.daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, nullptr, nullptr, handle, &state.handler,
        MHD_OPTION_LISTEN_SOCKET, state.listener.get(), MHD_OPTION_CONNECTION_LIMIT,
        limits.connections, MHD_OPTION_CONNECTION_TIMEOUT, limits.silence_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, std::size_t{16384}, MHD_OPTION_URI_LOG_CALLBACK, begin,
        nullptr, MHD_OPTION_NOTIFY_COMPLETED, end, nullptr, MHD_OPTION_END);
    if (state.daemon == nullptr)
        return fail(ErrorKind::unwritable, address, "the HTTP interface cannot be started",
                    "check the limits of threads and open files (ulimit)");
    return server;
}

std::uint16_t HttpServer::port() const { return state_->port; }

HttpServer::HttpServer() : state_(std::make_unique<State>()) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

}  // namespace gs::serve
