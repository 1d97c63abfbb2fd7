#include "profiler/inject/extension.h"

#include <algorithm>
#include <atomic>

#include "profiler/inject/handles.h"
#include "profiler/inject/payloads.h"
#include "profiler/inject/schemas.h"

namespace gs::inject {
namespace {

using namespace nvtx;

std::span<const PayloadData> given(const PayloadData* data, std::size_t count) {
    constexpr std::size_t kMost = 16;
    if (data == nullptr) return {};
    return {data, std::min(count, kMost)};
}

/// What payloads alone say of an event. Their values are in `values`.
Event event_of(std::uint32_t domain, std::span<const PayloadData> payloads, PayloadValues& values) {
    read_payloads(domain, payloads, values);
    Event event{.name = values.message};
    if (event.name == 0) event.name = name_id("payload", domains[domain].name, 0);
    if (values.main != nullptr) {
        event.payload = values.main->value;
        event.flags = abi::kHasPayload | values.main->flags;
    }
    return event;
}

bool is_wanted(std::uint32_t domain) { return in_period() && !domains[domain].skipped; }

std::uint64_t register_schema(Domain domain, const PayloadSchema* schema) {
    return add_schema(index_of_domain(domain), schema);
}
std::uint64_t register_enum(Domain domain, const PayloadEnum* enumeration) {
    return add_enum(index_of_domain(domain), enumeration);
}

void mark_payload(Domain handle, const PayloadData* data, std::size_t count) {
    const std::uint32_t domain = index_of_domain(handle);
    if (!is_wanted(domain)) return;
    PayloadValues values;
    const Event event = event_of(domain, given(data, count), values);
    mark(event, {values.values, values.count});
}

int push_payload(Domain handle, const PayloadData* data, std::size_t count) {
    const std::uint32_t domain = index_of_domain(handle);
    if (!is_wanted(domain)) return kNotTracked;
    PayloadValues values;
    const int level = push(domain, event_of(domain, given(data, count), values));
    if (level >= 0) tell_values({values.values, values.count}, nullptr);
    return level;
}

int pop_payload(Domain handle, const PayloadData* data, std::size_t count) {
    const std::uint32_t domain = index_of_domain(handle);
    if (!is_wanted(domain)) return kNotTracked;
    PayloadValues values;
    read_payloads(domain, given(data, count), values);
    tell_values({values.values, values.count}, values.main);
    return pop(domain);
}

RangeId start_payload(Domain handle, const PayloadData* data, std::size_t count) {
    const std::uint32_t domain = index_of_domain(handle);
    if (!is_wanted(domain)) return 0;
    PayloadValues values;
    return start(event_of(domain, given(data, count), values), 0);
}

void end_payload(Domain, RangeId id, const PayloadData*, std::size_t) { end(id); }

}  // namespace

bool take_extension(ExtensionModule& module) noexcept {
    if (module.module != kPayloadModule || module.segment_count == 0 || module.segments == nullptr)
        return false;
    const ExtensionSegment& segment = module.segments[0];
    const auto set = [&](PayloadFunction number, auto* function) {
        if (segment.slots != nullptr && number < segment.slot_count)
            std::atomic_ref(segment.slots[number])
                .store(reinterpret_cast<std::intptr_t>(function), std::memory_order_release);
    };
    set(kPayloadSchemaRegister, register_schema);
    set(kPayloadEnumRegister, register_enum);
    set(kMarkPayload, mark_payload);
    set(kRangePushPayload, push_payload);
    set(kRangePopPayload, pop_payload);
    set(kRangeStartPayload, start_payload);
    set(kRangeEndPayload, end_payload);
    return segment.slots != nullptr;
}

}  // namespace gs::inject
