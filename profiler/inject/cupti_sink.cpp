#include "profiler/inject/cupti_sink.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <new>

#include "base/record/activity_lane.h"
#include "base/record/clock.h"
#include "profiler/inject/cupti_buffers.h"
#include "profiler/inject/cupti_records.h"

namespace gs::inject::cupti::sink {
namespace {

/// A buffer comes back when all work in it has ended: on a busy GPU after the time it took to
/// fill. So one holds as many records as half a second lately brought, unless many are out: then
/// as many as it can.
constexpr double kFillNs = 5e8;
constexpr std::uint64_t kLearnEvery = 1'000'000'000;  // ns
constexpr std::uint64_t kFewest = 16, kMost = 512, kBytesOfRecord = 128;
constexpr int kManyOut = 8;
constexpr std::uint64_t kSmallestRecord = 32;
/// By so much CUPTI's times of the GPU may be off those of the host.
constexpr std::uint64_t kClockSlackNs = 10'000'000;
constexpr std::size_t kLargestRecord = 256, kSmallestBuffer = 64u << 10;

/// Since CUPTI 12.9 a request may be refused; before that, refusing could crash CUPTI.
constexpr std::uint32_t kMayRefuse = 27;

/// The newest stretches in which nothing was wanted, in CUPTI's time. One writer, one reader.
class Pauses {
  public:
    void begin(std::uint64_t ns) noexcept {
        const std::uint64_t n = count_.load(std::memory_order_relaxed);
        begins_[n % kKept].store(ns, std::memory_order_relaxed);
        ends_[n % kKept].store(~std::uint64_t{0}, std::memory_order_relaxed);
        count_.store(n + 1, std::memory_order_release);
    }
    void end(std::uint64_t ns) noexcept {
        const std::uint64_t n = count_.load(std::memory_order_relaxed);
        if (n > 0) ends_[(n - 1) % kKept].store(ns, std::memory_order_release);
    }
    bool contain(std::uint64_t begin, std::uint64_t end) const noexcept {
        const std::uint64_t n = count_.load(std::memory_order_acquire);
        for (std::uint64_t i = n > kKept ? n - kKept : 0; i < n; ++i)
            if (begin >= begins_[i % kKept].load(std::memory_order_relaxed) &&
                end <= ends_[i % kKept].load(std::memory_order_acquire))
                return true;
        return false;
    }

  private:
    static constexpr std::uint64_t kKept = 16;
    std::atomic<std::uint64_t> begins_[kKept] = {}, ends_[kKept] = {}, count_{0};
};

// Never destroyed: CUPTI's threads may deliver after main() has returned.
struct Sink {
    BufferPool pool;
    RecordConverter converter;
    std::atomic_flag reading = ATOMIC_FLAG_INIT;
    std::atomic<bool> closed{false};
    std::atomic<std::uint64_t> written{0}, told{0}, gpu_told{0}, lost{0}, visits{0};
    std::atomic<std::uint64_t> records_a_buffer{0};
    std::atomic<std::uint64_t> second_begin{0}, second_bytes{0};
    std::atomic<bool> graph_seen{false};
    Pauses pauses;
    Result (*next_record)(std::uint8_t*, std::size_t, void**) = nullptr;
    Result (*timestamp)(std::uint64_t*) = nullptr;
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

void note_graph(const abi::ActivityRecord& record) noexcept {
    const auto kind = static_cast<abi::ActivityKind>(record.kind);
    const bool graph =
        kind == abi::ActivityKind::graph ||
        (kind == abi::ActivityKind::kernel &&
         std::bit_cast<abi::KernelDetail>(record.detail).graph) ||
        (kind == abi::ActivityKind::copy && std::bit_cast<abi::CopyDetail>(record.detail).graph);
    if (graph) sink.graph_seen.store(true, std::memory_order_relaxed);
}

bool is_gpu_work(const abi::ActivityRecord& record) noexcept {
    const auto kind = static_cast<abi::ActivityKind>(record.kind);
    return kind == abi::ActivityKind::kernel || kind == abi::ActivityKind::copy ||
           kind == abi::ActivityKind::fill || kind == abi::ActivityKind::graph;
}

void read_buffer(std::uint8_t* buffer, std::size_t valid) noexcept {
    std::uint64_t written = 0, told = 0, gpu = 0, damaged = 0, now = 0;
    if (sink.timestamp(&now) != kSuccess) now = ~std::uint64_t{0} - kClockSlackNs;
    const bool whole =
        for_each_record(buffer, valid, [&](const std::uint8_t* record, std::size_t left) {
            abi::ActivityRecord out;
            ++told;
            Conversion result = sink.converter.convert(record, left, out);
            // A record made before the work ended has a wrong time.
            if (result == Conversion::converted && out.end > now + kClockSlackNs)
                result = Conversion::damaged;
            if (result == Conversion::converted) {
                note_graph(out);
                gpu += is_gpu_work(out) ? 1 : 0;
                if (!sink.pauses.contain(out.begin, out.end)) written += lane().write(out);
            }
            if (result == Conversion::damaged) ++damaged;
        });
    add(sink.written, written);
    add(sink.told, told);
    add(sink.gpu_told, gpu);
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
            std::memset(buffer, 0, valid);  // as CUPTI expects it (kZeroedBuffers)
            sink.pool.free(buffer);
        }
        sink.reading.clear(std::memory_order_release);
    }
}

/// From all that came in the last second or longer: a burst says little about what follows it.
void learn_pace(std::size_t valid) noexcept {
    add(sink.second_bytes, valid);
    const std::uint64_t now = monotonic_ns();
    std::uint64_t begin = sink.second_begin.load(std::memory_order_relaxed);
    if (begin == 0) sink.second_begin.compare_exchange_strong(begin, now);
    if (begin == 0 || now - begin < kLearnEvery) return;
    if (!sink.second_begin.compare_exchange_strong(begin, now)) return;
    const std::uint64_t records = sink.second_bytes.exchange(0) / kBytesOfRecord;
    const double pace = static_cast<double>(records) / static_cast<double>(now - begin);
    sink.records_a_buffer.store(
        std::clamp(static_cast<std::uint64_t>(pace * kFillNs), kFewest, kMost),
        std::memory_order_relaxed);
}

}  // namespace

