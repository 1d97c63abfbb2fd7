#include "profiler/serve/http.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include "base/record/clock.h"
#include "base/try.h"
#include "profiler/serve/http_client.h"

namespace gs::serve {
namespace {

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
        return no_address(text, fmt::format("\"{}\" is no port", port));
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
        return no_address(text, fmt::format("\"{}\" is no IPv6 address", host));
    }
    auto& v4 = reinterpret_cast<sockaddr_in&>(out.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = number;
    out.bytes = sizeof(sockaddr_in);
    if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) return out;
    return no_address(text, fmt::format("\"{}\" is no IP address", host));
}

}  // namespace

struct HttpServer::State {
    Handler handler;
    HttpLimits limits;
    Descriptor listener, wake{::eventfd(0, EFD_CLOEXEC)};
    std::uint16_t port = 0;
    std::list<HttpClient> clients;  // in the order in which they came
    std::int64_t accept_from_ns = 0;
    std::atomic<bool> stop{false};
    std::thread thread;

    ~State() {
        if (!thread.joinable()) return;
        stop = true;
        ::eventfd_write(wake.get(), 1);
        thread.join();
    }
    Result<void> open(const std::string& text);
    void run();
    void accept_new();
    void make_room(const Address& address);
    void wait_and_work(bool accepts, std::chrono::milliseconds longest);
    void end_overdue();
};

Result<void> HttpServer::State::open(const std::string& text) {
    GS_TRY(Address address, parse_address(text));
    listener = Descriptor(
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int yes = 1;
    ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(listener.get(), address.get(), address.bytes) != 0 ||
        ::listen(listener.get(), SOMAXCONN) != 0 ||
        ::getsockname(listener.get(), address.get(), &address.bytes) != 0)
        return fail(ErrorKind::unwritable, text,
                    fmt::format("cannot listen here: {}", std::strerror(errno)),
                    "another program may have the port: choose one with --listen HOST:PORT");
    port = address.port();
    return {};
}

/// Who has waited for longest with half a request goes first, and only when nobody does that, who
/// takes an answer.
void HttpServer::State::make_room(const Address& address) {
    const auto asks = [](const HttpClient& c) { return c.state == HttpClient::State::asking; };
    const auto same = [&](const HttpClient& c) { return c.address.same_host(address); };
    const bool too_many_of_it = static_cast<std::size_t>(std::count_if(
                                    clients.begin(), clients.end(), same)) >= limits.of_one_address;
    if (!too_many_of_it && clients.size() < limits.connections) return;
    const auto may_go = [&](const HttpClient& c) { return !too_many_of_it || same(c); };
    auto victim = std::find_if(clients.begin(), clients.end(),
                               [&](const HttpClient& c) { return may_go(c) && asks(c); });
    if (victim == clients.end()) victim = std::find_if(clients.begin(), clients.end(), may_go);
    if (victim != clients.end()) clients.erase(victim);
}

void HttpServer::State::accept_new() {
    constexpr int kAtOnce = 64;  // those who are here have their turn, too
    for (int i = 0; i < kAtOnce; ++i) {
        Address address;
        address.bytes = sizeof address.storage;
        Descriptor socket(
            ::accept4(listener.get(), address.get(), &address.bytes, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) {
            // No descriptors left: the listener would be ready again at once.
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                accept_from_ns = now_ns() + 100 * kNsPerMs;
            return;
        }
        make_room(address);
        const int yes = 1;
        ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        clients.emplace_back(std::move(socket), address);
        clients.back().move_on(handler);
    }
}

void HttpServer::State::end_overdue() {
    const std::int64_t now = now_ns();
    clients.remove_if([&](const HttpClient& c) {
        return c.state == HttpClient::State::gone || now > c.ends_ns(limits);
    });
}

void HttpServer::State::wait_and_work(bool accepts, std::chrono::milliseconds longest) {
    std::vector<pollfd> waited{
        {wake.get(), POLLIN, 0},
        {accepts ? listener.get() : -1, POLLIN, 0},
    };
    for (const HttpClient& c : clients) {
        const bool takes = c.state == HttpClient::State::taking;
        waited.push_back({c.socket.get(), static_cast<short>(takes ? POLLOUT : POLLIN), 0});
    }
    ::poll(waited.data(), waited.size(), static_cast<int>(longest.count()));
    auto place = waited.begin() + 2;
    for (HttpClient& c : clients)
        if ((place++)->revents != 0) c.move_on(handler);
    end_overdue();
    if (waited[1].revents != 0) accept_new();
}

void HttpServer::State::run() {
    sigset_t pipe;  // sendfile() to who has left: an error is enough
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    constexpr std::chrono::milliseconds kLook{200};
    while (!stop) wait_and_work(now_ns() >= accept_from_ns, kLook);
    clients.remove_if([](const HttpClient& c) { return c.state == HttpClient::State::asking; });
    const std::int64_t end = now_ns() + 1000 * kNsPerMs;
    ::eventfd_t unused = 0;
    ::eventfd_read(wake.get(), &unused);
    while (!clients.empty() && now_ns() < end) wait_and_work(false, kLook);
}

Result<HttpServer> HttpServer::listen(const std::string& address, Handler handler,
                                      HttpLimits limits) {
    HttpServer server;
    State& state = *server.state_;
    state.handler = std::move(handler);
    state.limits = limits;
    GS_TRY_VOID(state.open(address));
    state.thread = std::thread([&state] { state.run(); });
    return server;
}

std::uint16_t HttpServer::port() const { return state_->port; }

HttpServer::HttpServer() : state_(std::make_unique<State>()) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

}  // namespace gs::serve
