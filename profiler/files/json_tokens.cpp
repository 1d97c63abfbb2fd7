#include "profiler/files/json_tokens.h"

#include <algorithm>
#include <charconv>

namespace gs {
namespace {

bool is_json_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_of_number(char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

bool is_number(std::string_view text) {
    const bool negative = text.starts_with('-');
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    if (text.size() > (negative ? 1u : 0u) &&
        std::all_of(text.begin() + (negative ? 1 : 0), text.end(), digit))
        return true;
    double value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec != std::errc::invalid_argument && read.ptr == text.data() + text.size();
}

/// -1: those are no four hexadecimal digits.
int four_digits(std::string_view text) {
    int value = -1;
    if (text.size() < 4) return -1;
    const auto read = std::from_chars(text.data(), text.data() + 4, value, 16);
    return read.ec == std::errc() && read.ptr == text.data() + 4 ? value : -1;
}

void append_utf8(std::string& out, std::uint32_t c) {
    const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (c < 0x80) return put(c);
    if (c < 0x800) {
        put(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            put(0xE0 | c >> 12);
        } else {
            put(0xF0 | c >> 18);
            put(0x80 | (c >> 12 & 0x3F));
        }
        put(0x80 | (c >> 6 & 0x3F));
    }
    put(0x80 | (c & 0x3F));
}

/// A \u escape at `at`, which is moved past it; half of a pair alone is U+FFFD.
std::uint32_t unicode_escape(std::string_view raw, std::size_t& at) {
    constexpr std::uint32_t kUnknown = 0xFFFD;
    const int first = four_digits(raw.substr(at + 2));
    at += first < 0 ? 2 : 6;
    if (first < 0 || (first >= 0xDC00 && first < 0xE000)) return kUnknown;
    if (first < 0xD800 || first >= 0xDC00) return static_cast<std::uint32_t>(first);
    const bool pair = raw.substr(at).starts_with("\\u");
    const int second = pair ? four_digits(raw.substr(at + 2)) : -1;
    if (second < 0xDC00 || second >= 0xE000) return kUnknown;
    at += 6;
    return 0x10000 + ((static_cast<std::uint32_t>(first) - 0xD800) << 10) +
           (static_cast<std::uint32_t>(second) - 0xDC00);
}

}  // namespace

JsonTokens::Kind JsonTokens::fail(const char* what) {
    fault_ = what;
    return Kind::fault;
}

void JsonTokens::skip_blanks() {
    while (at_ < bytes_.size() && is_json_blank(bytes_[at_])) ++at_;
}

JsonTokens::Kind JsonTokens::next() {
    skip_blanks();
    if (at_ < bytes_.size() && bytes_[at_] == ',' && state_ == State::comma_or_end && depth_ > 0) {
        ++at_;
        state_ = is_object_[depth_] ? State::key_or_end : State::value_or_end;
        skip_blanks();
    }
    token_ = at_;
    if (at_ == bytes_.size()) return Kind::end;
    const char c = bytes_[at_];
    switch (c) {
        case '{':
        case '[':
            return open(c == '{');
        case '}':
        case ']':
            return close(c == '}');
        case '"':
            return take_text();
        default:
            return c == '-' || (c >= '0' && c <= '9') ? take_number() : take_word();
    }
}

JsonTokens::Kind JsonTokens::open(bool object) {
    if (state_ != State::value && state_ != State::value_or_end) return fail("this is not JSON");
    if (depth_ == kMaxDepth) return fail("it is nested too deep");
    ++at_;
    is_object_[++depth_] = object;
    state_ = object ? State::key_or_end : State::value_or_end;
    return object ? Kind::object : Kind::array;
}

JsonTokens::Kind JsonTokens::close(bool object) {
    const bool may_end = state_ == State::comma_or_end || state_ == State::key_or_end ||
                         state_ == State::value_or_end;
    if (!may_end || depth_ == 0 || is_object_[depth_] != object) return fail("this is not JSON");
    ++at_;
    --depth_;
    state_ = State::comma_or_end;
    return object ? Kind::object_end : Kind::array_end;
}

JsonTokens::Kind JsonTokens::take_value(Kind kind) {
    if (state_ != State::value && state_ != State::value_or_end) return fail("this is not JSON");
    state_ = State::comma_or_end;
    return kind;
}

JsonTokens::Kind JsonTokens::take_text() {
    std::size_t stop = at_ + 1;
    escaped_ = false;
    for (; stop < bytes_.size() && bytes_[stop] != '"'; ++stop) {
        if (bytes_[stop] == '\n') return fail("a string has no end");
        if (bytes_[stop] != '\\') continue;
        escaped_ = true;
        ++stop;
    }
    if (stop >= bytes_.size()) return fail("a string has no end");
    raw_ = bytes_.substr(at_ + 1, stop - at_ - 1);
    at_ = stop + 1;
    if (state_ != State::key && state_ != State::key_or_end) return take_value(Kind::text);
    skip_blanks();
    if (at_ == bytes_.size() || bytes_[at_] != ':') return fail("a name has no value");
    ++at_;
    state_ = State::value;
    return Kind::key;
}

JsonTokens::Kind JsonTokens::take_number() {
    std::size_t stop = at_;
    while (stop < bytes_.size() && is_of_number(bytes_[stop])) ++stop;
    raw_ = bytes_.substr(at_, stop - at_);
    if (raw_ == "-" && stop < bytes_.size() && is_letter(bytes_[stop])) return take_word();
    if (!is_number(raw_)) return fail("this is not a number");
    at_ = stop;
    return take_value(Kind::number);
}

JsonTokens::Kind JsonTokens::take_word() {
    std::size_t stop = at_ + (bytes_[at_] == '-' ? 1 : 0);
    while (stop < bytes_.size() && is_letter(bytes_[stop])) ++stop;
    raw_ = bytes_.substr(at_, stop - at_);
    std::string_view word = raw_;
    if (word.starts_with('-')) word.remove_prefix(1);
    const bool number =
        word == "NaN" || word == "nan" || word == "Infinity" || word == "inf" || word == "Inf";
    if (!number && raw_ != "true" && raw_ != "false" && raw_ != "null")
        return fail("this is not JSON");
    at_ = stop;
    return take_value(number ? Kind::number : Kind::word);
}

std::string JsonTokens::text() const {
    if (!escaped_) return std::string(raw_);
    std::string out;
    for (std::size_t i = 0; i < raw_.size();) {
        if (raw_[i] != '\\' || i + 1 == raw_.size()) {
            out += raw_[i++];
            continue;
        }
        constexpr std::string_view kFrom = "nrtbf", kTo = "\n\r\t\b\f";
        const char c = raw_[i + 1];
        if (c == 'u') {
            append_utf8(out, unicode_escape(raw_, i));
            continue;
        }
        const std::size_t known = kFrom.find(c);
        out += known == kFrom.npos ? c : kTo[known];
        i += 2;
    }
    return out;
}

bool JsonTokens::resume(std::size_t depth) {
    // An object in a list comes after a comma, or on a line of its own, and its first name follows.
    for (at_ = token_ + 1; (at_ = bytes_.find('{', at_)) != bytes_.npos; ++at_) {
        const std::string_view before = bytes_.substr(0, at_);
        const std::size_t last = before.find_last_not_of(" \t");
        const std::size_t first = bytes_.find_first_not_of(" \t\r\n", at_ + 1);
        if (last == before.npos || (before[last] != ',' && before[last] != '\n') ||
            first == bytes_.npos || bytes_[first] != '"')
            continue;
        depth_ = depth;
        is_object_[depth] = false;
        state_ = State::value;
        return true;
    }
    stop();
    return false;
}

}  // namespace gs
