#include "profiler/inject/cupti_sink.h"

#include <atomic>
#include <new>

#include "base/record/activity_lane.h"
#include "profiler/inject/cupti_buffers.h"
#include "profiler/inject/cupti_records.h"

namespace gs::inject::cupti::sink {
namespace {

/// Since CUPTI 12.9 a request may be refused; before that, refusing could crash CUPTI.
constexpr std::uint32_t kMayRefuse = 27;

// Never destroyed: CUPTI's threads may deliver after main() has returned.
struct Sink {
    BufferPool pool;
    RecordConverter converter;
    std::atomic_flag reading = ATOMIC_FLAG_INIT;
    std::atomic<bool> closed{false};
    std::atomic<std::uint64_t> written{0}, lost{0};
    Result (*next_record)(std::uint8_t*, std::size_t, void**) = nullptr;
    bool may_refuse = false;
};
constinit Sink sink;

ActivityLane& lane() noexcept {
    alignas(ActivityLane) static std::byte storage[sizeof(ActivityLane)];
    static ActivityLane* made = new (storage) ActivityLane;
    return *made;
}

void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) noexcept {
    if (n != 0) counter.fetch_add(n, std::memory_order_relaxed);
}

/// Calls `use(record, bytes left)` for every record of a buffer. False: it broke off before the
/// end.
template <class Use>
bool for_each_record(std::uint8_t* buffer, std::size_t valid, Use use) noexcept {
    void* record = nullptr;
    for (;;) {
        const Result result = sink.next_record(buffer, valid, &record);
        if (result != kSuccess) return result == kMaxLimitReached;
        auto* at = static_cast<std::uint8_t*>(record);
        if (at < buffer || at >= buffer + valid) return false;
        use(at, static_cast<std::size_t>(buffer + valid - at));
    }
}

void read_buffer(std::uint8_t* buffer, std::size_t valid) noexcept {
    std::uint64_t written = 0, damaged = 0;
    const bool whole =
        for_each_record(buffer, valid, [&](const std::uint8_t* record, std::size_t left) {
            abi::ActivityRecord out;
            const Conversion result = sink.converter.convert(record, left, out);
            if (result == Conversion::converted) written += lane().write(out);
            if (result == Conversion::damaged) ++damaged;
        });
    add(sink.written, written);
    add(sink.lost, damaged + (whole ? 0 : 1));
}

/// How much was thrown away. Several threads may be writing into the one buffer at once; then the
/// count is theirs together, as far as it can be read.
void count_discarded(std::uint8_t* buffer, std::size_t valid) noexcept {
    std::uint64_t records = 0;
    for_each_record(buffer, valid, [&](const std::uint8_t*, std::size_t) { ++records; });
    add(sink.lost, records);
}

void read_full_buffers() noexcept {
    // Whoever finds another thread reading may go: that thread looks again after it has said that
    // it is done.
    while (sink.pool.any_full() && !sink.reading.test_and_set(std::memory_order_acquire)) {
        std::size_t valid = 0;
        while (std::uint8_t* buffer = sink.pool.next_full(valid)) {
            read_buffer(buffer, valid);
            sink.pool.free(buffer);
        }
        sink.reading.clear(std::memory_order_release);
    }
}

}  // namespace

bool begin(const Functions& cupti, const Layouts& layouts, std::uint32_t version) noexcept {
    if (sink.reading.test_and_set(std::memory_order_acquire)) return false;
    sink.next_record = cupti.ActivityGetNextRecord;
    sink.may_refuse = version >= kMayRefuse;
    sink.converter.begin(layouts, cupti);
    const bool ready = sink.pool.prepare();
    sink.reading.clear(std::memory_order_release);
    return ready;
}

void recall_buffers() noexcept {
    read_full_buffers();
    if (sink.reading.test_and_set(std::memory_order_acquire)) return;
    sink.pool.recall();
    sink.reading.clear(std::memory_order_release);
}

void requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) noexcept {
    *max_records = 0;
    *buffer = sink.closed.load(std::memory_order_relaxed) ? nullptr : sink.pool.take();
    *size = BufferPool::kBytes;
    if (*buffer != nullptr) return;
    *buffer = sink.may_refuse ? nullptr : sink.pool.discard();
    *size = sink.may_refuse ? 0 : BufferPool::kDiscardBytes;
}

void completed(void*, std::uint32_t, std::uint8_t* buffer, std::size_t,
               std::size_t valid) noexcept {
    if (sink.closed.load(std::memory_order_relaxed) || buffer == nullptr) return;
    if (sink.pool.is_discard(buffer)) return count_discarded(buffer, valid);
    if (sink.pool.complete(buffer, valid)) read_full_buffers();
}

std::uint64_t written() noexcept { return sink.written.load(std::memory_order_relaxed); }
std::uint64_t lost() noexcept { return sink.lost.load(std::memory_order_relaxed); }

bool call_is_recorded(bool driver, std::uint32_t cbid) noexcept {
    return sink.converter.calls().name_of(driver, cbid) != 0;
}

void close() noexcept { sink.closed.store(true, std::memory_order_relaxed); }

}  // namespace gs::inject::cupti::sink
