#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/mock_cuda/mock_cupti_records.h"
#include "tests/support/mock_cuda/mock_cupti_state.h"

namespace mock {

namespace rec = records;

namespace {

template <class Record>
void forge(std::vector<Pending>& records, Record record) {
    Pending p;
    p.bytes.resize(sizeof record);
    std::memcpy(p.bytes.data(), &record, sizeof record);
    records.push_back(std::move(p));
}
/// Records a careful reader refuses: no times, an end before the begin or in times to come, no
/// name, a kind nobody asked for.
void add_forgeries(std::vector<Pending>& records, bool newer) {
    rec::Kernel10 kernel{};
    kernel.base.kind = 10;
    const auto add = [&](auto change) {
        rec::Kernel10 k = kernel;
        change(k.base);
        newer ? forge(records, k) : forge(records, k.base);
    };
    add([](rec::Kernel9&) {});
    add([](rec::Kernel9& k) { k.start = 2, k.end = 1; });
    add([](rec::Kernel9& k) { k.start = 2, k.end = ~std::uint64_t{0} / 2; });
    add([](rec::Kernel9& k) {
        k.start = 1, k.end = 2, k.device = ~0u, k.context = ~0u, k.grid[1] = -1;
    });
    forge(records, rec::Api{9, ~0u, 0, 0, 0, 0, 0, 0});
    forge(records, rec::Api{5, ~0u, 1, 2, 0, 0, 0, 0});
}

// For a record delivered before its work ended: CUPTI leaves its end zero and never sends it again.
void blank(Pending& p) {
    if (p.end_at != 0) std::memset(p.bytes.data() + p.end_at, 0, 8);
}

/// Takes what is ready (forced: everything) out of the pending ones. Under the mutex.
std::vector<Pending> take_ready(Cupti& mock, bool forced) {
    const std::uint64_t now = now_ns();
    std::vector<Pending> ready, rest;
    for (Pending& p : mock.pending) {
        if (p.ready > now && !forced) {
            rest.push_back(std::move(p));
            continue;
        }
        if (p.ready > now) blank(p);
        if (mock.drop_every != 0 && ++mock.round % mock.drop_every == 0) {
            ++mock.dropped;
            ++mock.unread_drops;
            continue;
        }
        ready.push_back(std::move(p));
    }
    mock.pending = std::move(rest);
    if (mock.forge && !ready.empty()) add_forgeries(ready, mock.version >= 130000);
    if (mock.shuffle) std::shuffle(ready.begin(), ready.end(), mock.random);
    return ready;
}

/// Whoever says that its buffers are zero has to keep that: CUPTI does not look.
void check_zero(const Cupti& mock, const std::uint8_t* buffer, std::size_t size) {
    if (!mock.zeroed || mock.cut || mock.requested != mock.promised || buffer == nullptr) return;
    if (std::all_of(buffer, buffer + size, [](std::uint8_t b) { return b == 0; })) return;
    std::fputs("mock CUPTI: was given a buffer that is not zero\n", stderr);
    std::abort();
}

void give(Cupti& mock, std::uint8_t* buffer, std::size_t size, std::size_t valid,
          std::uint64_t records) {
    {
        const std::lock_guard lock(mock.mutex);
        mock.delivered += records;
        --mock.out;
    }
    mock.completed(nullptr, 0, buffer, size, mock.cut && valid > 8 ? valid - 8 : valid);
}

/// On the worker thread, without the mutex, as CUPTI's own.
void deliver(Cupti& mock, const std::vector<Pending>& records) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, used = 0, most = 0;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
        const auto& bytes = records[i].bytes;
        if (buffer != nullptr && used + bytes.size() > size) {
            give(mock, buffer, size, used, count);
            buffer = nullptr;
        }
        if (buffer == nullptr) {
            mock.requested(&buffer, &size, &most);
            used = count = 0;
            check_zero(mock, buffer, size);
            const std::lock_guard lock(mock.mutex);
            if (buffer == nullptr) {
                mock.dropped += records.size() - i;
                mock.unread_drops += records.size() - i;
                return;
            }
            ++mock.out;
        }
        std::memcpy(buffer + used, bytes.data(), bytes.size());
        used += bytes.size();
        ++count;
    }
    if (buffer != nullptr) give(mock, buffer, size, used, count);
}

/// Buffers all of whose records are over and, when asked, also those that are not full; forced:
/// all. Under the mutex.
std::vector<Bundle> take_bundles(Cupti& mock) {
    const std::uint64_t now = now_ns();
    const bool forced = mock.asked && mock.forced;
    std::vector<Bundle> out, rest;
    for (Bundle& b : mock.bundles) {
        const bool over = std::all_of(b.records.begin(), b.records.end(),
                                      [&](const Pending& p) { return p.ready <= now; });
        const bool comes = forced || (over && (b.full || mock.asked));
        for (Pending& p : b.records)
            if (comes && p.ready > now) blank(p);
        (comes ? out : rest).push_back(std::move(b));
    }
    mock.bundles = std::move(rest);
    return out;
}

void deliver(Cupti& mock, const std::vector<Bundle>& bundles) {
    for (const Bundle& b : bundles) {
        std::size_t at = 0;
        for (const Pending& p : b.records) {
            std::memcpy(b.buffer + at, p.bytes.data(), p.bytes.size());
            at += p.bytes.size();
        }
        give(mock, b.buffer, b.size, at, b.records.size());
    }
}

}  // namespace

void put(Pending record, std::uint64_t thread) {
    Cupti& mock = m();
    const std::uint64_t whose = mock.per_thread ? thread : 0;
    // The program's own thread asks, one at a time, and without CUPTI's state held.
    static std::mutex one_at_a_time;
    const std::lock_guard in_turn(one_at_a_time);
    std::unique_lock lock(mock.mutex);
    if (mock.completed == nullptr) return;
    for (Bundle& b : mock.bundles) {
        if (b.full || b.thread != whose) continue;
        b.full =
            b.used + record.bytes.size() > b.size || (b.most != 0 && b.records.size() >= b.most);
        if (b.full) continue;
        b.used += record.bytes.size();
        return b.records.push_back(std::move(record));
    }
    Bundle fresh{.thread = whose};
    const Requested ask = mock.requested;
    lock.unlock();
    ask(&fresh.buffer, &fresh.size, &fresh.most);
    check_zero(mock, fresh.buffer, fresh.size);
    lock.lock();
    if (fresh.buffer == nullptr) {
        ++mock.dropped;
        ++mock.unread_drops;
        return;
    }
    ++mock.out;
    fresh.used = record.bytes.size();
    fresh.records.push_back(std::move(record));
    mock.bundles.push_back(std::move(fresh));
}

void work() {
    Cupti& mock = m();
    std::unique_lock lock(mock.mutex);
    for (;;) {
        mock.wake.wait_for(lock, std::chrono::milliseconds(20),
                           [&] { return mock.asked || mock.pending.size() >= kFlushAfter; });
        const bool due = mock.asked || mock.whole || mock.pending.size() >= kFlushAfter;
        if (due && mock.completed != nullptr) {
            const std::vector<Pending> ready = take_ready(mock, mock.asked && mock.forced);
            const std::vector<Bundle> bundles = take_bundles(mock);
            lock.unlock();
            deliver(mock, ready);
            deliver(mock, bundles);
            lock.lock();
        }
        if (!mock.asked) continue;
        mock.asked = false;
        mock.done.notify_all();
    }
}

}  // namespace mock
