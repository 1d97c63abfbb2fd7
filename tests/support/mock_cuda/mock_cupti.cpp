#include "tests/support/mock_cuda/mock_cupti.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <thread>

#include "tests/support/mock_cuda/mock_cupti_state.h"

namespace {

using namespace mock;
using MockCupti = mock::Cupti;

constexpr int kInvalidParameter = 1, kMaxLimit = 12, kNotInitialized = 15, kInvalidKind = 21,
              kNotSupported = 27, kMultiple = 39;

struct Name {
    std::uint32_t cbid;
    const char* name;
};
constexpr Name kRuntimeNames[] = {
    {10, "cudaGetLastError_v3020"},
    {20, "cudaMalloc_v3020"},
    {22, "cudaFree_v3020"},
    {25, "cudaMallocHost_v3020"},
    {41, "cudaMemcpyAsync_v3020"},
    {51, "cudaMemsetAsync_v3020"},
    {131, "cudaStreamSynchronize_v3020"},
    {161, "cudaMemcpyPeerAsync_v4000"},
    {165, "cudaDeviceSynchronize_v3020"},
    {211, "cudaLaunchKernel_v7000"},
    {284, "cudaLaunchHostFunc_v10000"},
    {311, "cudaGraphLaunch_v10000"},
};
constexpr Name kDriverNames[] = {
    {126, "cuStreamSynchronize"},  {243, "cuMemAlloc_v2"},        {245, "cuMemFree_v2"},
    {277, "cuMemcpyHtoDAsync_v2"}, {279, "cuMemcpyDtoHAsync_v2"}, {307, "cuLaunchKernel"},
};

int subscribe(void** subscriber, Callback callback, void* user) {
    MockCupti& mock = m();
    const std::lock_guard lock(mock.mutex);
    if (!mock.holder.empty() || mock.callback != nullptr) return kMultiple;
    mock.callback = callback;
    mock.user = user;
    *subscriber = &mock;
    observe(true);
    return 0;
}

void switch_off(MockCupti& mock) {
    mock.callback = nullptr;
    std::fill(std::begin(mock.domains), std::end(mock.domains), false);
}

}  // namespace

