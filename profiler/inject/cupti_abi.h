// CUPTI's C interface as far as we call it, declared by us, so that the library builds without the
// CUDA toolkit and runs with whatever CUPTI the watched process brought along. Numbers and
// signatures are those of CUPTI's public headers; tests/unit/cupti_headers_test.cpp compares every
// one of them with the real headers where they are installed. Used by profiler/inject/cupti*.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs::inject::cupti {

using Result = int;  ///< CUptiResult
inline constexpr Result kSuccess = 0, kMaxLimitReached = 12, kNotInitialized = 15,
                        kMultipleSubscribers = 39;

enum Kind : std::uint32_t {  ///< CUpti_ActivityKind
    kMemcpy = 1,
    kMemset = 2,
    kKernel = 3,
    kDriver = 4,
    kRuntime = 5,
    kConcurrentKernel = 10,
    kOverhead = 17,
    kMemcpyPeer = 22,
    kSynchronization = 38,
    kMemory = 49,
    kGraphTrace = 51,
};

/// Domains and sites of API callbacks.
inline constexpr int kDriverDomain = 1, kRuntimeDomain = 2;
inline constexpr std::int32_t kApiExit = 1;
/// CUpti_CallbackData begins with its CUpti_ApiCallbackSite.
struct CallbackHead {
    std::int32_t site;
};

inline constexpr std::uint32_t kFlushForced = 1;
/// CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, a std::uint8_t.
inline constexpr std::uint32_t kHostPinned = 8;
/// CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, a std::uint8_t: buffers are zero when CUPTI gets
/// them, and it need not clear them on a thread of the program.
inline constexpr std::uint32_t kZeroedBuffers = 5;
/// CUDA 12.6: since then CUPTI can be acquired again after it was finalised, graphs or not.
inline constexpr std::uint32_t kSafeFinalize = 24;
inline constexpr int kThreadIdSystem = 1;
inline constexpr std::uint32_t kNoStream = 0xFFFFFFFFu;  ///< CUPTI_SYNCHRONIZATION_INVALID_VALUE
inline constexpr std::uint32_t kObjectThread = 2;        ///< CUPTI_ACTIVITY_OBJECT_THREAD
inline constexpr std::uint32_t kMemoryRelease =
    2;  ///< CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE

struct SubscriberParams {  ///< CUpti_SubscriberParams
    std::size_t struct_size;
    const char* name;
    char* old_name;
    std::size_t old_name_size;
};

using Subscriber = void*;
using Callback = void (*)(void*, int domain, std::uint32_t cbid, const void* data);
using BufferRequested = void (*)(std::uint8_t**, std::size_t* size, std::size_t* max_records);
using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t*,
                                 std::size_t size, std::size_t valid);

/// The functions, in the order they are looked up; the optional ones may be null.
struct Functions {
    Result (*GetVersion)(std::uint32_t*);
    Result (*GetTimestamp)(std::uint64_t*);
    Result (*GetResultString)(Result, const char**);
    Result (*Subscribe)(Subscriber*, Callback, void*);
    Result (*Unsubscribe)(Subscriber);
    Result (*EnableDomain)(std::uint32_t on, Subscriber, int domain);
    Result (*ActivityRegisterCallbacks)(BufferRequested, BufferCompleted);
    Result (*ActivityEnable)(std::uint32_t kind);
    Result (*ActivityDisable)(std::uint32_t kind);
    Result (*ActivityFlushAll)(std::uint32_t flag);
    Result (*ActivityGetNextRecord)(std::uint8_t* buffer, std::size_t valid, void** record);
    Result (*ActivityGetNumDroppedRecords)(void* context, std::uint32_t stream,
                                           std::size_t* dropped);
    // optional
    Result (*Subscribe_v2)(Subscriber*, Callback, void*, SubscriberParams*);
    Result (*GetCallbackName)(int domain, std::uint32_t cbid, const char**);
    Result (*SetThreadIdType)(int type);
    Result (*ActivityEnableRuntimeApi)(std::uint32_t cbid, std::uint8_t on);
    Result (*ActivityEnableDriverApi)(std::uint32_t cbid, std::uint8_t on);
    Result (*ActivityEnableAllSyncRecords)(std::uint8_t on);
    Result (*ActivitySetAttribute)(std::uint32_t attribute, std::size_t* size, void* value);
    Result (*Finalize)();
};

// ---- records ----
// Offsets of the fields we read in the records of one generation of CUPTI. Records only ever grow
// at their end, but not every generation has every field, and a record is read no further than its
// own generation's size.