bool begin(const Functions& cupti, const Layouts& layouts, std::uint32_t version) noexcept {
    if (sink.reading.test_and_set(std::memory_order_acquire)) return false;
    sink.next_record = cupti.ActivityGetNextRecord;
    sink.timestamp = cupti.GetTimestamp;
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
    add(sink.visits, 1);
    const bool many_out = sink.pool.out() >= kManyOut;
    *max_records =
        many_out ? 0 : std::max(sink.records_a_buffer.load(std::memory_order_relaxed), kFewest);
    const std::uint64_t most = many_out ? BufferPool::kBytes / kSmallestRecord : *max_records;
    *buffer = sink.closed.load(std::memory_order_relaxed) ? nullptr
                                                          : sink.pool.take(monotonic_ns(), most);
    // No more than is used: an older CUPTI clears all of it, on the program's own thread.
    *size = many_out
                ? BufferPool::kBytes
                : std::clamp(*max_records * kLargestRecord, kSmallestBuffer, BufferPool::kBytes);
    if (*buffer != nullptr) return;
    *buffer = sink.may_refuse ? nullptr : sink.pool.discard();
    *size = sink.may_refuse ? 0 : BufferPool::kDiscardBytes;
}

void completed(void*, std::uint32_t, std::uint8_t* buffer, std::size_t,
               std::size_t valid) noexcept {
    if (sink.closed.load(std::memory_order_relaxed) || buffer == nullptr) return;
    add(sink.visits, 1);
    learn_pace(valid);
    if (sink.pool.is_discard(buffer)) return count_discarded(buffer, valid);
    if (sink.pool.complete(buffer, valid)) read_full_buffers();
}

void begin_pause(std::uint64_t cupti_ns) noexcept { sink.pauses.begin(cupti_ns); }
void end_pause(std::uint64_t cupti_ns) noexcept { sink.pauses.end(cupti_ns); }

std::uint64_t complete_until(std::uint64_t flushed_ns) noexcept {
    return sink.pool.oldest_out(flushed_ns);
}
std::uint64_t visits() noexcept { return sink.visits.load(std::memory_order_relaxed); }
bool nothing_out() noexcept { return sink.pool.out() == 0; }
std::uint64_t calls_without_visit() noexcept { return sink.pool.records_out(); }
bool graph_seen() noexcept { return sink.graph_seen.load(std::memory_order_relaxed); }

std::uint64_t written() noexcept { return sink.written.load(std::memory_order_relaxed); }
std::uint64_t told() noexcept { return sink.told.load(std::memory_order_relaxed); }
std::uint64_t gpu_told() noexcept { return sink.gpu_told.load(std::memory_order_relaxed); }
std::uint64_t lost() noexcept { return sink.lost.load(std::memory_order_relaxed); }

bool call_is_recorded(bool driver, std::uint32_t cbid) noexcept {
    return sink.converter.calls().name_of(driver, cbid) != 0;
}

void close() noexcept { sink.closed.store(true, std::memory_order_relaxed); }

}  // namespace gs::inject::cupti::sink
