// Layouts that a program registers with NVTX's payload extension: structs and enums by their number
// in a domain. Copied when they are registered, never freed, found without a lock. Used by
// payloads.cpp and hooks.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "profiler/inject/names.h"
#include "profiler/inject/nvtx_payload_abi.h"

namespace gs::inject {

inline constexpr std::uint32_t kMostEntries = 64;  ///< of a schema; more are left out

struct SchemaEntry {
    std::uint64_t flags = 0, type = 0, offset = 0;
    std::uint64_t detail = 0;  ///< of an enum's: its value
    const char* text = nullptr;
    std::atomic<StringId> id{0};  ///< 0: not used yet
    bool tells_bytes = false;     ///< "Message size [bytes]"

    StringId name() noexcept;
};
struct Schema {
    std::atomic<std::uint64_t> id{0};  ///< written last, 0: not used
    std::uint32_t domain = 0;
    std::uint32_t count = 0;
    bool is_enum = false, readable = false;  ///< a struct with a layout that we understand
    std::size_t size = 0;                    ///< bytes, 0: it follows from the entries
    std::size_t pack = 0;                    ///< alignment at most, 0: each entry's own
    SchemaEntry* entries = nullptr;
};

/// The schema's number, 0: it is none, or there are too many.
std::uint64_t add_schema(std::uint32_t domain, const nvtx::PayloadSchema* schema) noexcept;
std::uint64_t add_enum(std::uint32_t domain, const nvtx::PayloadEnum* enumeration) noexcept;
/// Null: unknown.
Schema* find_schema(std::uint32_t domain, std::uint64_t id) noexcept;

/// In the child of a fork, as forget_handles() and renew_handles().
void forget_schemas() noexcept;
void renew_schemas() noexcept;

}  // namespace gs::inject
