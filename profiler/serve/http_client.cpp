#include "profiler/serve/http_client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>

namespace gs::serve {
namespace {

constexpr std::size_t kMaxHead = 16384;

const char* phrase_of(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 202:
            return "Accepted";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 503:
            return "Service Unavailable";
        default:
            return "";
    }
}

/// Nothing to read or no room to write is no end.
bool only_waits() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

void HttpClient::move_on(const HttpServer::Handler& handler) {
    if (state == State::asking) ask(handler);
    if (state == State::taking) take();
    if (state == State::leaving) leave();
}

std::int64_t HttpClient::ends_ns(const HttpLimits& limits) const {
    constexpr std::chrono::milliseconds kFarewell{1000};
    const auto time = state == State::asking   ? limits.request_time
                      : state == State::taking ? limits.stall_time
                                               : kFarewell;
    return since_ns + time.count() * kNsPerMs;
}

void HttpClient::ask(const HttpServer::Handler& handler) {
    std::array<char, 4096> bytes{};
    ssize_t count = 0;
    std::size_t end = std::string::npos;
    while (end == std::string::npos && text_.size() < kMaxHead &&
           (count = ::recv(socket.get(), bytes.data(), bytes.size(), 0)) > 0) {
        const std::size_t from = text_.size() < 3 ? 0 : text_.size() - 3;
        text_.append(bytes.data(), static_cast<std::size_t>(count));
        end = text_.find("\r\n\r\n", from);
    }
    if (end == std::string::npos) {
        if (text_.size() >= kMaxHead)
            prepare({431, "text/plain; charset=utf-8", "too long\n", {}}, false);
        else if (count == 0 || !only_waits())
            state = State::gone;
        return;
    }
    const auto request = parse_request(std::string_view(text_).substr(0, end));
    if (!request) return prepare({400, "text/plain; charset=utf-8", "no HTTP\n", {}}, false);
    HttpAnswer answer;
    try {
        answer = handler(*request);
    } catch (const std::exception& error) {
        answer = {500, "text/plain; charset=utf-8", std::string(error.what()) + "\n", {}};
    }
    prepare(answer, request->method == "HEAD");
}

void HttpClient::prepare(const HttpAnswer& answer, bool head_only) {
    int status = answer.status;
    std::size_t bytes = answer.body.size();
    if (!answer.file.empty()) {
        file_ = Descriptor(::open(answer.file.c_str(), O_RDONLY | O_CLOEXEC));
        struct stat found {};
        const bool there = file_ && ::fstat(file_.get(), &found) == 0;
        status = there ? status : 404;
        bytes = there ? static_cast<std::size_t>(found.st_size) : 0;
        file_end_ = head_only ? 0 : static_cast<off_t>(bytes);
    }
    text_ = fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        status, phrase_of(status), answer.content_type, bytes);
    if (!head_only && answer.file.empty()) text_ += answer.body;
    state = State::taking;
    since_ns = now_ns();
}

bool HttpClient::send_text() {
    while (sent_ < text_.size()) {
        const ssize_t count =
            ::send(socket.get(), text_.data() + sent_, text_.size() - sent_, MSG_NOSIGNAL);
        if (count < 0) {
            if (!only_waits()) state = State::gone;
            return false;
        }
        sent_ += static_cast<std::size_t>(count);
        since_ns = now_ns();
    }
    return true;
}

// A piece at a time: others have their turn in between.
bool HttpClient::send_file() {
    constexpr std::size_t kPiece = 1 << 20;
    if (file_at_ >= file_end_) return true;
    const auto left = static_cast<std::size_t>(file_end_ - file_at_);
    const ssize_t count = ::sendfile(socket.get(), file_.get(), &file_at_, std::min(left, kPiece));
    if (count == 0 || (count < 0 && !only_waits())) state = State::gone;  // 0: it was cut short
    if (count > 0) since_ns = now_ns();
    return file_at_ >= file_end_ && count > 0;
}

void HttpClient::take() {
    if (!send_text() || !send_file()) return;
    // Closing while something unread has come would take the answer back on its way.
    ::shutdown(socket.get(), SHUT_WR);
    state = State::leaving;
    since_ns = now_ns();
}

void HttpClient::leave() {
    std::array<char, 4096> bytes{};
    ssize_t count = 0;
    for (int i = 0; i < 16; ++i)
        if ((count = ::recv(socket.get(), bytes.data(), bytes.size(), 0)) <= 0) break;
    if (count == 0 || (count < 0 && !only_waits())) state = State::gone;
}

}  // namespace gs::serve
