#include <algorithm>
#include <cctype>
#include <charconv>

#include "profiler/serve/http.h"

namespace gs::serve {
namespace {

std::string decoded(std::string_view text, bool plus_is_space) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned char byte = 0;
        const char* const digits = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
            out += static_cast<char>(byte);
            i += 2;
        } else {
            out += plus_is_space && text[i] == '+' ? ' ' : text[i];
        }
    }
    return out;
}

/// What stands before `end`; `text` goes on behind it. All of it when there is none.
std::string_view take_until(std::string_view& text, std::string_view end) {
    const std::size_t at = text.find(end);
    const std::string_view taken = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
    return taken;
}

bool same_letters(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        return std::tolower(static_cast<unsigned char>(x)) ==
               std::tolower(static_cast<unsigned char>(y));
    });
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

}  // namespace

std::string HttpRequest::parameter(std::string_view name) const {
    std::string_view rest = query;
    while (!rest.empty()) {
        std::string_view value = take_until(rest, "&");
        if (decoded(take_until(value, "="), true) == name) return decoded(value, true);
    }
    return {};
}

std::optional<HttpRequest> parse_request(std::string_view head) {
    std::string_view line = take_until(head, "\r\n");
    HttpRequest request;
    request.method = take_until(line, " ");
    std::string_view target = take_until(line, " ");
    const bool letters = std::all_of(request.method.begin(), request.method.end(),
                                     [](char c) { return c >= 'A' && c <= 'Z'; });
    if (request.method.empty() || !letters || !target.starts_with('/') ||
        (line != "HTTP/1.1" && line != "HTTP/1.0"))
        return {};
    request.path = decoded(take_until(target, "?"), false);
    request.query = target;
    constexpr std::string_view kBearer = "Bearer ";
    while (!head.empty()) {
        std::string_view value = take_until(head, "\r\n");
        if (!same_letters(take_until(value, ":"), "Authorization")) continue;
        value = trimmed(value);
        if (value.starts_with(kBearer)) request.bearer_token = value.substr(kBearer.size());
    }
    return request;
}

}  // namespace gs::serve
