// HttpClient: one connection of the HttpServer from its first byte to its last: it asks, takes its
// answer, leaves. Nothing here waits: move_on() does what can be done now. Used by HttpServer.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "base/record/clock.h"
#include "profiler/collect/descriptor.h"
#include "profiler/serve/http.h"

namespace gs::serve {

using service::Descriptor;
inline constexpr std::int64_t kNsPerMs = 1'000'000;

/// Of IPv4 or IPv6.
struct Address {
    sockaddr_storage storage{};
    socklen_t bytes = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    const sockaddr_in& v4() const { return reinterpret_cast<const sockaddr_in&>(storage); }
    const sockaddr_in6& v6() const { return reinterpret_cast<const sockaddr_in6&>(storage); }
    std::uint16_t port() const {
        return ntohs(storage.ss_family == AF_INET6 ? v6().sin6_port : v4().sin_port);
    }
    bool same_host(const Address& other) const {
        if (storage.ss_family != other.storage.ss_family) return false;
        return storage.ss_family == AF_INET6
                   ? std::memcmp(&v6().sin6_addr, &other.v6().sin6_addr, sizeof(in6_addr)) == 0
                   : v4().sin_addr.s_addr == other.v4().sin_addr.s_addr;
    }
};

struct HttpClient {
    HttpClient(Descriptor taken, const Address& from)
        : socket(std::move(taken)), address(from), since_ns(now_ns()) {}
    enum class State { asking, taking, leaving, gone };

    /// Asks `handler` once the request is whole. Call it when the socket is ready, or might be.
    void move_on(const HttpServer::Handler& handler);
    /// When its time is up, if nothing happens until then.
    std::int64_t ends_ns(const HttpLimits& limits) const;

    Descriptor socket;
    Address address;
    std::int64_t since_ns;  ///< when it came; of one that takes its answer: when it last took some
    State state = State::asking;

  private:
    void ask(const HttpServer::Handler& handler);
    void prepare(const HttpAnswer& answer, bool head_only);
    void take();
    bool send_text();
    bool send_file();
    void leave();

    std::string text_;  // the request as far as it has come; then what is left of the answer
    std::size_t sent_ = 0;
    Descriptor file_;
    off_t file_at_ = 0, file_end_ = 0;
};

}  // namespace gs::serve
