// The HTTP interface of `gausscope serve`: who waits or dawdles keeps nobody else waiting.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "base/file.h"
#include "profiler/collect/descriptor.h"
#include "profiler/serve/http.h"
#include "tests/support/temporary_folder.h"

namespace gs::serve {
namespace {

using service::Descriptor;

/// A connection to `port` of this machine that has sent `text`.
Descriptor say(std::uint16_t port, const std::string& text) {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    EXPECT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    return socket;
}

std::string all_of(const Descriptor& socket) {
    std::string out, piece(65536, '\0');
    for (ssize_t n = 0; (n = ::recv(socket.get(), piece.data(), piece.size(), 0)) > 0;)
        out.append(piece, 0, static_cast<std::size_t>(n));
    return out;
}

std::string answer_to(std::uint16_t port, const std::string& text) {
    return all_of(say(port, text));
}

bool is_open(const Descriptor& socket) {
    char byte = 0;
    return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

// HTTP/1.1 requires a host: libmicrohttpd 1.0 answers 400 without one.
constexpr const char* kProbe = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr HttpLimits kPatient{.silence_s = 600};

HttpServer echo(HttpLimits limits, std::string file = {}) {
    auto server = HttpServer::listen(
        "127.0.0.1:0",
        [file](const HttpRequest& r) {
            if (r.path == "/throw") throw std::runtime_error("oh");
            return HttpAnswer{
                .body = r.method + " " + r.path + " " + r.parameter("a") + " " + r.bearer_token,
                .file = r.path == "/file" ? file : ""};
        },
        limits);
    EXPECT_TRUE(server);
    return std::move(*server);
}

TEST(ServeHttp, ConnectionsThatWaitSilenceNobody) {
    const HttpServer server = echo(kPatient);
    std::vector<Descriptor> waiting;
    for (const std::size_t count : {20, 60, 205}) {
        while (waiting.size() < count) waiting.push_back(say(server.port(), "GET /met"));
        EXPECT_TRUE(answer_to(server.port(), kProbe).ends_with("GET /healthz  "));
        EXPECT_TRUE(is_open(waiting.back()));  // it was not closed to serve the probe
    }
    EXPECT_EQ(std::count_if(waiting.begin(), waiting.end(), is_open), 205);
}

TEST(ServeHttp, WhoSaysNothingIsLeft) {
    const HttpServer server = echo({.silence_s = 1});
    EXPECT_EQ(answer_to(server.port(), "GET /met"), "");
    EXPECT_EQ(answer_to(server.port(), ""), "");
}

// More than the limit wait their turn: it comes when those who say nothing are left.
TEST(ServeHttp, ManyMoreConnectionsThanTheLimitDelayAProbeByItsSilence) {
    const HttpServer server = echo({.connections = 8, .silence_s = 1});
    std::vector<Descriptor> waiting;
    while (waiting.size() < 20) waiting.push_back(say(server.port(), "GET /met"));
    EXPECT_TRUE(answer_to(server.port(), kProbe).ends_with("GET /healthz  "));
}

TEST(ServeHttp, ASlowReaderOfALargeFileKeepsNobodyWaiting) {
    const test::TemporaryFolder folder;
    const fs::path file = folder / "large";
    const std::string content(24 << 20, 'x');  // more than sockets hold
    ASSERT_TRUE(write_text_file(file, content));
    const HttpServer server = echo(kPatient, file.string());
    const Descriptor slow = say(server.port(), "GET /file HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(answer_to(server.port(), kProbe).starts_with("HTTP/1.1 200 OK\r\n"));
    const std::string got = all_of(slow);
    EXPECT_EQ(got.size() - got.find("\r\n\r\n") - 4, content.size());
    const std::string head = answer_to(server.port(), "HEAD /file HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(head.ends_with("\r\n\r\n"));
    EXPECT_NE(head.find(std::to_string(content.size())), std::string::npos);
}

TEST(ServeHttp, RequestsAreReadAsTheyAreMeant) {
    const HttpServer server = echo(kPatient);
    const auto body = [&](const std::string& request) {
        const std::string answer = answer_to(server.port(), request);
        return answer.substr(answer.find("\r\n\r\n") + 4);
    };
    EXPECT_EQ(body("GET /x%20y?b=2&a=1%2F2+3 HTTP/1.0\r\nAUTHORIZATION:  Bearer t \r\n\r\n"),
              "GET /x y 1/2 3 t");
    EXPECT_EQ(body("POST /trace?a=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"),
              "POST /trace 1 ");
    EXPECT_EQ(body("GET /%zz%4 HTTP/1.1\r\nHost: x\r\n\r\n"), "GET /%zz%4  ");
    EXPECT_NE(answer_to(server.port(), "GET /throw HTTP/1.1\r\nHost: x\r\n\r\n").find(" 500 "),
              std::string::npos);
    EXPECT_NE(answer_to(server.port(), "GET /" + std::string(20000, 'a')).find(" 414 "),
              std::string::npos);
    for (const char* wrong : {"GET\r\n\r\n", "GET / HTTP/x\r\n\r\n", "\x16\x03\x01\r\n\r\n"})
        EXPECT_EQ(answer_to(server.port(), wrong).find(" 200 "), std::string::npos) << wrong;
    for (const char* address : {"", "x", "127.0.0.1:70000", "localhost:1", "[::g]:1", "1.2.3.4:"})
        EXPECT_FALSE(HttpServer::listen(address, nullptr)) << address;
}

}  // namespace
}  // namespace gs::serve