struct KernelLayout {  ///< CUpti_ActivityKernel8 and later
    std::uint16_t bytes, registers, start, end, device, context, stream, grid, block, static_shared,
        dynamic_shared, local_per_thread, correlation, name, graph;
};
struct CopyLayout {  ///< CUpti_ActivityMemcpy5 and later, CUpti_ActivityMemcpyPtoP4; target 0: as
                     ///< the source, a fill
    std::uint16_t bytes, source, target, flags, size, start, end, device, context, stream,
        correlation, graph;
};
struct FillLayout {  ///< CUpti_ActivityMemset4
    std::uint16_t bytes, size, start, end, device, context, stream, correlation, flags, memory,
        graph;
};
struct ApiLayout {  ///< CUpti_ActivityAPI
    std::uint16_t bytes, cbid, start, end, thread, correlation, result;
};
struct SyncLayout {  ///< CUpti_ActivitySynchronization and 2
    std::uint16_t bytes, type, start, end, correlation, context, stream, event;
};
struct OverheadLayout {  ///< CUpti_ActivityOverhead to 3; correlation 0: unknown
    std::uint16_t bytes, type, object_kind, thread, start, end, correlation;
};
struct MemoryLayout {  ///< CUpti_ActivityMemory3 and 4
    std::uint16_t bytes, operation, memory, correlation, address, size, time, device, context,
        stream;
};
struct GraphLayout {  ///< CUpti_ActivityGraphTrace and 2
    std::uint16_t bytes, correlation, start, end, device, graph, context, stream;
};

struct Layouts {
    std::uint32_t since;  ///< CUPTI API version
    const char* toolkit;  ///< "CUDA 12.2"
    KernelLayout kernel;
    CopyLayout copy, peer;
    FillLayout fill;
    ApiLayout api;
    SyncLayout sync;
    OverheadLayout overhead;
    MemoryLayout memory;
    GraphLayout graph;
};

inline constexpr KernelLayout kKernel8{200, 6,  16, 24, 40, 44,  48, 52,
                                       64,  76, 80, 84, 92, 104, 156};
inline constexpr KernelLayout kKernel9{208, 6,  16, 24, 40, 44,  48, 52,
                                       64,  76, 80, 84, 92, 104, 156};
inline constexpr KernelLayout kKernel10{216, 6,  16, 24, 40, 44,  48, 52,
                                        64,  76, 80, 84, 92, 104, 156};
inline constexpr CopyLayout kCopy5{88, 5, 6, 7, 8, 16, 24, 32, 36, 40, 44, 72};
inline constexpr CopyLayout kCopy6{96, 5, 6, 7, 8, 16, 24, 32, 36, 40, 44, 72};
inline constexpr CopyLayout kPeer4{96, 5, 6, 7, 8, 16, 24, 32, 36, 40, 60, 80};
inline constexpr FillLayout kFill4{88, 8, 16, 24, 32, 36, 40, 44, 48, 50, 72};
inline constexpr ApiLayout kApi{40, 4, 8, 16, 28, 32, 36};
inline constexpr SyncLayout kSync1{40, 4, 8, 16, 24, 28, 32, 36};
inline constexpr SyncLayout kSync2{56, 4, 8, 16, 24, 28, 32, 36};
inline constexpr OverheadLayout kOverhead1{40, 4, 8, 16, 24, 32, 0};
inline constexpr OverheadLayout kOverhead2{48, 4, 8, 16, 24, 32, 40};
inline constexpr OverheadLayout kOverhead3{56, 4, 8, 16, 24, 32, 40};
inline constexpr MemoryLayout kMemory3{120, 4, 8, 12, 16, 24, 32, 52, 56, 60};
inline constexpr MemoryLayout kMemory4{128, 4, 8, 12, 16, 24, 32, 52, 56, 60};
inline constexpr GraphLayout kGraph1{48, 4, 8, 16, 24, 28, 32, 36};
inline constexpr GraphLayout kGraph2{56, 4, 8, 16, 24, 28, 32, 36};

/// Oldest first; a CUPTI newer than the last is read as the last. If the toolkit that brought a
/// longer record is not certain, the shorter one stands: it is the beginning of the longer.
inline constexpr Layouts kLayouts[] = {
    {18, "CUDA 11.8", kKernel8, kCopy5, kPeer4, kFill4, kApi, kSync1, kOverhead1, kMemory3,
     kGraph1},
    {19, "CUDA 12.0", kKernel9, kCopy5, kPeer4, kFill4, kApi, kSync1, kOverhead1, kMemory3,
     kGraph1},
    {20, "CUDA 12.2", kKernel9, kCopy5, kPeer4, kFill4, kApi, kSync1, kOverhead2, kMemory3,
     kGraph1},
    {26, "CUDA 12.8", kKernel9, kCopy6, kPeer4, kFill4, kApi, kSync2, kOverhead2, kMemory3,
     kGraph1},
    {130000, "CUDA 13.0", kKernel10, kCopy6, kPeer4, kFill4, kApi, kSync2, kOverhead3, kMemory4,
     kGraph2},
};

/// The generation of an API version; null: older than any we know.
constexpr const Layouts* layouts_of(std::uint32_t version) noexcept {
    const Layouts* found = nullptr;
    for (const Layouts& l : kLayouts)
        if (version >= l.since) found = &l;
    return found;
}

}  // namespace gs::inject::cupti
