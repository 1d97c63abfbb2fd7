// The records of CUPTI's generations 12.x and 13.x as the mock library writes them, field by field
// and independent of the tables the recorder reads them by. tests/unit/cupti_headers_test.cpp
// compares the sizes with the real headers.
#pragma once

#include <cstdint>

namespace mock::records {

struct [[gnu::packed, gnu::aligned(8)]] Kernel9 {
    std::uint32_t kind;
    std::uint8_t cache_config, shared_memory_config;
    std::uint16_t registers;
    std::uint32_t cache_requested, cache_executed;
    std::uint64_t start, end, completed;
    std::uint32_t device, context, stream;
    std::int32_t grid[3], block[3];
    std::int32_t static_shared, dynamic_shared;
    std::uint32_t local_per_thread, local_total, correlation;
    std::int64_t grid_id;
    const char* name;
    void* reserved;
    std::uint64_t queued, submitted;
    std::uint8_t launch_type, carveout_requested, carveout, padding;
    std::uint32_t shared_executed;
    std::uint64_t graph_node;
    std::uint32_t shared_limit, graph;
    void* access_policy;
    std::uint32_t channel, channel_type, cluster[3], cluster_policy;
    std::uint64_t local_total_wide;
    std::uint32_t cluster_most, clusters_active;
};
struct [[gnu::packed, gnu::aligned(8)]] Kernel10 {
    Kernel9 base;
    std::uint8_t device_launched, padding[7];
};
struct [[gnu::packed, gnu::aligned(8)]] Memcpy5 {
    std::uint32_t kind;
    std::uint8_t copy_kind, source, target, flags;
    std::uint64_t bytes, start, end;
    std::uint32_t device, context, stream, correlation, runtime_correlation, padding;
    void* reserved;
    std::uint64_t graph_node;
    std::uint32_t graph, channel, channel_type, padding2;
};
struct [[gnu::packed, gnu::aligned(8)]] Memcpy6 {
    Memcpy5 base;
    std::uint64_t copies;
};
struct [[gnu::packed, gnu::aligned(8)]] MemcpyPeer4 {
    std::uint32_t kind;
    std::uint8_t copy_kind, source, target, flags;
    std::uint64_t bytes, start, end;
    std::uint32_t device, context, stream, source_device, source_context, target_device,
        target_context, correlation;
    void* reserved;
    std::uint64_t graph_node;
    std::uint32_t graph, channel, channel_type, padding;
};
struct [[gnu::packed, gnu::aligned(8)]] Memset4 {
    std::uint32_t kind, value;
    std::uint64_t bytes, start, end;
    std::uint32_t device, context, stream, correlation;
    std::uint16_t flags, memory;
    std::uint32_t padding;
    void* reserved;
    std::uint64_t graph_node;
    std::uint32_t graph, channel, channel_type, padding2;
};
struct [[gnu::packed, gnu::aligned(8)]] Api {
    std::uint32_t kind, cbid;
    std::uint64_t start, end;
    std::uint32_t process, thread, correlation, result;
};
struct [[gnu::packed, gnu::aligned(8)]] Synchronization1 {
    std::uint32_t kind, type;
    std::uint64_t start, end;
    std::uint32_t correlation, context, stream, event;
};
struct [[gnu::packed, gnu::aligned(8)]] Synchronization2 {
    Synchronization1 base;
    std::uint64_t event_sync;
    std::uint32_t result, padding;
};
struct [[gnu::packed, gnu::aligned(8)]] Overhead2 {
    std::uint32_t kind, type, object_kind, process, thread, stream;
    std::uint64_t start, end;
    std::uint32_t correlation, reserved;
};
struct [[gnu::packed, gnu::aligned(8)]] Overhead3 {
    Overhead2 base;
    void* data;
};
struct [[gnu::packed, gnu::aligned(8)]] Memory3 {
    std::uint32_t kind, operation, memory, correlation;
    std::uint64_t address, bytes, timestamp, pc;
    std::uint32_t process, device, context, stream;
    const char* name;
    std::uint32_t asynchronous, padding, pool_type, padding2;
    std::uint64_t pool_address, pool_threshold, pool_size, pool_used;
};
struct [[gnu::packed, gnu::aligned(8)]] Memory4 {
    Memory3 base;
    const char* source;
};
struct [[gnu::packed, gnu::aligned(8)]] GraphTrace1 {
    std::uint32_t kind, correlation;
    std::uint64_t start, end;
    std::uint32_t device, graph, context, stream;
    void* reserved;
};
struct [[gnu::packed, gnu::aligned(8)]] GraphTrace2 {
    GraphTrace1 base;
    std::uint32_t end_device, end_context;
};

}  // namespace mock::records
