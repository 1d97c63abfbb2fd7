#include "profiler/store/symbol.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace gs {
namespace {

constexpr std::size_t kLongest = 4096;
/// A name may refer to parts of itself; each reference can make the result half as long again. A
/// name with more of them than this may be made to exhaust memory.
constexpr std::size_t kMaxReferences = 24;

/// "S_", "S1_", "T_", "TA_".
std::size_t references_in(std::string_view mangled) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < mangled.size(); ++i) {
        if (mangled[i] != 'S' && mangled[i] != 'T') continue;
        const std::size_t stop =
            mangled.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", i + 1);
        count += stop != mangled.npos && mangled[stop] == '_' ? 1 : 0;
    }
    return count;
}

/// "_ZN2at6native12some_kernelIfLi4E..." -> "at::native::some_kernel<...>"; empty when it does not
/// begin like that.
std::string qualified_name(std::string_view rest) {
    rest.remove_prefix(2);
    const bool nested = rest.starts_with('N');
    if (nested) rest.remove_prefix(1);
    std::string out;
    while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
        std::size_t length = 0;
        while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
            length = std::min(length * 10 + static_cast<std::size_t>(rest.front() - '0'), kLongest);
            rest.remove_prefix(1);
        }
        const std::string_view word = rest.substr(0, length);
        rest.remove_prefix(word.size());
        if (!out.empty()) out += "::";
        out += word.starts_with("_GLOBAL__N_") ? "(anonymous namespace)" : word;
        if (!nested) break;
    }
    if (!out.empty() && rest.starts_with('I')) out += "<...>";
    return out;
}

}  // namespace

std::string readable_symbol(const std::string& mangled) {
    if (!mangled.starts_with("_Z")) return mangled;
    int status = -1;
    const bool tame = references_in(mangled) <= kMaxReferences;
    const std::unique_ptr<char, decltype(&std::free)> whole(
        tame ? ::abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status) : nullptr,
        &std::free);
    if (status == 0 && whole != nullptr) return std::string(whole.get()).substr(0, kLongest);
    const std::string name = qualified_name(mangled);
    return name.empty() ? mangled : name;
}

}  // namespace gs
