// What is in a payload of NVTX's payload extension: values by name, read by the schema the program
// gave (schemas.h). Nothing outside of the bytes that the program gave is read: pointers in them
// are not followed, lengths and offsets are held against their size. Used by hooks.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "profiler/inject/nvtx_abi.h"
#include "profiler/inject/nvtx_payload_abi.h"
#include "profiler/inject/ranges.h"

namespace gs::inject {

/// The payloads of an event; empty: it has none, or one of NVTX's own kinds.
inline std::span<const nvtx::PayloadData> payloads_of(const nvtx::EventAttributes* e) noexcept {
    constexpr std::int32_t kMost = 16;
    if (e == nullptr || e->payload_type != nvtx::kPayloadExtension ||
        e->size < sizeof(nvtx::EventAttributes) || e->payload.u64 == 0 || e->reserved0 <= 0)
        return {};
    return {reinterpret_cast<const nvtx::PayloadData*>(e->payload.u64),
            static_cast<std::size_t>(e->reserved0 < kMost ? e->reserved0 : kMost)};
}

/// Values, at most kMostValues, the rest is left out.
struct PayloadValues {
    static constexpr std::uint32_t kMostValues = 16;
    RangeValue values[kMostValues];
    std::uint32_t count = 0;
    StringId message = 0;  ///< the entry that names the event, 0: none does
    /// The one that is the event's payload: how many bytes it is about; else the only number.
    const RangeValue* main = nullptr;
};
/// Reads them. Allocates nothing but names that are new.
void read_payloads(std::uint32_t domain, std::span<const nvtx::PayloadData> payloads,
                   PayloadValues& out) noexcept;

}  // namespace gs::inject
