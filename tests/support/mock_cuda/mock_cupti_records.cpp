#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include "tests/support/mock_cuda/mock_cuda.h"
#include "tests/support/mock_cuda/mock_cupti_records.h"
#include "tests/support/mock_cuda/mock_cupti_state.h"

namespace mock {

namespace rec = records;

Cupti& m() {
    static Cupti* mock = new Cupti;  // its worker outlives main()
    return *mock;
}

std::uint64_t now_ns() {
    timespec t{};
    ::clock_gettime(CLOCK_REALTIME, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(t.tv_nsec) + m().offset;
}

namespace {

struct CallbackData {
    std::int32_t site;
    const char *function, *symbol;
    void *parameters, *result, *context;
    std::uint32_t context_uid;
    std::uint64_t* data;
    std::uint32_t correlation;
};

template <class Record>
void keep(const Record& record, std::uint64_t ready, std::size_t end_at) {
    Cupti& mock = m();
    Pending p;
    p.bytes.resize(sizeof record);
    std::memcpy(p.bytes.data(), &record, sizeof record);
    p.ready = ready;
    p.end_at = end_at;
    std::unique_lock lock(mock.mutex);
    ++mock.made;
    if (mock.whole) {
        lock.unlock();
        return put(std::move(p), static_cast<std::uint64_t>(::gettid()));
    }
    mock.pending.push_back(std::move(p));
    if (mock.pending.size() >= kFlushAfter) mock.wake.notify_one();
}
/// `newer` extends `older`, its first member.
template <class Newer, class Older>
void keep_as(bool newer, const Older& record, std::uint64_t ready, std::size_t end_at) {
    if (!newer) return keep(record, ready, end_at);
    Newer grown{};
    std::memcpy(static_cast<void*>(&grown), &record, sizeof record);
    keep(grown, ready, end_at);
}
bool at_least(std::uint32_t version) { return m().version >= version; }
bool enabled(std::uint32_t kind) {
    const std::lock_guard lock(m().mutex);
    return m().kinds[kind];
}

/// A record of this kind, with when and where the work ran.
template <class Record>
Record placed(decltype(Record::kind) kind, const Work& w) {
    Record r{};
    r.kind = kind;
    r.start = w.start + m().offset;
    r.end = w.end + m().offset;
    r.device = w.device;
    r.context = w.context;
    r.stream = w.stream;
    r.correlation = w.correlation;
    return r;
}

void keep_kernel(const Work& w) {
    auto r = placed<rec::Kernel9>(10, w);
    r.registers = w.kernel->registers;
    r.completed = r.end;
    for (int i = 0; i < 3; ++i) {
        r.grid[i] = static_cast<std::int32_t>(w.grid[i]);
        r.block[i] = static_cast<std::int32_t>(w.block[i]);
    }
    r.static_shared = static_cast<std::int32_t>(w.kernel->static_shared);
    r.dynamic_shared = static_cast<std::int32_t>(w.dynamic_shared);
    r.name = w.kernel->symbol;
    r.graph = w.graph;
    keep_as<rec::Kernel10>(at_least(130000), r, r.end, offsetof(rec::Kernel9, end));
}

void keep_copy(const Work& w) {
    auto r = placed<rec::Memcpy5>(1, w);
    r.source = w.source;
    r.target = w.target;
    r.flags = w.asynchronous ? 1 : 0;
    r.bytes = w.bytes;
    keep_as<rec::Memcpy6>(at_least(26), r, r.end, offsetof(rec::Memcpy5, end));
}

void keep_peer_copy(const Work& w) {
    auto r = placed<rec::MemcpyPeer4>(22, w);
    r.source = w.source;
    r.target = w.target;
    r.flags = 1;
    r.bytes = w.bytes;
    keep(r, r.end, offsetof(rec::MemcpyPeer4, end));
}

void keep_fill(const Work& w) {
    auto r = placed<rec::Memset4>(2, w);
    r.bytes = w.bytes;
    r.flags = 1;
    r.memory = w.target;
    keep(r, r.end, offsetof(rec::Memset4, end));
}

void keep_graph(const Work& w) {
    auto r = placed<rec::GraphTrace1>(51, w);
    r.graph = w.graph;
    keep_as<rec::GraphTrace2>(at_least(130000), r, r.end, offsetof(rec::GraphTrace1, end));
}

void on_work(const Work& w) {
    if (w.graph != 0) m().graph_seen = true;
    // A graph that is recorded as a whole has no records of its nodes.
    const bool node = w.graph != 0 && w.kind == WorkKind::kernel;
    switch (w.kind) {
        case WorkKind::kernel:
            if (enabled(10) && !(node && enabled(51))) keep_kernel(w);
            return;
        case WorkKind::copy:
            if (enabled(1)) keep_copy(w);
            return;
        case WorkKind::peer_copy:
            if (enabled(22)) keep_peer_copy(w);
            return;
        case WorkKind::fill:
            if (enabled(2)) keep_fill(w);
            return;
        case WorkKind::graph:
            if (enabled(51)) keep_graph(w);
            return;
    }
}

void on_wait(const Wait& w) {
    if (!enabled(38)) return;
    rec::Synchronization1 r{
        38,       w.type, w.start + m().offset, w.end + m().offset, w.correlation, w.context,
        w.stream, ~0u};
    keep_as<rec::Synchronization2>(at_least(26), r, r.end, offsetof(rec::Synchronization1, end));
}

void on_allocation(const Allocation& a) {
    if (!enabled(49)) return;
    rec::Memory3 r{};
    r.kind = 49;
    r.operation = a.released ? 2 : 1;
    r.memory = 3;
    r.correlation = a.correlation;
    r.address = a.address;
    r.bytes = a.bytes;
    r.timestamp = a.time + m().offset;
    r.context = 1;
    keep_as<rec::Memory4>(at_least(130000), r, r.timestamp, 0);
}

void keep_call(const Call& c) {
    const bool system = m().system_threads;
    const rec::Api r{c.driver ? 4u : 5u,
                     c.cbid,
                     c.start + m().offset,
                     c.end + m().offset,
                     static_cast<std::uint32_t>(::getpid()),
                     system ? c.tid : c.pthread,
                     c.correlation,
                     static_cast<std::uint32_t>(c.result)};
    keep(r, r.end, offsetof(rec::Api, end));
}

void on_call(const Call& c, bool exit) {
    Cupti& mock = m();
    Callback callback = nullptr;
    void* user = nullptr;
    bool record = false;
    const int domain = c.driver ? 1 : 2;
    {
        const std::lock_guard lock(mock.mutex);
        if (mock.domains[domain]) callback = mock.callback;
        user = mock.user;
        record = exit && (mock.kinds[c.driver ? 4 : 5] || mock.calls[c.driver][c.cbid]);
    }
    if (record) keep_call(c);
    if (record && mock.call_ns != 0)
        for (const std::uint64_t until = now_ns() + mock.call_ns; now_ns() < until;) continue;
    if (callback == nullptr) return;
    CallbackData data{};
    data.site = exit ? 1 : 0;
    data.correlation = c.correlation;
    callback(user, domain, c.cbid, &data);
}

constexpr Observer kObserver{on_call, on_work, on_wait, on_allocation};

/// The driver the program links; without it there is nothing to observe.
template <class F>
F driver_function(const char* name) {
    return reinterpret_cast<F>(::dlsym(RTLD_DEFAULT, name));
}
}  // namespace

void observe(bool on) {
    if (auto* set = driver_function<decltype(&mock_cuda_set_observer)>("mock_cuda_set_observer"))
        set(on ? &kObserver : nullptr);
}

std::size_t bytes_of(std::uint32_t kind) {
    const bool newest = at_least(130000), newer = at_least(26);
    switch (kind) {
        case 1:
            return newer ? sizeof(rec::Memcpy6) : sizeof(rec::Memcpy5);
        case 2:
            return sizeof(rec::Memset4);
        case 4:
        case 5:
        case 9:
            return sizeof(rec::Api);
        case 10:
            return newest ? sizeof(rec::Kernel10) : sizeof(rec::Kernel9);
        case 17:
            return newest ? sizeof(rec::Overhead3) : sizeof(rec::Overhead2);
        case 22:
            return sizeof(rec::MemcpyPeer4);
        case 38:
            return newer ? sizeof(rec::Synchronization2) : sizeof(rec::Synchronization1);
        case 49:
            return newest ? sizeof(rec::Memory4) : sizeof(rec::Memory3);
        case 51:
            return newest ? sizeof(rec::GraphTrace2) : sizeof(rec::GraphTrace1);
        default:
            return 0;
    }
}

}  // namespace mock
