#include "profiler/inject/cupti_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <initializer_list>
#include "base/record/strings.h"

namespace gs::inject::cupti {
namespace {

constexpr std::size_t kLongestSymbol = 16384;
/// Longer ones stay mangled, for their readable form can be many times as long; readers make the
/// best of what is kept.
constexpr std::size_t kLongestDemangled = 4096;

/// Of the parenthesis that closes at `close`; npos when there is none.
std::size_t opening_of(std::string_view text, std::size_t close) noexcept {
    int depth = 0;
    for (std::size_t i = close + 1; i-- > 0;) {
        if (text[i] == ')') ++depth;
        if (text[i] == '(' && --depth == 0) return i;
    }
    return std::string_view::npos;
}

/// "void f<int>(float*) [clone .x]" -> "void f<int>".
std::string_view without_parameters(std::string_view name) noexcept {
    const std::size_t close = name.rfind(')');
    if (close == std::string_view::npos) return name;
    const std::size_t open = opening_of(name, close);
    const bool unnamed_space = name.substr(close).starts_with(")::");
    return open == std::string_view::npos || open == 0 || unnamed_space ? name
                                                                        : name.substr(0, open);
}

/// "void a::f<int>" -> "a::f<int>": a template's symbol includes its return type. Only a blank
/// outside all brackets ends one.
std::string_view without_return_type(std::string_view name) noexcept {
    int depth = 0;
    std::size_t start = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        const bool operator_sign = i >= 8 && name.substr(0, i).ends_with("operator");
        if (operator_sign) break;
        if (c == '<' || c == '(' || c == '{') ++depth;
        if (c == '>' || c == ')' || c == '}') --depth;
        if (c == ' ' && depth == 0) start = i + 1;
    }
    return name.substr(start);
}

/// Copies `name`, replacing template arguments nested deeper than `levels` by "..". Returns the
/// length it takes, of which `room` - 1 bytes are written.
std::size_t copy_with_levels(std::string_view name, int levels, char* out,
                             std::size_t room) noexcept {
    std::size_t length = 0;
    const auto put = [&](char c) {
        if (length + 1 < room) out[length] = c;
        ++length;
    };
    int depth = 0;
    for (const char c : name) {
        if (c == '>') --depth;
        if (depth <= levels) put(c);
        if (c == '<' && ++depth == levels + 1) {
            put('.');
            put('.');
        }
    }
    out[std::min(length, room - 1)] = '\0';
    return length;
}

void shorten(std::string_view name, char* out, std::size_t room) noexcept {
    for (int levels = 8; levels >= 0; --levels)
        if (copy_with_levels(name, levels, out, room) < room) return;
}

bool starts_with_any(std::string_view text,
                     std::initializer_list<std::string_view> prefixes) noexcept {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view p) { return text.starts_with(p); });
}

void drop_prefix(std::string_view& text, std::string_view prefix) noexcept {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
}
void drop_suffix(std::string_view& text, std::string_view suffix) noexcept {
    if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
}

/// Of the runtime's names only: "_v7000" says since when a call has had its signature.
void drop_version(std::string_view& text) noexcept {
    const std::size_t at = text.rfind("_v");
    if (at != std::string_view::npos && text.size() - at > 4) text.remove_suffix(text.size() - at);
}

}  // namespace

void readable_kernel_name(const char* symbol, char* out, std::size_t room) noexcept {
    int status = -1;
    char* demangled = ::strnlen(symbol, kLongestDemangled) < kLongestDemangled
                          ? ::abi::__cxa_demangle(symbol, nullptr, nullptr, &status)
                          : nullptr;
    const std::string_view whole =
        demangled != nullptr ? std::string_view(demangled)
                             : std::string_view(symbol, ::strnlen(symbol, kLongestSymbol));
    shorten(without_return_type(without_parameters(whole)), out, room);
    std::free(demangled);
}

StringId kernel_name(const char* symbol) noexcept {
    if (symbol == nullptr) return 0;
    const std::string_view whole(symbol, ::strnlen(symbol, kLongestSymbol));
    if (const StringId known = detail::string_table.find_alias(whole)) return known;
    char text[gs::abi::kMaxStringBytes + 1];
    readable_kernel_name(symbol, text, sizeof text);
    const StringId id = register_string({.text = text, .numbered = true});
    detail::string_table.add_alias(whole, id);
    return id;
}

std::string_view ApiCalls::recorded_name(std::string_view name) noexcept {
    drop_prefix(name, "__");
    if (name.starts_with("cuda")) drop_version(name);
    drop_suffix(name, "_ptsz");
    drop_suffix(name, "_ptds");
    std::string_view verb = name;
    drop_prefix(verb, verb.starts_with("cuda") ? "cuda" : verb.starts_with("cu64") ? "cu64" : "cu");
    if (verb.size() == name.size() || verb.starts_with("LaunchHostFunc")) return {};
    const bool recorded =
        verb.find("Synchronize") != std::string_view::npos ||
        starts_with_any(verb,
                        {"Launch", "GraphLaunch", "Memcpy", "Memset", "Malloc", "Free", "MemAlloc",
                         "MemFree", "MemHostAlloc", "MemCreate", "MemRelease", "MemMap", "MemUnmap",
                         "StreamWaitEvent", "ModuleLoad", "LibraryLoad"});
    return recorded ? name : std::string_view{};
}

void ApiCalls::find(const Functions& cupti) noexcept {
    if (cupti.GetCallbackName == nullptr) return;
    for (const int domain : {kRuntimeDomain, kDriverDomain})
        for (std::uint32_t cbid = 1; cbid < kNumbers; ++cbid) {
            const char* full = nullptr;
            if (cupti.GetCallbackName(domain, cbid, &full) != kSuccess || full == nullptr) continue;
            const std::string_view name = recorded_name(full);
            char text[96];
            if (name.empty() || name.size() >= sizeof text) continue;
            text[name.copy(text, name.size())] = '\0';
            ids_[domain == kDriverDomain][cbid] = register_string(text);
        }
}

}  // namespace gs::inject::cupti
