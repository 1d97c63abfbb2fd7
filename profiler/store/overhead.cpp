#include "profiler/store/overhead.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/record/scope.h"

namespace gs {
namespace {

/// Lends this thread a lane in private memory, of the size and layout of the real ones: the same
/// instructions and cache lines are used, and a measurement does not flood the trace it belongs to.
class ScratchLane {
  public:
    ScratchLane() {
        detail::ThreadLane& t = detail::this_threads_lane();
        kept_ = t;
        t.lane = lane_.get();
        t.records = records_.data();
        t.head = 0;
        t.mask = kRecords - 1;
        t.depth = 0;
    }
    ~ScratchLane() { detail::this_threads_lane() = kept_; }
    ScratchLane(const ScratchLane&) = delete;
    ScratchLane& operator=(const ScratchLane&) = delete;

  private:
    static constexpr std::size_t kRecords = 16384;
    detail::ThreadLane kept_;
    std::unique_ptr<abi::Lane> lane_ = std::make_unique<abi::Lane>();
    std::vector<std::uint64_t> records_ = std::vector<std::uint64_t>(kRecords * 4, 1);
};

/// Nanoseconds per call of `body`, the best of 7 rounds: what disturbs a round only ever makes it
/// longer.
template <class F>
double best_ns(std::size_t count, F body) {
    double best = 1e30;
    for (int round = 0; round < 7; ++round) {
        const std::uint64_t begin = monotonic_ns();
        for (std::size_t i = 0; i < count; ++i) body(i);
        best = std::min(best,
                        static_cast<double>(monotonic_ns() - begin) / static_cast<double>(count));
    }
    return best;
}

}  // namespace

SpanOverhead measure_span_overhead(std::size_t spans) {
    SpanOverhead out;
    const bool was = is_recording();
    if (!start_recording()) return out;
    set_recording(true);
    out.ticks_are_counter = detail::ticks_are_counter;
    const auto one_span = [](std::size_t i) { const Span span(Stage::other, i); };
    {
        const ScratchLane lane;
        std::uint64_t sum = 0;
        out.timer_pair_ns =
            best_ns(spans, [&](std::size_t) { sum += read_ticks(), sum ^= read_ticks(); });
        volatile std::uint64_t keep = sum;
        static_cast<void>(keep);
        out.span_ns = best_ns(spans, one_span);
    }
    out.recorded = true;
    set_recording(false);
    out.disarmed_ns = best_ns(spans, one_span);
    set_recording(was);
    return out;
}

}  // namespace gs