extern "C" {

void mock_cupti_status(MockCuptiStatus* status) {
    MockCupti& mock = m();
    const std::lock_guard lock(mock.mutex);
    *status = {mock.version,
               mock.callback != nullptr,
               mock.finalized,
               static_cast<std::uint32_t>(mock.kinds.count()),
               static_cast<std::uint32_t>(mock.calls[0].count() + mock.calls[1].count()),
               static_cast<std::uint32_t>(mock.domains[1] + mock.domains[2]),
               mock.out,
               mock.changes,
               mock.host_pinned,
               mock.made,
               mock.delivered,
               mock.dropped};
}
void mock_cupti_hold(const char* tool) {
    const std::lock_guard lock(m().mutex);
    m().holder = tool != nullptr ? tool : "";
}
std::uint32_t mock_cupti_hoard(std::uint32_t count) {
    MockCupti& mock = m();
    for (; count == 0 && !mock.hoard.empty(); mock.hoard.pop_back())
        mock.completed(nullptr, 0, mock.hoard.back().first, mock.hoard.back().second, 0);
    for (std::uint32_t i = 0; i < count; ++i) {
        std::uint8_t* buffer = nullptr;
        std::size_t size = 0, most = 0;
        mock.requested(&buffer, &size, &most);
        if (buffer == nullptr) break;
        mock.hoard.emplace_back(buffer, size);
    }
    return static_cast<std::uint32_t>(mock.hoard.size());
}

int cuptiGetVersion(std::uint32_t* version) {
    *version = m().version;
    return 0;
}
int cuptiGetTimestamp(std::uint64_t* time) {
    *time = now_ns();
    return 0;
}
int cuptiGetResultString(int result, const char** text) {
    *text = result == kMultiple       ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
            : result == kNotSupported ? "CUPTI_ERROR_NOT_SUPPORTED"
                                      : "CUPTI_ERROR_UNKNOWN";
    return 0;
}
int cuptiGetCallbackName(int domain, std::uint32_t cbid, const char** name) {
    const auto find = [&](const auto& names) {
        for (const Name& n : names)
            if (n.cbid == cbid) *name = n.name;
        return *name != nullptr ? 0 : kInvalidParameter;
    };
    *name = nullptr;
    return domain == 2 ? find(kRuntimeNames) : find(kDriverNames);
}
int cuptiSubscribe(void** subscriber, Callback callback, void* user) {
    return subscribe(subscriber, callback, user);
}
#if MOCK_CUPTI_DEFAULT_VERSION >= 130000
struct MockSubscriberParams {
    std::size_t bytes;
    const char* name;
    char* old_name;
    std::size_t old_room;
};
int cuptiSubscribe_v2(void** subscriber, Callback callback, void* user,
                      MockSubscriberParams* params) {
    const int result = subscribe(subscriber, callback, user);
    if (result == kMultiple && params != nullptr && params->old_name != nullptr &&
        params->old_room != 0) {
        const std::lock_guard lock(m().mutex);
        const std::string name = m().holder.empty() ? "CUPTI for somebody" : m().holder;
        params->old_name[name.copy(params->old_name, params->old_room - 1)] = '\0';
    }
    return result;
}
#endif
int cuptiUnsubscribe(void* subscriber) {
    MockCupti& mock = m();
    const std::lock_guard lock(mock.mutex);
    if (subscriber != &mock || mock.callback == nullptr) return kInvalidParameter;
    switch_off(mock);
    return 0;
}
int cuptiEnableDomain(std::uint32_t on, void* subscriber, int domain) {
    MockCupti& mock = m();
    const std::lock_guard lock(mock.mutex);
    if (subscriber != &mock || mock.callback == nullptr || domain < 1 || domain > 2)
        return kInvalidParameter;
    mock.domains[domain] = on != 0;
    return 0;
}
int cuptiFinalize() {
    MockCupti& mock = m();
    observe(false);
    const std::lock_guard lock(mock.mutex);
    switch_off(mock);
    mock.kinds.reset();
    mock.calls[0].reset();
    mock.calls[1].reset();
    mock.pending.clear();
    mock.bundles.clear();
    mock.broken |= mock.version < 24 && mock.graph_seen;
    mock.requested = mock.promised = nullptr;
    mock.completed = nullptr;
    mock.out = 0;
    ++mock.finalized;
    return 0;
}
int cuptiSetThreadIdType(int type) {
    const std::lock_guard lock(m().mutex);
    m().system_threads = type == 1;
    return 0;
}
int cuptiActivityRegisterCallbacks(Requested requested, Completed completed) {
    MockCupti& mock = m();
    const std::lock_guard lock(mock.mutex);
    mock.requested = requested;
    if (mock.promised == nullptr) mock.promised = requested;
    mock.completed = completed;
    if (mock.broken) {
        std::fputs("mock CUPTI: used again after CUDA graphs were seen and CUPTI was detached\n",
                   stderr);
        std::abort();
    }
    if (!mock.started) std::thread(work).detach();
    mock.started = true;
    return 0;
}
int cuptiActivityEnable(std::uint32_t kind) {
    MockCupti& mock = m();
    const std::lock_guard lock(mock.mutex);
    if (kind >= 64) return kInvalidKind;
    if (!mock.holder.empty()) return kMultiple;
    if (kind == mock.refuse) return kNotSupported;
    mock.changes += mock.kinds[kind] ? 0 : 1;
    mock.kinds[kind] = true;
    return 0;
}
int cuptiActivityDisable(std::uint32_t kind) {
    MockCupti& mock = m();
    const std::lock_guard lock(mock.mutex);
    if (kind >= 64) return kInvalidKind;
    mock.changes += mock.kinds[kind] ? 1 : 0;
    mock.kinds[kind] = false;
    if (kind == 4 || kind == 5) mock.calls[kind == 4].reset();
    return 0;
}
int cuptiActivityEnableRuntimeApi(std::uint32_t cbid, std::uint8_t on) {
    const std::lock_guard lock(m().mutex);
    m().calls[0][cbid] = on != 0;
    return 0;
}
int cuptiActivityEnableDriverApi(std::uint32_t cbid, std::uint8_t on) {
    const std::lock_guard lock(m().mutex);
    m().calls[1][cbid] = on != 0;
    return 0;
}
int cuptiActivitySetAttribute(std::uint32_t attribute, std::size_t* size, void* value) {
    if ((attribute != 8 && attribute != 5) || *size != 1) return kInvalidParameter;
    const std::lock_guard lock(m().mutex);
    (attribute == 8 ? m().host_pinned : m().zeroed) = *static_cast<std::uint8_t*>(value) != 0;
    return 0;
}
int cuptiActivityEnableAllSyncRecords(std::uint8_t) { return 0; }
int cuptiActivityFlushAll(std::uint32_t flag) {
    MockCupti& mock = m();
    std::unique_lock lock(mock.mutex);
    if (!mock.started || mock.completed == nullptr) return kNotInitialized;
    mock.asked = true;
    mock.forced = flag != 0;
    mock.wake.notify_one();
    mock.done.wait(lock, [&] { return !mock.asked; });
    return 0;
}
int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, void** record) {
    const auto* previous = static_cast<const std::uint8_t*>(*record);
    std::size_t at = 0;
    if (previous != nullptr) {
        std::uint32_t kind = 0;
        std::memcpy(&kind, previous, sizeof kind);
        const std::size_t bytes = bytes_of(kind);
        if (bytes == 0) return kInvalidKind;
        at = static_cast<std::size_t>(previous - buffer) + bytes;
    }
    if (at + sizeof(std::uint32_t) > valid) return kMaxLimit;
    *record = buffer + at;
    return 0;
}
int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
    const std::lock_guard lock(m().mutex);
    *dropped = m().unread_drops;
    m().unread_drops = 0;
    return 0;
}

}  // extern "C"
