// What NVTX handles stand for: domains and registered strings. A handle is the address of an entry
// of a fixed table, so any other value a program passes is recognised and harmless. Entries are
// never freed: programs keep handles in statics and use them until the very end. Used by hooks.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "profiler/inject/names.h"
#include "profiler/inject/nvtx_abi.h"

namespace gs::inject {

struct DomainEntry {
    StringId name = 0;               ///< 0: the default domain
    bool skipped = false;            ///< gausscope's own: its process records itself
    nvtx::Domain chained = nullptr;  ///< what the chained tool calls it
    char text[64] = {};
};
inline constexpr std::uint32_t kDomains = 256;
extern constinit DomainEntry domains[kDomains];  ///< entry 0: the default domain

struct StringSlot {
    std::atomic<StringId> id{
        0};  ///< 0: not used yet; made by its first event, which brings the colour
    nvtx::String chained = nullptr;
    const char* text = nullptr;
    std::uint32_t bytes = 0;
    std::uint32_t domain = 0;  ///< index in domains
};
inline constexpr std::uint32_t kStrings = 16384;
extern constinit StringSlot strings[kStrings];  ///< entry 0 stands for all that found no place

/// Also for handles that are none: those are the default domain.
inline std::uint32_t index_of_domain(nvtx::Domain handle) noexcept {
    const std::uintptr_t offset =
        reinterpret_cast<std::uintptr_t>(handle) - reinterpret_cast<std::uintptr_t>(domains);
    return offset < sizeof domains ? static_cast<std::uint32_t>(offset / sizeof(DomainEntry)) : 0;
}
/// Null for a handle that is none.
inline StringSlot* string_slot(nvtx::String handle) noexcept {
    const std::uintptr_t offset =
        reinterpret_cast<std::uintptr_t>(handle) - reinterpret_cast<std::uintptr_t>(strings);
    return offset < sizeof strings ? &strings[offset / sizeof(StringSlot)] : nullptr;
}

/// The domain called `text`; one and the same for the same text and `chained`. When there are too
/// many, the last entry.
DomainEntry& domain_entry(std::string_view text, nvtx::Domain chained) noexcept;
/// A handle for `text`; one and the same for the same text, domain and `chained`.
StringSlot& string_entry(std::string_view text, std::uint32_t domain,
                         nvtx::String chained) noexcept;

/// The name an event with this registered string has.
StringId name_of(StringSlot& slot, std::uint32_t color) noexcept;

/// In the child of a fork: no other thread is left that could hold a lock.
void forget_handles() noexcept;
/// When the child has a ring of its own: handles stay, what they stand for has new names.
void renew_handles() noexcept;

}  // namespace gs::inject
