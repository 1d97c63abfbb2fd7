#include "profiler/serve/http.h"

#include <arpa/inet.h>
#include <civetweb.h>

#include <array>
#include <exception>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/log.h"

namespace gs::serve {
namespace {

const char* phrase_of(int status) {
    const char* text = mg_get_response_code_text(nullptr, status);
    return text == nullptr ? "" : text;
}

std::string header_of(const mg_connection* connection, const char* name) {
    const char* value = mg_get_header(connection, name);
    return value == nullptr ? std::string() : std::string(value);
}

HttpRequest request_of(const mg_connection* connection) {
    const mg_request_info& info = *mg_get_request_info(connection);
    HttpRequest request;
    if (info.request_method != nullptr) request.method = info.request_method;
    if (info.local_uri != nullptr) request.path = info.local_uri;
    if (info.query_string != nullptr) request.query = info.query_string;
    constexpr std::string_view kBearer = "Bearer ";
    const std::string authorization = header_of(connection, "Authorization");
    if (authorization.starts_with(kBearer))
        request.bearer_token = authorization.substr(kBearer.size());
    return request;
}

void send(mg_connection* connection, const HttpAnswer& answer, bool head_only) {
    if (!answer.file.empty() && answer.status == 200) {
        mg_send_mime_file(connection, answer.file.c_str(), answer.content_type.c_str());
        return;
    }
    mg_printf(
        connection,
        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        answer.status, phrase_of(answer.status), answer.content_type.c_str(), answer.body.size());
    if (!head_only) mg_write(connection, answer.body.data(), answer.body.size());
}

/// CivetWeb writes its errors there. Up to 1.15 the code is a pointer, later a member, and others
/// stand between.
template <typename Errors>
Errors errors_to(unsigned& code, std::span<char> text) {
    Errors errors{};
    if constexpr (std::is_pointer_v<decltype(errors.code)>) errors.code = &code;
    errors.text = text.data();
    errors.text_buffer_size = text.size();
    return errors;
}

}  // namespace

std::string HttpRequest::parameter(const char* name) const {
    std::array<char, 256> value{};
    const int length = mg_get_var(query.data(), query.size(), name, value.data(), value.size());
    return length > 0 ? std::string(value.data(), static_cast<std::size_t>(length)) : std::string();
}

struct HttpServer::State {
    Handler handler;
    mg_context* context = nullptr;
    std::uint16_t port = 0;

    State() { mg_init_library(0); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        if (context != nullptr) mg_stop(context);
        mg_exit_library();
    }

    static int begin_request(mg_connection* connection) {
        const auto& state = *static_cast<const State*>(mg_get_request_info(connection)->user_data);
        const HttpRequest request = request_of(connection);
        HttpAnswer answer;
        // Nothing may leave through the library's C code.
        try {
            answer = state.handler(request);
        } catch (const std::exception& error) {
            answer = {500, "text/plain; charset=utf-8", std::string(error.what()) + "\n", {}};
        }
        send(connection, answer, request.method == "HEAD");
        return answer.status;
    }
    static int log_message(const mg_connection*, const char* text) {
        log_debug("http: {}", text);
        return 1;
    }
};

namespace {

/// What is wrong with HOST:PORT before anybody tries to listen there; empty: nothing.
std::string wrong_with(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    const std::string port = address.substr(colon == std::string::npos ? 0 : colon + 1);
    const bool digits = !port.empty() && port.size() <= 5 &&
                        port.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || std::stoi(port) > 65535) return fmt::format("\"{}\" is no port", port);
    if (colon == std::string::npos) return {};
    std::string host = address.substr(0, colon);
    in6_addr parsed{};
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
        if (::inet_pton(AF_INET6, host.c_str(), &parsed) != 1)
            return fmt::format("\"{}\" is no IPv6 address", host);
        constexpr unsigned kIpv6 = 8;
        return mg_check_feature(kIpv6) != 0 ? "" : "the HTTP library was built without IPv6";
    }
    return ::inet_pton(AF_INET, host.c_str(), &parsed) == 1
               ? ""
               : fmt::format("\"{}\" is no IP address", host);
}

}  // namespace

Result<HttpServer> HttpServer::listen(const std::string& address, Handler handler) {
    if (const std::string wrong = wrong_with(address); !wrong.empty())
        return fail(
            ErrorKind::usage, address, "cannot listen here: " + wrong,
            "an IP address and a port, for example 127.0.0.1:9465, or 0.0.0.0:9465 for all");
    HttpServer server;
    State& state = *server.state_;
    state.handler = std::move(handler);
    mg_callbacks callbacks{};
    callbacks.begin_request = State::begin_request;
    callbacks.log_message = State::log_message;
    // Few threads: a scrape takes well under a millisecond, and nobody may hold many connections
    // open.
    std::array options{"listening_ports",
                       address.c_str(),
                       "num_threads",
                       "4",
                       "request_timeout_ms",
                       "5000",
                       "max_request_size",
                       "16384",
                       "enable_keep_alive",
                       "no",
                       static_cast<const char*>(nullptr)};
    unsigned code = 0;
    std::array<char, 256> text{};
    auto error = errors_to<mg_error_data>(code, text);
    mg_init_data init{&callbacks, &state, options.data()};
    state.context = mg_start2(&init, &error);
    if (state.context == nullptr)
        return fail(ErrorKind::unwritable, address,
                    std::string("cannot listen here: ") + text.data(),
                    "another program may have the port: choose one with --listen HOST:PORT");
    std::array<mg_server_port, 4> ports{};
    if (mg_get_server_ports(state.context, static_cast<int>(ports.size()), ports.data()) > 0)
        state.port = static_cast<std::uint16_t>(ports[0].port);
    return server;
}

std::uint16_t HttpServer::port() const { return state_->port; }

HttpServer::HttpServer() : state_(std::make_unique<State>()) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

}  // namespace gs::serve
