#include "profiler/inject/names.h"

#include <cstring>

#include "base/record/service_status.h"
#include "base/record/strings.h"

namespace gs::inject {
namespace {

[[gnu::noinline]] StringId add(const StringKey& key) {
    if (detail::ring_header() == nullptr) return 0;
    const std::uint64_t start = read_ticks();
    const StringId id = register_string(key);
    add_service_ticks(read_ticks() - start);
    return id;
}

}  // namespace

std::string_view text_of(const char* text) noexcept {
    if (text == nullptr) return {};
    return {text, ::strnlen(text, abi::kMaxStringBytes + 1)};
}

Narrow::Narrow(const wchar_t* text) noexcept {
    for (; text != nullptr && *text != L'\0'; ++text) {
        auto c = static_cast<std::uint32_t>(*text);
        if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = 0xFFFD;
        const std::size_t needed = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        if (bytes_ + needed > abi::kMaxStringBytes) return;
        static constexpr unsigned char kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
        for (std::size_t i = needed; i-- > 1; c >>= 6)
            text_[bytes_ + i] = static_cast<char>(0x80 | (c & 0x3F));
        text_[bytes_] = static_cast<char>(kLead[needed] | c);
        bytes_ += needed;
    }
}

StringId name_id(std::string_view text, StringId domain, std::uint32_t color) noexcept {
    if (text.empty()) return 0;
    const StringKey key{.text = text, .domain = domain, .color = color, .numbered = true};
    if (text.size() <= abi::kMaxStringBytes)
        if (const StringId known = detail::string_table.find(key)) return known;
    return add(key);
}

void name_category(std::string_view text, StringId domain, std::uint32_t number) noexcept {
    if (text.empty() || number == 0 || detail::ring_header() == nullptr) return;
    register_category(text, domain, number);
}

}  // namespace gs::inject
