#include "profiler/inject/hooks.h"

#include <bit>

#include "profiler/inject/chain.h"
#include "profiler/inject/handles.h"
#include "profiler/inject/payloads.h"
#include "profiler/inject/ranges.h"

namespace gs::inject {
namespace {

using namespace nvtx;

// ---- what a call brings along ----

StringId message_of(const EventAttributes& e, std::uint32_t domain, std::uint32_t color) {
    switch (e.message_type) {
        case kMessageRegistered: {
            StringSlot* slot = string_slot(e.message.registered);
            return slot != nullptr ? name_of(*slot, color) : 0;
        }
        case kMessageAscii:
            return name_id(text_of(e.message.ascii), domains[domain].name, color);
        case kMessageUnicode:
            return name_id(Narrow(e.message.unicode).text(), domains[domain].name, color);
        default:
            return 0;
    }
}

/// The payload's bits as a record holds them; its kind goes into `flags`.
std::uint64_t payload_of(const EventAttributes& e, std::uint16_t& flags) {
    flags = abi::kHasPayload;
    switch (e.payload_type) {
        case kPayloadUint64:
            return e.payload.u64;
        case kPayloadUint32:
            return e.payload.u32;
        case kPayloadInt64:
            flags |= abi::kPayloadIsSigned;
            return e.payload.u64;
        case kPayloadInt32:
            flags |= abi::kPayloadIsSigned;
            return static_cast<std::uint64_t>(std::int64_t{e.payload.i32});
        case kPayloadDouble:
            flags |= abi::kPayloadIsDouble;
            return e.payload.u64;
        case kPayloadFloat:
            flags |= abi::kPayloadIsDouble;
            return std::bit_cast<std::uint64_t>(double{e.payload.f32});
        default:  // none, or of an extension
            flags = 0;
            return 0;
    }
}

Event event_of(const EventAttributes* e, std::uint32_t domain) {
    Event event;
    // A shorter one is of an NVTX older than all this.
    if (e == nullptr || e->size < sizeof(EventAttributes)) return event;
    const std::uint32_t color = e->color_type == kColorArgb ? (e->color & 0xFFFFFFu) | 1u << 24 : 0;
    event.name = message_of(*e, domain, color);
    event.payload = payload_of(*e, event.flags);
    if (e->category <= 255)
        event.flags |= static_cast<std::uint16_t>(e->category << abi::kCategoryShift);
    return event;
}
Event event_of(const char* text) { return {.name = name_id(text_of(text), 0, 0)}; }
Event event_of(const wchar_t* text) { return {.name = name_id(Narrow(text).text(), 0, 0)}; }

// ---- what a payload of the extension adds ----

/// Records the values of the range opened last.
[[gnu::noinline]] void tell_payloads(std::uint32_t domain, std::span<const PayloadData> payloads) {
    PayloadValues values;
    read_payloads(domain, payloads, values);
    tell_values({values.values, values.count}, values.main);
}
int push_event(std::uint32_t domain, const EventAttributes* e) {
    const int level = push(domain, event_of(e, domain));
    if (const auto payloads = payloads_of(e); !payloads.empty() && level >= 0) [[unlikely]]
        tell_payloads(domain, payloads);
    return level;
}
/// The same of a mark; of an event without a name it is what the payload says.
[[gnu::noinline]] void mark_payloads(std::uint32_t domain, Event event,
                                     std::span<const PayloadData> payloads) {
    PayloadValues values;
    read_payloads(domain, payloads, values);
    if (event.name == 0) event.name = values.message;
    if (values.main != nullptr) {
        event.payload = values.main->value;
        event.flags |= abi::kHasPayload | values.main->flags;
    }
    mark(event, {values.values, values.count});
}
void mark_event(std::uint32_t domain, const EventAttributes* e) {
    if (const auto payloads = payloads_of(e); payloads.empty()) [[likely]]
        mark(event_of(e, domain));
    else
        mark_payloads(domain, event_of(e, domain), payloads);
}

// ---- the other tool ----

/// Calls the other tool's function, if there is one; its answer, else `otherwise`.
template <class R, class... Args>
R other(Module module, std::uint32_t number, R otherwise, Args... args) {
    const Function f = chain::function(module, number);
    return f != nullptr ? reinterpret_cast<R (*)(Args...)>(f)(args...) : otherwise;
}
template <class... Args>
void other_void(Module module, std::uint32_t number, Args... args) {
    const Function f = chain::function(module, number);
    if (f != nullptr) reinterpret_cast<void (*)(Args...)>(f)(args...);
}

/// The attributes with the other tool's handle of a registered string.
struct Translated {
    explicit Translated(const EventAttributes* e) {
        if (e == nullptr || e->size < sizeof(EventAttributes) ||
            e->message_type != kMessageRegistered) {
            given = e;
            return;
        }
        copy = *e;
        const StringSlot* slot = string_slot(e->message.registered);
        copy.message.registered = slot != nullptr ? slot->chained : nullptr;
        given = &copy;
    }
    EventAttributes copy;
    const EventAttributes* given;
};

Domain chained_domain(Domain domain) { return domains[index_of_domain(domain)].chained; }

// ---- CORE: the default domain. kChained: also notifies the other tool. ----

template <bool kChained>
void mark_ex(const EventAttributes* e) {
    if (in_period()) mark_event(0, e);
    if constexpr (kChained) other_void(kCore, kMarkEx, Translated(e).given);
}
template <bool kChained, class Char, std::uint32_t kNumber>
void mark_text(const Char* text) {
    if (in_period()) mark(event_of(text));
    if constexpr (kChained) other_void(kCore, kNumber, text);
}

template <bool kChained>
int push_ex(const EventAttributes* e) {
    const int level = in_period() ? push_event(0, e) : kNotTracked;
    if constexpr (kChained) return other(kCore, kRangePushEx, level, Translated(e).given);
    return level;
}
template <bool kChained, class Char, std::uint32_t kNumber>
int push_text(const Char* text) {
    const int level = in_period() ? push(0, event_of(text)) : kNotTracked;
    if constexpr (kChained) return other(kCore, kNumber, level, text);
    return level;
}
template <bool kChained>
int pop_default() {
    const int level = pop(0);
    if constexpr (kChained) return other(kCore, kRangePop, level);
    return level;
}

template <bool kChained>
RangeId start_ex(const EventAttributes* e) {
    RangeId chained = 0;
    if constexpr (kChained) chained = other(kCore, kRangeStartEx, RangeId{0}, Translated(e).given);
    return start(in_period() ? event_of(e, 0) : Event{}, chained);
}
template <bool kChained, class Char, std::uint32_t kNumber>
RangeId start_text(const Char* text) {
    RangeId chained = 0;
    if constexpr (kChained) chained = other(kCore, kNumber, RangeId{0}, text);
    return start(in_period() ? event_of(text) : Event{}, chained);
}
template <bool kChained>
void end_default(RangeId id) {
    const RangeId chained = end(id);
    if constexpr (kChained) {
        if (chained != 0) other_void(kCore, kRangeEnd, chained);
    }
}

template <class Char>
struct Spelled {  ///< a name in either width as UTF-8
    explicit Spelled(const Char* given) : text(text_of(given)) {}
    std::string_view text;
};
template <>
struct Spelled<wchar_t> {
    explicit Spelled(const wchar_t* given) : narrow(given), text(narrow.text()) {}
    Narrow narrow;
    std::string_view text;
};

template <bool kChained, class Char, std::uint32_t kNumber>
void name_category_default(std::uint32_t category, const Char* name) {
    name_category(Spelled<Char>(name).text, 0, category);
    if constexpr (kChained) other_void(kCore, kNumber, category, name);
}
template <bool kChained, class Char, std::uint32_t kNumber>
void name_os_thread(std::uint32_t tid, const Char* name) {
    if (detail::ring_header() != nullptr) name_thread(tid, name_id(Spelled<Char>(name).text, 0, 0));
    if constexpr (kChained) other_void(kCore, kNumber, tid, name);
}

// ---- CORE2: domains ----

bool wanted(std::uint32_t domain) { return in_period() && !domains[domain].skipped; }

template <bool kChained>
void domain_mark(Domain handle, const EventAttributes* e) {
    const std::uint32_t domain = index_of_domain(handle);
    if (wanted(domain)) mark_event(domain, e);
    if constexpr (kChained)
        other_void(kCore2, kDomainMarkEx, chained_domain(handle), Translated(e).given);
}
template <bool kChained>
int domain_push(Domain handle, const EventAttributes* e) {
    const std::uint32_t domain = index_of_domain(handle);
    const int level = wanted(domain) ? push_event(domain, e) : kNotTracked;
    if constexpr (kChained)
        return other(kCore2, kDomainRangePushEx, level, chained_domain(handle),
                     Translated(e).given);
    return level;
}
template <bool kChained>
int domain_pop(Domain handle) {
    const std::uint32_t domain = index_of_domain(handle);
    const int level = wanted(domain) ? pop(domain) : kNotTracked;
    if constexpr (kChained) return other(kCore2, kDomainRangePop, level, chained_domain(handle));
    return level;
}
template <bool kChained>
RangeId domain_start(Domain handle, const EventAttributes* e) {
    const std::uint32_t domain = index_of_domain(handle);
    RangeId chained = 0;
    if constexpr (kChained)
        chained = other(kCore2, kDomainRangeStartEx, RangeId{0}, chained_domain(handle),
                        Translated(e).given);
    return wanted(domain) || chained != 0
               ? start(wanted(domain) ? event_of(e, domain) : Event{}, chained)
               : 0;
}
template <bool kChained>
void domain_end(Domain handle, RangeId id) {
    const RangeId chained = end(id);
    if constexpr (kChained) {
        if (chained != 0) other_void(kCore2, kDomainRangeEnd, chained_domain(handle), chained);
    }
}

template <bool kChained, class Char, std::uint32_t kNumber>
void domain_name_category(Domain handle, std::uint32_t category, const Char* name) {
    const DomainEntry& domain = domains[index_of_domain(handle)];
    if (!domain.skipped) name_category(Spelled<Char>(name).text, domain.name, category);
    if constexpr (kChained) other_void(kCore2, kNumber, domain.chained, category, name);
}
template <bool kChained, class Char, std::uint32_t kNumber>
String register_text(Domain handle, const Char* text) {
    const std::uint32_t domain = index_of_domain(handle);
    String chained = nullptr;
    if constexpr (kChained)
        chained = other(kCore2, kNumber, String{}, domains[domain].chained, text);
    return &string_entry(Spelled<Char>(text).text, domain, chained);
}
template <bool kChained, class Char, std::uint32_t kNumber>
Domain create_domain(const Char* name) {
    Domain chained = nullptr;
    if constexpr (kChained) chained = other(kCore2, kNumber, Domain{}, name);
    DomainEntry& domain = domain_entry(Spelled<Char>(name).text, chained);
    // Our own program then knows that nobody listens, and does not call at all.
    return domain.skipped && !kChained ? nullptr : &domain;
}

// ---- only for the other tool: here these mean nothing ----

void destroy_domain(Domain handle) { other_void(kCore2, kDomainDestroy, chained_domain(handle)); }
Resource create_resource(Domain handle, void* attributes) {
    return other(kCore2, kDomainResourceCreate, Resource{}, chained_domain(handle), attributes);
}
void destroy_resource(Resource resource) { other_void(kCore2, kDomainResourceDestroy, resource); }
void initialize(const void* reserved) { other_void(kCore2, kInitialize, reserved); }
void* create_sync(Domain handle, const void* attributes) {
    return other(kSync, kSyncUserCreate, static_cast<void*>(nullptr), chained_domain(handle),
                 attributes);
}

template <class F>
Function any(F* function) {
    return reinterpret_cast<Function>(function);
}
#define GS_BOTH(function) any(function<false>), any(function<true>)
#define GS_BOTH_OF(function, Char, number) \
    any(function<false, Char, number>), any(function<true, Char, number>)

}  // namespace

const Hook kHooks[kHookCount] = {
    {kCore, kMarkEx, true, GS_BOTH(mark_ex)},
    {kCore, kMarkA, true, GS_BOTH_OF(mark_text, char, kMarkA)},
    {kCore, kMarkW, true, GS_BOTH_OF(mark_text, wchar_t, kMarkW)},
    {kCore, kRangeStartEx, true, GS_BOTH(start_ex)},
    {kCore, kRangeStartA, true, GS_BOTH_OF(start_text, char, kRangeStartA)},
    {kCore, kRangeStartW, true, GS_BOTH_OF(start_text, wchar_t, kRangeStartW)},
    {kCore, kRangeEnd, true, GS_BOTH(end_default)},
    {kCore, kRangePushEx, true, GS_BOTH(push_ex)},
    {kCore, kRangePushA, true, GS_BOTH_OF(push_text, char, kRangePushA)},
    {kCore, kRangePushW, true, GS_BOTH_OF(push_text, wchar_t, kRangePushW)},
    {kCore, kRangePop, true, GS_BOTH(pop_default)},
    {kCore, kNameCategoryA, false, GS_BOTH_OF(name_category_default, char, kNameCategoryA)},
    {kCore, kNameCategoryW, false, GS_BOTH_OF(name_category_default, wchar_t, kNameCategoryW)},
    {kCore, kNameOsThreadA, false, GS_BOTH_OF(name_os_thread, char, kNameOsThreadA)},
    {kCore, kNameOsThreadW, false, GS_BOTH_OF(name_os_thread, wchar_t, kNameOsThreadW)},
    {kCore2, kDomainMarkEx, true, GS_BOTH(domain_mark)},
    {kCore2, kDomainRangeStartEx, true, GS_BOTH(domain_start)},
    {kCore2, kDomainRangeEnd, true, GS_BOTH(domain_end)},
    {kCore2, kDomainRangePushEx, true, GS_BOTH(domain_push)},
    {kCore2, kDomainRangePop, true, GS_BOTH(domain_pop)},
    {kCore2, kDomainNameCategoryA, false,
     GS_BOTH_OF(domain_name_category, char, kDomainNameCategoryA)},
    {kCore2, kDomainNameCategoryW, false,
     GS_BOTH_OF(domain_name_category, wchar_t, kDomainNameCategoryW)},
    {kCore2, kDomainRegisterStringA, false,
     GS_BOTH_OF(register_text, char, kDomainRegisterStringA)},
    {kCore2, kDomainRegisterStringW, false,
     GS_BOTH_OF(register_text, wchar_t, kDomainRegisterStringW)},
    {kCore2, kDomainCreateA, false, GS_BOTH_OF(create_domain, char, kDomainCreateA)},
    {kCore2, kDomainCreateW, false, GS_BOTH_OF(create_domain, wchar_t, kDomainCreateW)},
    {kCore2, kDomainDestroy, false, nullptr, any(destroy_domain)},
    {kCore2, kDomainResourceCreate, false, nullptr, any(create_resource)},
    {kCore2, kDomainResourceDestroy, false, nullptr, any(destroy_resource)},
    {kCore2, kInitialize, false, nullptr, any(initialize)},
    {kSync, kSyncUserCreate, false, nullptr, any(create_sync)},
};

}  // namespace gs::inject
