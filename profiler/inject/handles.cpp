#include "profiler/inject/handles.h"

#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "base/record/mutex.h"
#include "base/record/service_status.h"

namespace gs::inject {

constinit DomainEntry domains[kDomains] = {};
constinit StringSlot strings[kStrings] = {};

namespace {

constexpr char kOwnDomain[] = "gausscope";

constinit std::uint32_t domain_count = 1, string_count = 1;
constinit pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;

bool is_called(const DomainEntry& domain, const char* text) {
    return std::strcmp(domain.text, text) == 0;
}

bool holds(const StringSlot& slot, std::string_view text, std::uint32_t domain,
           nvtx::String chained) {
    return slot.domain == domain && slot.chained == chained &&
           std::string_view(slot.text, slot.bytes) == text;
}

}  // namespace

DomainEntry& domain_entry(std::string_view text, nvtx::Domain chained) noexcept {
    char name[sizeof DomainEntry::text] = {};
    text.copy(name, sizeof name - 1);
    const detail::Locked held(handles_lock);
    for (std::uint32_t i = 1; i < domain_count; ++i)
        if (is_called(domains[i], name) && domains[i].chained == chained) return domains[i];
    if (domain_count == kDomains) return domains[kDomains - 1];
    DomainEntry& domain = domains[domain_count];
    if (domain_count == kDomains - 1) std::strcpy(name, "more domains");
    std::memcpy(domain.text, name, sizeof name);
    domain.name = detail::ring_header() != nullptr ? register_string(name) : 0;
    domain.skipped = is_called(domain, kOwnDomain);
    domain.chained = chained;
    ++domain_count;
    return domain;
}

StringSlot& string_entry(std::string_view text, std::uint32_t domain,
                         nvtx::String chained) noexcept {
    const detail::Locked held(handles_lock);
    // Programs register a name once and keep the handle; the search is for those that do not.
    for (std::uint32_t i = 1; i < string_count; ++i)
        if (holds(strings[i], text, domain, chained)) return strings[i];
    char* copy =
        string_count < kStrings ? static_cast<char*>(std::malloc(text.size() + 1)) : nullptr;
    if (copy == nullptr) {
        detail::count(&abi::RingHeader::dropped_strings);
        return strings[0];
    }
    text.copy(copy, text.size());
    StringSlot& slot = strings[string_count++];
    slot.text = copy;
    slot.bytes = static_cast<std::uint32_t>(text.size());
    slot.domain = domain;
    slot.chained = chained;
    return slot;
}

StringId name_of(StringSlot& slot, std::uint32_t color) noexcept {
    StringId id = slot.id.load(std::memory_order_relaxed);
    if (id != 0 || slot.bytes == 0) return id;
    id = name_id({slot.text, slot.bytes}, domains[slot.domain].name, color);
    slot.id.store(id, std::memory_order_relaxed);
    return id;
}

void forget_handles() noexcept { ::pthread_mutex_init(&handles_lock, nullptr); }

void renew_handles() noexcept {
    const detail::Locked held(handles_lock);
    for (std::uint32_t i = 0; i < string_count; ++i)
        strings[i].id.store(0, std::memory_order_relaxed);
    for (std::uint32_t i = 1; i < domain_count; ++i)
        domains[i].name = register_string(domains[i].text);
}

}  // namespace gs::inject
