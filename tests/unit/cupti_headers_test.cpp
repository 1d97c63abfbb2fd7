// What we declare of CUPTI ourselves against the real headers, where they are installed.
#include <gtest/gtest.h>

#include <cstddef>

#include "profiler/inject/cupti_abi.h"
#include "tests/support/mock_cuda/mock_cupti_records.h"

#if __has_include(<cupti.h>) && __has_include(<cuda.h>)
#include <cupti.h>
#if CUPTI_API_VERSION >= 130000
#include <cupti_activity_deprecated.h>
#define GS_CUPTI_HEADERS 1
#endif
#endif

namespace gs::inject::cupti {
namespace {

#ifdef GS_CUPTI_HEADERS

#define SAME(ours, theirs) static_assert(static_cast<long>(ours) == static_cast<long>(theirs))

SAME(kMultipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(kMaxLimitReached, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME(kNotInitialized, CUPTI_ERROR_NOT_INITIALIZED);
SAME(kMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(kMemset, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(kKernel, CUPTI_ACTIVITY_KIND_KERNEL);
SAME(kDriver, CUPTI_ACTIVITY_KIND_DRIVER);
SAME(kRuntime, CUPTI_ACTIVITY_KIND_RUNTIME);
SAME(kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(kOverhead, CUPTI_ACTIVITY_KIND_OVERHEAD);
SAME(kMemcpyPeer, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME(kSynchronization, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
SAME(kMemory, CUPTI_ACTIVITY_KIND_MEMORY2);
SAME(kGraphTrace, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
SAME(kDriverDomain, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(kRuntimeDomain, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME(kApiExit, CUPTI_API_EXIT);
SAME(kFlushForced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME(kHostPinned, CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED);
SAME(kZeroedBuffers, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
SAME(kThreadIdSystem, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
SAME(kNoStream, CUPTI_SYNCHRONIZATION_INVALID_VALUE);
SAME(kObjectThread, CUPTI_ACTIVITY_OBJECT_THREAD);
SAME(kMemoryRelease, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
static_assert(offsetof(CUpti_CallbackData, callbackSite) == 0);
static_assert(sizeof(SubscriberParams) == sizeof(CUpti_SubscriberParams) &&
              offsetof(SubscriberParams, name) ==
                  offsetof(CUpti_SubscriberParams, subscriberName) &&
              offsetof(SubscriberParams, old_name) ==
                  offsetof(CUpti_SubscriberParams, oldSubscriberName));

template <class R>
constexpr bool is_kernel(const KernelLayout& l) {
    return l.bytes == sizeof(R) && l.registers == offsetof(R, registersPerThread) &&
           l.start == offsetof(R, start) && l.end == offsetof(R, end) &&
           l.device == offsetof(R, deviceId) && l.context == offsetof(R, contextId) &&
           l.stream == offsetof(R, streamId) && l.grid == offsetof(R, gridX) &&
           l.grid + 4 == offsetof(R, gridY) && l.grid + 8 == offsetof(R, gridZ) &&
           l.block == offsetof(R, blockX) && l.block + 4 == offsetof(R, blockY) &&
           l.static_shared == offsetof(R, staticSharedMemory) &&
           l.dynamic_shared == offsetof(R, dynamicSharedMemory) &&
           l.local_per_thread == offsetof(R, localMemoryPerThread) &&
           l.correlation == offsetof(R, correlationId) && l.name == offsetof(R, name) &&
           l.graph == offsetof(R, graphId) && offsetof(R, kind) == 0;
}
static_assert(is_kernel<CUpti_ActivityKernel8>(kKernel8) &&
              is_kernel<CUpti_ActivityKernel9>(kKernel9) &&
              is_kernel<CUpti_ActivityKernel10>(kKernel10));

template <class R>
constexpr bool is_copy(const CopyLayout& l) {
    return l.bytes == sizeof(R) && l.source == offsetof(R, srcKind) &&
           l.target == offsetof(R, dstKind) && l.flags == offsetof(R, flags) &&
           l.size == offsetof(R, bytes) && l.start == offsetof(R, start) &&
           l.end == offsetof(R, end) && l.device == offsetof(R, deviceId) &&
           l.context == offsetof(R, contextId) && l.stream == offsetof(R, streamId) &&
           l.correlation == offsetof(R, correlationId) && l.graph == offsetof(R, graphId);
}
static_assert(is_copy<CUpti_ActivityMemcpy5>(kCopy5) && is_copy<CUpti_ActivityMemcpy6>(kCopy6) &&
              is_copy<CUpti_ActivityMemcpyPtoP4>(kPeer4));

template <class R>
constexpr bool is_fill(const FillLayout& l) {
    return l.bytes == sizeof(R) && l.size == offsetof(R, bytes) && l.start == offsetof(R, start) &&
           l.end == offsetof(R, end) && l.device == offsetof(R, deviceId) &&
           l.context == offsetof(R, contextId) && l.stream == offsetof(R, streamId) &&
           l.correlation == offsetof(R, correlationId) && l.flags == offsetof(R, flags) &&
           l.memory == offsetof(R, memoryKind) && l.graph == offsetof(R, graphId);
}
static_assert(is_fill<CUpti_ActivityMemset4>(kFill4));

template <class R>
constexpr bool is_api(const ApiLayout& l) {
    return l.bytes == sizeof(R) && l.cbid == offsetof(R, cbid) && l.start == offsetof(R, start) &&
           l.end == offsetof(R, end) && l.thread == offsetof(R, threadId) &&
           l.correlation == offsetof(R, correlationId) && l.result == offsetof(R, returnValue);
}
static_assert(is_api<CUpti_ActivityAPI>(kApi));

template <class R>
constexpr bool is_sync(const SyncLayout& l) {
    return l.bytes == sizeof(R) && l.type == offsetof(R, type) && l.start == offsetof(R, start) &&
           l.end == offsetof(R, end) && l.correlation == offsetof(R, correlationId) &&
           l.context == offsetof(R, contextId) && l.stream == offsetof(R, streamId) &&
           l.event == offsetof(R, cudaEventId);
}
static_assert(is_sync<CUpti_ActivitySynchronization>(kSync1) &&
              is_sync<CUpti_ActivitySynchronization2>(kSync2));

template <class R>
constexpr bool is_overhead(const OverheadLayout& l) {
    return l.bytes == sizeof(R) && l.type == offsetof(R, overheadKind) &&
           l.object_kind == offsetof(R, objectKind) &&
           l.thread == offsetof(R, objectId) + offsetof(CUpti_ActivityObjectKindId, pt.threadId) &&
           l.start == offsetof(R, start) && l.end == offsetof(R, end);
}
static_assert(is_overhead<CUpti_ActivityOverhead>(kOverhead1) &&
              is_overhead<CUpti_ActivityOverhead2>(kOverhead2) &&
              is_overhead<CUpti_ActivityOverhead3>(kOverhead3));
static_assert(kOverhead2.correlation == offsetof(CUpti_ActivityOverhead2, correlationId) &&
              kOverhead3.correlation == offsetof(CUpti_ActivityOverhead3, correlationId));

template <class R>
constexpr bool is_memory(const MemoryLayout& l) {
    return l.bytes == sizeof(R) && l.operation == offsetof(R, memoryOperationType) &&
           l.memory == offsetof(R, memoryKind) && l.correlation == offsetof(R, correlationId) &&
           l.address == offsetof(R, address) && l.size == offsetof(R, bytes) &&
           l.time == offsetof(R, timestamp) && l.device == offsetof(R, deviceId) &&
           l.context == offsetof(R, contextId) && l.stream == offsetof(R, streamId);
}
static_assert(is_memory<CUpti_ActivityMemory3>(kMemory3) &&
              is_memory<CUpti_ActivityMemory4>(kMemory4));

template <class R>
constexpr bool is_graph(const GraphLayout& l) {
    return l.bytes == sizeof(R) && l.correlation == offsetof(R, correlationId) &&
           l.start == offsetof(R, start) && l.end == offsetof(R, end) &&
           l.device == offsetof(R, deviceId) && l.graph == offsetof(R, graphId) &&
           l.context == offsetof(R, contextId) && l.stream == offsetof(R, streamId);
}
static_assert(is_graph<CUpti_ActivityGraphTrace>(kGraph1) &&
              is_graph<CUpti_ActivityGraphTrace2>(kGraph2));

// The mock's own records.
namespace rec = mock::records;
static_assert(sizeof(rec::Kernel9) == sizeof(CUpti_ActivityKernel9) &&
              sizeof(rec::Kernel10) == sizeof(CUpti_ActivityKernel10) &&
              sizeof(rec::Memcpy5) == sizeof(CUpti_ActivityMemcpy5) &&
              sizeof(rec::Memcpy6) == sizeof(CUpti_ActivityMemcpy6) &&
              sizeof(rec::MemcpyPeer4) == sizeof(CUpti_ActivityMemcpyPtoP4) &&
              sizeof(rec::Memset4) == sizeof(CUpti_ActivityMemset4) &&
              sizeof(rec::Api) == sizeof(CUpti_ActivityAPI) &&
              sizeof(rec::Synchronization1) == sizeof(CUpti_ActivitySynchronization) &&
              sizeof(rec::Synchronization2) == sizeof(CUpti_ActivitySynchronization2) &&
              sizeof(rec::Overhead2) == sizeof(CUpti_ActivityOverhead2) &&
              sizeof(rec::Overhead3) == sizeof(CUpti_ActivityOverhead3) &&
              sizeof(rec::Memory3) == sizeof(CUpti_ActivityMemory3) &&
              sizeof(rec::Memory4) == sizeof(CUpti_ActivityMemory4) &&
              sizeof(rec::GraphTrace1) == sizeof(CUpti_ActivityGraphTrace) &&
              sizeof(rec::GraphTrace2) == sizeof(CUpti_ActivityGraphTrace2));
static_assert(offsetof(rec::Kernel9, name) == offsetof(CUpti_ActivityKernel9, name) &&
              offsetof(rec::Kernel9, graph) == offsetof(CUpti_ActivityKernel9, graphId) &&
              offsetof(rec::MemcpyPeer4, correlation) ==
                  offsetof(CUpti_ActivityMemcpyPtoP4, correlationId));

/// The functions: each of ours takes the same number of arguments of the same sizes.
template <class... A, class... B>
constexpr bool alike(Result (*)(A...), CUptiResult (*)(B...)) {
    if constexpr (sizeof...(A) != sizeof...(B)) {
        return false;
    } else {
        return ((sizeof(A) == sizeof(B)) && ...);
    }
}
#define ALIKE(name) \
    static_assert(alike(decltype(Functions::name){}, static_cast<decltype(&cupti##name)>(nullptr)))
ALIKE(GetVersion);
ALIKE(GetTimestamp);
ALIKE(GetResultString);
ALIKE(Subscribe);
ALIKE(Subscribe_v2);
ALIKE(Unsubscribe);
ALIKE(EnableDomain);
ALIKE(ActivityRegisterCallbacks);
ALIKE(ActivityEnable);
ALIKE(ActivityDisable);
ALIKE(ActivityFlushAll);
ALIKE(ActivityGetNextRecord);
ALIKE(ActivityGetNumDroppedRecords);
ALIKE(GetCallbackName);
ALIKE(SetThreadIdType);
ALIKE(ActivityEnableRuntimeApi);
ALIKE(ActivityEnableDriverApi);
ALIKE(ActivityEnableAllSyncRecords);
ALIKE(Finalize);

TEST(CuptiHeaders, OursAreTheRealOnes) { EXPECT_GE(CUPTI_API_VERSION, 130000); }

#else

TEST(CuptiHeaders, OursAreTheRealOnes) { GTEST_SKIP() << "no CUPTI headers of CUDA 13 here"; }

#endif

// What needs no header: every generation's records fit into one another.
TEST(CuptiHeaders, GenerationsGrow) {
    const Layouts* before = nullptr;
    for (const Layouts& l : kLayouts) {
        if (before != nullptr) {
            EXPECT_GT(l.since, before->since);
            EXPECT_GE(l.kernel.bytes, before->kernel.bytes);
            EXPECT_GE(l.copy.bytes, before->copy.bytes);
            EXPECT_GE(l.sync.bytes, before->sync.bytes);
            EXPECT_GE(l.overhead.bytes, before->overhead.bytes);
        }
        EXPECT_EQ(layouts_of(l.since), &l);
        EXPECT_EQ(layouts_of(l.since - 1), before);
        before = &l;
    }
}

}  // namespace
}  // namespace gs::inject::cupti
